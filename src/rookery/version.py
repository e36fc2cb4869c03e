"""The one place that states the version: hatchling, `rook --version` and `/healthz` read it here."""

VERSION = "0.1.0"
