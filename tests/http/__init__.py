"""The HTTP API, asked of a daemon in a process of its own. A package, so that the daemon ends with its tests."""
