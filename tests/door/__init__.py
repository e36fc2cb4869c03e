"""The fast door of a resident process. A package, so that its daemon ends with its tests."""
