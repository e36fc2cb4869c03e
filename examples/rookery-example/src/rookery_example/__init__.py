"""One of each thing that can be added to Rookery. Each is imported when somebody asks for its group, and not before."""

import os
from importlib.resources import files
from typing import Any

# An agent program, as in docs/hosts-your-own.md: what its events are called, and where its tools name their files.
PARROT = """
title = "Parrot"

[events]
session_begin = "start"
before_tool = "before"

[tools.write_file]
deed = "edit"
paths = ["path"]
"""


def translator() -> str:
    """A kind of workers, as Markdown. A function is called when kinds are asked for, so the file is read then."""
    return (files(__package__) / "kinds" / "translator.md").read_text(encoding="utf-8")


def docs_only(facts: dict[str, Any]) -> str | None:
    """A policy: what a result is, as plain values, and a verdict; None has no opinion. It must not do anything."""
    paths = facts.get("paths") or []
    return "promote" if paths and all(path.startswith("docs/") for path in paths) else None


def diary(event: dict[str, Any]) -> None:
    """A listener: called in the daemon with each event, after its commit. Here, a line for each message."""
    where = os.environ.get("ROOKERY_EXAMPLE_DIARY")
    if where and event["type"] == "message":
        with open(where, "a", encoding="utf-8") as file:
            file.write(f"{event['team']} {event['seq']} {event['actor']} -> {event['target']}\n")
