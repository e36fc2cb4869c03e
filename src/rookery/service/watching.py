"""Commands that do not tell what they write: others' files are looked at before, after, and when the turn is over.

What changed meanwhile is told to both sides. It may have been the holder's own doing: edits that its hooks told of are
left out, and the words say only what was seen. The door looks at the disk; here is what it saw, and what follows.

A command may leave something running that writes later. So how the files looked after it is kept under LATER, compared
with every further look of the turn and at its end, and once more at the next prompt; then it is dropped.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, cast

from rookery.core import errors, file_marks, patterns, text
from rookery.store.port import Row

from . import guard, nearby
from . import holding as holds
from .tx import Tx
from .verbs import Arg

MARKS_LIMIT = 2_000
CALLS = 4  # commands of one session that are watched at the same time
LATER = " later"  # no program calls a use of a tool so
LATER_MS = 3_600_000  # a look that is older says nothing of a command any more


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
    later = known.pop(LATER, None)
    kept = dict(list(known.items())[-(CALLS - 1) :])
    seen = _checked(marks or {})
    facts: dict[str, Any] = {"at": tx.now, "command": text.one_line(command, 200), "marks": seen,
                             "patterns": (looked_at or [])[:guard.HOLDS_LIMIT]}  # fmt: skip
    _keep(tx, me, ({LATER: later} if later else {}) | kept | {call[:200]: facts})
    return {"call": call, "files": len(seen)}


def watched(tx: Tx, me: Row, call: str) -> list[str]:
    """The patterns that were looked at before this call, to be looked at again."""
    known = _watches(tx, me) if me["session"] else {}
    return _patterns([known[each] for each in (call, LATER) if each in known]) if call in known else []


def watched_later(tx: Tx, me: Row) -> list[str]:
    """What is looked at when a turn is over: what commands of it looked at, whether they were heard of again or not."""
    return _patterns(list(_watches(tx, me).values())) if me["session"] else []


def _patterns(watches: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(each for known in watches for each in known["patterns"]))[: guard.HOLDS_LIMIT]


def changed(
    tx: Tx,
    call: Annotated[str, Arg("the program's own name for this use of a tool")] = "",
    *,
    marks: Annotated[dict[str, Any] | None, Arg("how each file looks now")] = None,
    over: Annotated[str, Arg("the turn is over, or the next one begins", choices=("", "stop", "prompt"))] = "",
) -> dict[str, Any]:
    """How they look after it. Whoever holds what changed is told, and so is the caller."""
    me = _me(tx)
    known = _watches(tx, me)
    now = _checked(marks or {})
    if over:
        compared, rest = list(known.values()), {}
    else:
        compared = [known[each] for each in (LATER, call) if each in known] if call in known else []
        rest = {each: facts for each, facts in known.items() if each not in (LATER, call)}
    if not compared:
        return {"changed": []}
    found = [each for before in compared for each in _changed(tx, me, before, now)]
    last = {**compared[-1], "at": tx.now, "marks": now, "patterns": _patterns(compared)}
    _keep(tx, me, rest if over == "prompt" else {LATER: last} | rest)
    _tell(tx, me, compared[-1], found, late=bool(over))
    return {"changed": list({each["path"]: each for each in found}.values())}


def _changed(tx: Tx, me: Row, before: Mapping[str, Any], now: Mapping[str, str]) -> list[dict[str, str]]:
    if tx.now - before["at"] > LATER_MS:
        return []
    seen: Mapping[str, str] = before["marks"]
    paths = sorted(path for path in {*seen, *now} if file_marks.differs(seen.get(path), now.get(path)))
    wanted = [patterns.parse(each) for each in before["patterns"]]
    covered = [path for path in paths if any(patterns.covers(each, path) for each in wanted)]
    return [each for path in covered for each in _held_by_another(tx, me, path, before["at"])]


def _tell(tx: Tx, me: Row, before: Mapping[str, Any], found: list[dict[str, str]], *, late: bool) -> None:
    """By mail to each holder; of what changed after its command had ended to the caller too, who is asked nothing then
    and would not hear of it otherwise."""
    for holder in dict.fromkeys(each["holder"] for each in found):
        theirs = list(dict.fromkeys(each["path"] for each in found if each["holder"] == holder))
        how = "after" if late else "while"
        subject = f"{_listed(theirs)} changed {how} {me['name']} ran a command"
        holds.tell(tx, holder, subject, _told(me, before, theirs, how))
    if late and found:
        paths = list(dict.fromkeys(each["path"] for each in found))
        holds.tell(tx, me["name"], f"{_listed(paths)} changed after your command", _told_caller(before, found))


def _held_by_another(tx: Tx, me: Row, path: str, since: int) -> list[dict[str, str]]:
    rows = [row for row in nearby.covering(tx, path) if guard.is_anothers(tx, me, row)]
    return [
        {"path": path, "holder": row["name"]}
        for row in rows[:1]
        if tx.one("same_activity", agent=row["agent"], kind="edit", target=path, since=since) is None
    ]


def _told_caller(before: Mapping[str, Any], found: list[dict[str, str]]) -> str:
    held = dict.fromkeys(f"{each['path']}, held by {each['holder']}" for each in found)
    return "\n".join([
        "Files that others hold changed after your command had ended, and their holders were told:", *list(held)[:10],
        "The command did not tell what it writes:", text.fence(before["command"]),
        "If it left something running that writes, stop that, and put the files back or ask the holder.",
    ])  # fmt: skip


def _told(me: Row, before: Mapping[str, Any], paths: list[str], how: str) -> str:
    return "\n".join([
        f"You hold {_listed(paths)}. It changed {how} {me['name']} ran a command that does not tell what it writes:",
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
