"""Commands that do not tell what they write: others' files are looked at before, and again after.

What changed meanwhile is told to both sides. It may have been the holder's own doing: edits that its hooks told of are
left out, and the words say only what was seen. The door looks at the disk; here is what it saw, and what follows.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, cast

from rookery.core import errors, patterns, text
from rookery.store.port import Row

from . import guard, nearby
from . import holding as holds
from .tx import Tx
from .verbs import Arg

MARKS_LIMIT = 2_000
CALLS = 4  # commands of one session that are watched at the same time


def watch(
    tx: Tx,
    call: Annotated[str, Arg("the program's own name for this use of a tool")],
    *,
    command: Annotated[str, Arg("what will run")] = "",
    looked_at: Annotated[list[str] | None, Arg("the patterns that were looked at")] = None,
    marks: Annotated[dict[str, Any] | None, Arg("how each file looks")] = None,
) -> dict[str, Any]:
    """How others' files look before a command runs."""
    me = _me(tx)
    known = _watches(tx, me)
    known.pop(call, None)
    kept = dict(list(known.items())[-(CALLS - 1) :])
    seen = _checked(marks or {})
    facts: dict[str, Any] = {"at": tx.now, "command": text.one_line(command, 200), "marks": seen,
                             "patterns": (looked_at or [])[:guard.HOLDS_LIMIT]}  # fmt: skip
    _keep(tx, me, kept | {call[:200]: facts})
    return {"call": call, "files": len(seen)}


def watched(tx: Tx, me: Row, call: str) -> list[str]:
    """The patterns that were looked at before this call, to be looked at again."""
    return _watches(tx, me).get(call, {}).get("patterns", []) if me["session"] else []


def changed(
    tx: Tx,
    call: Annotated[str, Arg("the program's own name for this use of a tool")],
    *,
    marks: Annotated[dict[str, Any] | None, Arg("how each file looks now")] = None,
) -> dict[str, Any]:
    """How they look after it. Whoever holds what changed is told, and so is the caller."""
    me = _me(tx)
    known = _watches(tx, me)
    before = known.pop(call, None)
    if before is None:
        return {"changed": []}
    _keep(tx, me, known)
    now = _checked(marks or {})
    paths = sorted(path for path in {*before["marks"], *now} if before["marks"].get(path) != now.get(path))
    found = [each for path in paths for each in _held_by_another(tx, me, path, before["at"])]
    for holder in dict.fromkeys(each["holder"] for each in found):
        theirs = [each["path"] for each in found if each["holder"] == holder]
        holds.tell(tx, holder, f"{_listed(theirs)} changed while {me['name']} ran a command", _told(me, before, theirs))
    return {"changed": found}


def _held_by_another(tx: Tx, me: Row, path: str, since: int) -> list[dict[str, str]]:
    rows = [row for row in nearby.covering(tx, path) if guard.is_anothers(tx, me, row)]
    return [
        {"path": path, "holder": row["name"]}
        for row in rows[:1]
        if tx.one("same_activity", agent=row["agent"], kind="edit", target=path, since=since) is None
    ]


def _told(me: Row, before: Mapping[str, Any], paths: list[str]) -> str:
    return "\n".join([
        f"You hold {_listed(paths)}. It changed while {me['name']} ran a command that does not tell what it writes:",
        text.fence(before["command"]),
        "If that was not you: `git diff` shows what became of it.",
    ])  # fmt: skip


def _listed(paths: list[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(text.one_line(path, 80) for path in paths[:3]) + more


def _me(tx: Tx) -> Row:
    from . import mesh  # most callers only ask what others hold

    return mesh.my_agent(tx)


def _watches(tx: Tx, me: Row) -> dict[str, dict[str, Any]]:
    row = tx.one("turn", session=me["session"])
    return cast("dict[str, dict[str, Any]]", json.loads(row["watch"])) if row and row["watch"] else {}


def _keep(tx: Tx, me: Row, watches: Mapping[str, Any]) -> None:
    tx.run("keep_watch", session=me["session"], watch=json.dumps(watches) if watches else "")


def _checked(marks: Mapping[str, Any]) -> dict[str, str]:
    if len(marks) > MARKS_LIMIT or not all(isinstance(mark, str) for mark in marks.values()):
        raise errors.BadInput(f"At most {MARKS_LIMIT} files are watched, each by a word.", "Watch fewer.")
    for path in marks:
        patterns.parse(text.check_text(path.replace("*", "?"), "a path"))
    return dict(marks)
