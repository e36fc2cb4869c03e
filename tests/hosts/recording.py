"""One small session that every program plays, and what it printed and wrote down of it, as data for fast tests.

    tests/data/transcripts/<program>.jsonl   the record of the session, as the program keeps it
    tests/data/streams/<program>.jsonl       what it printed without a terminal

What differs from run to run or tells of a machine is taken out: places, ids, times. Long texts of the program's own are
cut. The rest is as it was. `make hosts-seen` writes both anew.
"""

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.hosts.model.script import Move, say
from tests.hosts.programs.port import Program

DATA = Path(__file__).parents[1] / "data"
PLACES = {"claude": ".claude/projects/*/*.jsonl", "codex": ".codex/sessions/*/*/*/*.jsonl",
          "gemini": ".gemini/tmp/*/chats/*.jsonl", "copilot": ".copilot/session-state/*/events.jsonl",
          "pi": ".pi/agent/sessions/*/*.jsonl"}  # fmt: skip
LONGEST, SHORT, MOST = 1_000, 60, 40  # characters of a text, of one of the program's own, members of a list
OWN = {
    "api-request-shape",
    "api-request-blob",
    "api-request",
    "attachment",
    "session_meta",
    "world_state",
    "system",
    "additional_tools",
}
WHEN = re.compile(r"20\d\d-\d\d-\d\d([T-])\d\d[:-]\d\d([:-]\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?)?")
ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
TOOK = re.compile(r"\bin \d+\.\d\ds\b")
SAID = """\
Adding is right now.

```python
def add(one, other):
    both = one + other
    assert both - other == one
    return both
```

That is all."""


def tools(folder: Path) -> None:
    """What a command of the session calls."""
    (folder / "pytest").symlink_to(Path(sys.executable).with_name("pytest"))


def moves(program: Program, tree: Path) -> list[Move]:
    """A command that works, one that does not, a new file, an edit, tests that fail and pass, a commit, and words."""
    tests = "pytest -q -p no:cacheprovider --rootdir . calc_test.py"
    author = "-c user.name=wren -c user.email=wren@nest.invalid"
    return [
        program.bash("printf 'one\\ntwo\\n'"),
        program.bash("cat nowhere.txt"),
        program.write(tree / "calc.py", "def add(one, other):\n    return one - other\n"),
        program.write(tree / "calc_test.py", "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"),
        program.bash(tests),
        program.edit(tree / "calc.py", "    return one - other", "    return one + other"),
        program.bash(tests),
        program.bash(f"git add calc.py calc_test.py && git {author} commit -m 'Adding adds'"),
        say(SAID),
    ]


def scrubbed(text: str, places: Iterable[tuple[str, str]]) -> list[str]:
    """Lines of JSON; whatever else was printed between them is left out."""
    for found, instead in places:
        text = text.replace(found, instead)
    ids: dict[str, str] = {}
    text = ID.sub(lambda found: ids.setdefault(found[0], f"00000000-0000-4000-8000-{len(ids) + 1:012d}"), text)
    text = WHEN.sub(lambda found: "2026-01-02" + found[0][10] + re.sub(r"\d", "0", found[0][11:]), text)
    text = TOOK.sub("in 0.01s", text)
    said = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [json.dumps(cut(line, LONGEST)) for line in said]


def cut(value: Any, longest: int) -> Any:
    if isinstance(value, dict):
        own = value.get("type") in OWN or value.get("role") in ("system", "developer")
        longest = SHORT if own else longest
        return {key: cut(each, longest) for key, each in value.items()}
    if isinstance(value, list):
        return [cut(each, longest) for each in value[:MOST]]
    return value[:longest] if isinstance(value, str) else value


def write_down(kind: str, name: str, lines: list[str]) -> None:
    folder = DATA / kind
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines))
