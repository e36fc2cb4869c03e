"""What each program gives its hooks, event by event, is kept in `seen/<program>/`, and is still what it gives.

The files are the exact input of the hooks with paths, ids and times made plain (`plain`), and later tests feed them to
Rookery's own hook. After a change of versions, `make hosts-seen` writes them anew and the difference is read by a person.
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
COUNTED = re.compile(r"(PGID: |Wall time: )[\d.]+")
NUMBERS_OF_TIME = ("timestamp", "duration_ms", "created", "updated")


@pytest.mark.parametrize("program", ALL.values(), ids=ALL)
def test_hooks_are_given_what_was_seen(program: Program, tmp_path: Path) -> None:
    stage = Stage(tmp_path, program)
    run = stage.play(whole_day(stage))
    now = {name: plain(stage, given) for name, given in named(run).items()}
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


def plain(stage: Stage, value: Any) -> Any:
    match value:
        case dict():
            return {
                key: 0 if key in NUMBERS_OF_TIME and isinstance(inner, int) else plain(stage, inner)
                for key, inner in value.items()
            } | ({"slug": "two-words"} if "slug" in value else {})
        case list():
            return [plain(stage, inner) for inner in value]
        case str():
            return plain_text(stage, value)
        case _:
            return value


def plain_text(stage: Stage, text: str) -> str:
    dashed = re.sub(r"[^0-9A-Za-z]", "-", str(stage.project))
    known = {str(stage.project): "/project", str(stage.home): "/home/agent", str(stage.folder): "/rig"}
    known |= {dashed: "-project", sys.executable: "/usr/bin/python3", str(ANSWERING): "/rig/answering"}
    for real, made_plain in known.items():
        text = text.replace(real, made_plain)
    text = UUID.sub("00000000-0000-4000-8000-000000000000", text)
    text = re.sub(r"(session-)\S+(\.jsonl)", r"\1TIME-00000000\2", text)
    text = DAY.sub("/2026/01/01/", CLOCK.sub("2026-01-01T00:00:00.000Z", text))
    return COUNTED.sub(r"\g<1>0", OPENCODE_ID.sub(r"\1_0000", text))


def write(folder: Path, now: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.json"):
        old.unlink()
    for name, given in now.items():
        (folder / f"{name}.json").write_text(json.dumps(given, indent=2) + "\n")
