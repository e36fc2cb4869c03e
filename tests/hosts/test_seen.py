"""What each program gives its hooks, event by event, is kept in `seen/<program>/`, and is still what it gives.

The files are the exact input of the hooks with paths, ids and times made plain (`Plainly`), for the tests of Rookery's
own hook. After a change of versions `make hosts-seen` writes them anew, and a person reads the difference.
"""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.model.script import Move, say
from tests.hosts.programs import ALL, Program
from tests.hosts.programs.port import ANSWERING
from tests.hosts.stage import Run, Stage

pytestmark = pytest.mark.hosts

SEEN = Path(__file__).parent / "seen"
WRITE = os.environ.get("ROOK_WRITE_SEEN") == "1"
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
CLOCK = re.compile(r"20\d\d-\d\d-\d\dT\d\d[:-]\d\d([:-]\d\d)?(\.\d+)?Z?")
DAY = re.compile(r"/20\d\d/\d\d/\d\d/")
OPENCODE_ID = re.compile(r"\b(evt|ses|msg|prt)_[0-9a-zA-Z]{26}")
GEMINI_CHAT = re.compile(r"/session-[^/]+\.jsonl")
COUNTED = re.compile(r"(PGID: |Wall time: )[\d.]+")
NUMBERS_OF_TIME = ("timestamp", "duration_ms", "created", "updated")


@pytest.mark.parametrize("program", ALL.values(), ids=ALL)
def test_hooks_are_given_what_was_seen(program: Program, tmp_path: Path) -> None:
    stage = Stage(tmp_path, program)
    run = stage.play(whole_day(stage))
    plainly = Plainly(stage)
    now = {name: plainly.value(given) for name, given in named(run).items()}
    folder = SEEN / program.name
    if WRITE:
        write(folder, now)
    assert now == {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}


def whole_day(stage: Stage) -> list[Move]:
    """Every kind of call, one of them denied and one failing, and a turn that is held once."""
    program = stage.program
    nest, held = stage.project / "nest.txt", stage.project / "held.txt"
    program.add_hooks(stage.place)
    stage.rules(deny=("held.txt", "Held by wren."), hold="Not yet.")
    moves = [
        program.write(nest, "three eggs\n"),
        program.edit(nest, "three eggs", "four eggs"),
        program.write(held, "spoilt\n"),
        program.bash("cat nest.txt"),
        program.bash("ls /nowhere"),
    ]
    if program.speaks_mcp:
        program.add_mcp(stage.place, "rig", [sys.executable, str(ANSWERING / "mcp_server.py"), str(stage.folder)])
        moves += program.mcp("rig", "knock", {"times": 2})
    return [*moves, say("I am done."), say("Now I am.")]


def named(run: Run) -> dict[str, Any]:
    """By moment and tool; a second one of the same name is numbered."""
    found: dict[str, Any] = {}
    for hook in run.hooks:
        given = hook["given"]
        tool = given.get("tool_name") or given.get("toolName") or given.get("input", {}).get("tool")
        name = f"{hook['moment']}-{tool}" if tool else hook["moment"]
        count = sum(other == name or other.startswith(f"{name}--") for other in found)
        found[f"{name}--{count + 1}" if count else name] = given
    return found


class Plainly:
    """What differs between two runs is made the same, and what differs within one stays different."""

    def __init__(self, stage: Stage) -> None:
        dashed = re.sub(r"[^0-9A-Za-z]", "-", str(stage.project))
        self._places = {
            str(stage.project): "/project",
            str(stage.home): "/home/agent",
            str(stage.folder): "/rig",
            str(ANSWERING): "/rig/answering",
            dashed: "-project",
            sys.executable: "/usr/bin/python3",
        }
        self._ids: dict[str, dict[str, str]] = {}

    def value(self, value: Any) -> Any:
        match value:
            case dict():
                return {key: self._entry(key, inner) for key, inner in value.items()}
            case list():
                return [self.value(inner) for inner in value]
            case str():
                return self._text(value)
            case _:
                return value

    def _entry(self, key: str, value: Any) -> Any:
        if key in NUMBERS_OF_TIME and isinstance(value, int):
            return 0
        return "two-words" if key == "slug" else self.value(value)

    def _text(self, text: str) -> str:
        for real, plain in self._places.items():
            text = text.replace(real, plain)
        text = UUID.sub(lambda found: self._numbered("", found[0]), text)
        text = OPENCODE_ID.sub(lambda found: self._numbered(found[1], found[0]), text)
        text = DAY.sub("/2026/01/01/", CLOCK.sub("2026-01-01T00:00:00.000Z", text))
        return GEMINI_CHAT.sub("/session-2026-01-01T00-00-00000001.jsonl", COUNTED.sub(r"\g<1>0", text))

    def _numbered(self, kind: str, found: str) -> str:
        ids = self._ids.setdefault(kind, {})
        number = len(ids) + 1
        return ids.setdefault(found, f"{kind}_{number:026}" if kind else f"00000000-0000-4000-8000-{number:012}")


def write(folder: Path, now: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.json"):
        old.unlink()
    for name, given in now.items():
        (folder / f"{name}.json").write_text(json.dumps(given, indent=2) + "\n")
