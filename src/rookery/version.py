"""The one place that states the version: hatchling, `rook --version` and `/openapi.json` read it here."""

VERSION = "0.1.0"
