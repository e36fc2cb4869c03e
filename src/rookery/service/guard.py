"""May this path be written? Asked by hooks and extensions before they let an agent's tool do it.

It only looks, so that asking costs nobody anything: one look per folder above the path, however much is reserved.
"""

from typing import Annotated, Any

from rookery.core import errors, holding, patterns, text
from rookery.store.port import Row

from . import holding as holds
from . import nearby
from .tx import Tx
from .verbs import Arg


def can_write(
    tx: Tx,
    paths: Annotated[
        list[str], Arg("from where you are; a folder ends with /", positional=True, metavar="PATH", kind="paths")
    ],
) -> dict[str, Any]:
    """Refused: what lies outside, what a policy keeps, what someone else holds and, in a strict team, what no lease of
    yours covers."""
    if not 1 <= len(paths) <= 1000:
        raise errors.BadInput("Ask about 1 to 1000 paths.", "`rook can-write PATH...`.")
    me = tx.me()
    told = [_verdict(tx, me, path) for path in paths]
    refused = next((each for each in told if not each["allow"]), None)
    warned = [each["warning"] for each in told if "warning" in each]
    return {
        "allow": refused is None, "reason": (refused or told[0])["reason"], "paths": told,
        "warnings": list(dict.fromkeys(warned)),
    }  # fmt: skip


def _verdict(tx: Tx, me: Row, written: str) -> dict[str, Any]:
    path = _inside(written)
    if path is None:
        return _deny(written, "outside the workspace", "Write inside the team's workspace, or ask the person to do it.")
    for policy in tx.world.policies:
        if against := policy.refusal(tx, me, path):
            return _deny(path, against, "")
    near = [row for row in _near(tx, path, written.endswith("/")) if row["state"] == holding.HELD]
    mine = [row for row in near if row["agent"] == me["id"] and _is_mine(tx, row)]
    others = [row for row in near if row["agent"] != me["id"] and _excludes(row, mine) and holds.stands(tx, row)]
    there, here = _by_tree(tx, others)
    if here:
        return _held(tx, path, here[0])
    warning = {"warning": _warning(tx, path, there[0])} if there else {}
    if not tx.is_strict():
        return {"path": path, "allow": True, "reason": "nobody else holds it"} | warning
    if mine:
        return {"path": path, "allow": True, "reason": "covered by your lease"} | warning
    hint = f"`rook task claim` a task with that path, or `rook reserve {path}`."
    return _deny(path, "no lease of yours covers it", hint)


def _near(tx: Tx, path: str, folder: bool) -> list[Row]:
    if not folder:
        return nearby.covering(tx, path)
    return nearby.overlapping(tx, patterns.Pattern(f"{path}/", (*_exactly(path), "**")))


def _is_mine(tx: Tx, row: Row) -> bool:
    """A task's paths are written under its lease; what was reserved goes on while its holder does."""
    return row["expires_at"] > tx.now if row["task"] else holds.stands(tx, row)


def _excludes(row: Row, mine: list[Row]) -> bool:
    """What others share is theirs and that of whoever shares it."""
    return row["mode"] == holding.EXCLUSIVE or not mine


def _by_tree(tx: Tx, others: list[Row]) -> tuple[list[Row], list[Row]]:
    """(in another working tree and so only worth a warning, in the way here)."""
    rule = tx.settings["guard.worktrees"]
    far = [] if rule == "enforce" else [row for row in others if holds.apart(tx, row)]
    here = [row for row in others if row not in far]
    return ([] if rule == "off" else far), here


# -- reasons -------------------------------------------------------------------------------------------------------


def _deny(path: str, reason: str, hint: str) -> dict[str, Any]:
    return {"path": path, "allow": False, "reason": reason} | ({"hint": hint} if hint else {})


def _held(tx: Tx, path: str, row: Row) -> dict[str, Any]:
    other = holds.other(tx, row)
    hint = f"{holding.ask(other.name)}, or `rook reserve {path} --wait 300`."
    told = _deny(path, f"{_who(other)}. {hint}", hint)
    return told | {"holder": other.name, "holds": other.what, "until": other.until, "since": other.since,
                   "place": other.place, "host": other.host, "branch": other.branch, "task": other.task}  # fmt: skip


def _who(other: holding.Other) -> str:
    why = f" ({text.one_line(other.reason, 60)})" if other.reason else ""
    where = [f"in {other.place}" * bool(other.place), f"on branch {other.branch}" * bool(other.branch),
             f"at {other.host}" * bool(other.host)]  # fmt: skip
    working = ", working " + " ".join(filter(None, where)) if any(where) else ""
    return f"held by {other.name} until {holding.hour(other.until)}{why}{working}"


def _warning(tx: Tx, path: str, row: Row) -> str:
    return f"{path} is {_who(holds.other(tx, row))}: in another working tree, so the two will have to be merged."


# -- paths ---------------------------------------------------------------------------------------------------------


def _inside(path: str) -> str | None:
    """The path in its one spelling, or None when it leaves the workspace. Symlinks were followed before (H24)."""
    if path.startswith("/") or "\\" in path:
        return None
    names: list[str] = []
    for name in text.composed(path).split("/"):
        if name == "..":
            if not names:
                return None
            names.pop()
        elif name not in ("", "."):
            names.append(name)
    return "/".join(names) or None


def _exactly(path: str) -> tuple[str, ...]:
    """A file, not a pattern: a name that looks like a wildcard is covered by the wildcard for one character."""
    return tuple("".join("?" if c in "*?" else c for c in name) for name in path.split("/"))
