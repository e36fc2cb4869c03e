"""The tests of Rookery; a folder with an `__init__.py` keeps what its fixtures start while its own tests run."""
