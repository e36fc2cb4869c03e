"""Screens of the real programs, as tests/hosts/test_terminals.py wrote them down."""

import json
from pathlib import Path

from rookery.core.ports import Screen
from rookery.runtime.tmux import shown

FOLDER = Path(__file__).parents[1] / "hosts" / "screens"
NAMES = sorted(f"{file.parent.name}/{file.stem}" for file in FOLDER.glob("*/*.json"))


def screen(name: str) -> Screen:
    kept = json.loads((FOLDER / f"{name}.json").read_text())
    lines, firm = shown("\n".join(kept["captured"]))
    return Screen(lines, firm, kept["column"], kept["row"])
