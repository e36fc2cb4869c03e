"""May this path be written? Asked by hooks and extensions before they let an agent's tool do it.

It only looks, so that asking costs nobody anything: one look per folder above the path, however much is reserved.
"""

import json
from typing import Annotated, Any

from rookery.core import errors, holding, patterns, text
from rookery.core.record import NamedTuple
from rookery.store.port import Row

from . import holding as holds
from . import nearby, policies
from .tx import Tx
from .verbs import Arg

MOST = 1_000
HOLDS_LIMIT = 200
OUTSIDE = "Write inside the team's workspace, or ask the person to do it."


class Asked(NamedTuple):
    """What would be written: a file, or everything that a pattern covers."""

    shown: str
    pattern: patterns.Pattern
    file: bool


def can_write(
    tx: Tx,
    paths: Annotated[
        list[str], Arg("from where you are; a folder ends with /", positional=True, metavar="PATH", kind="paths")
    ],
    *,
    covered: Annotated[list[str] | None, Arg("everything these patterns cover", kind="wild", hidden=True)] = None,
    visiting: Annotated[bool, Arg("the caller belongs to another team", hidden=True)] = False,
) -> dict[str, Any]:
    """Refused: everything, if a policy binds you; what lies outside, what someone else holds and, in a strict team,
    what no lease of yours covers. `elsewhere`: paths are held in other working trees too (`turn.workspaces`)."""
    if not 1 <= len(paths) + len(covered or []) <= MOST:
        raise errors.BadInput(f"Ask about 1 to {MOST} paths.", "`rook can-write PATH...`.")
    me = tx.visitor() if visiting else tx.me()
    if against := policies.refusal(tx, me):
        told = [_deny(path, against, "") | {"bound": True} for path in [*paths, *(covered or [])]]
    else:
        told = [_verdict(tx, me, path, _asked(path)) for path in paths]
        told += [_verdict(tx, me, path, _asked_of_pattern(path)) for path in covered or []]
    refused = next((each for each in told if not each["allow"]), None)
    warned = [each["warning"] for each in told if "warning" in each]
    return {
        "allow": refused is None, "reason": (refused or told[0])["reason"], "paths": told,
        "warnings": list(dict.fromkeys(warned)), "strict": tx.is_strict(), "elsewhere": _is_held_elsewhere(tx),
    }  # fmt: skip


def _verdict(tx: Tx, me: Row, written: str, asked: Asked | None) -> dict[str, Any]:
    if asked is None:
        return _deny(written, "outside the workspace", OUTSIDE) | {"outside": True}
    path = asked.shown
    near = [row for row in _near(tx, asked) if row["state"] == holding.HELD]
    mine = [row for row in near if row["agent"] == me["id"] and _is_mine(tx, row)]
    others = [row for row in near if row["agent"] != me["id"] and _excludes(row, mine) and holds.stands(tx, row)]
    there, here = _by_tree(tx, others)
    if here:
        return _held(tx, path, here[0])
    warning = {"warning": _warning(tx, path, there[0])} if there else {}
    covered = bool(asked.file and mine) or any(
        patterns.within(asked.pattern, patterns.parse(row["pattern"])) for row in mine
    )
    if not tx.is_strict():
        return {"path": path, "allow": True, "reason": "nobody else holds it", "covered": covered} | warning
    if covered:
        return {"path": path, "allow": True, "reason": "covered by your lease", "covered": True} | warning
    hint = f"`rook task claim` a task with that path, or `rook reserve {text.word(path)}`."
    return _deny(path, "no lease of yours covers it", hint)


def _near(tx: Tx, asked: Asked) -> list[Row]:
    return nearby.covering(tx, asked.shown) if asked.file else nearby.overlapping(tx, asked.pattern)


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


def others(
    tx: Tx,
    *,
    visiting: Annotated[bool, Arg("the caller belongs to another team", hidden=True)] = False,
) -> dict[str, Any]:
    """What others hold in this working tree, and whether more than that has to be asked; `bound`: why the caller may
    write nothing at all."""
    me = tx.visitor() if visiting else tx.me()
    rows = [row for row in tx.all("list_holds", kind="path", agent=0, limit=HOLDS_LIMIT) if is_anothers(tx, me, row)]
    return {
        "patterns": list(dict.fromkeys(row["pattern"] for row in rows)),
        "strict": tx.is_strict(), "bound": policies.refusal(tx, me), "elsewhere": _is_held_elsewhere(tx),
    }  # fmt: skip


def _is_held_elsewhere(tx: Tx) -> bool:
    """In another working tree than the caller's, or in that one by another team. A token is for one team and learns
    nothing of others."""
    return tx.caller.grant is None and tx.one("anyone_holds_elsewhere", tree=tx.caller.tree) is not None


def workspaces(
    tx: Tx,
    paths: Annotated[list[str], Arg("full paths, symlinks followed")],
    *,
    folders: Annotated[list[str] | None, Arg("those that mean everything beneath them")] = None,
) -> dict[str, Any]:
    """Working trees that these paths lie in, or that lie in these folders, where any team of the store holds something;
    the caller's own team in its own tree is left out."""
    whole = folders or []
    if tx.caller.grant is not None or len(paths) + len(whole) > MOST:
        raise errors.BadInput(f"At most {MOST} paths, and not with a token.", "Ask in parts.")
    above = sorted({folder for path in [*paths, *whole] for folder in _above(path)})
    found = tx.all("store_trees_at", folders=json.dumps(above), limit=MOST)
    for folder in whole:
        low, high = f"{folder.rstrip('/')}/", f"{folder.rstrip('/')}0"  # "0" follows "/"
        found += tx.all("store_trees_below", low=low, high=high, limit=MOST)
    pairs = dict.fromkeys((row["team"], row["tree"]) for row in found)
    own = (tx.team, tx.caller.tree)
    return {"workspaces": [{"team": team, "tree": tree} for team, tree in pairs if (team, tree) != own]}


def _above(path: str) -> list[str]:
    """The path itself, and every folder above it."""
    names = path.strip("/").split("/")
    return ["/", *(f"/{'/'.join(names[:n])}" for n in range(1, len(names) + 1))]


def is_anothers(tx: Tx, me: Row, row: Row) -> bool:
    held = row["state"] == holding.HELD and row["agent"] != me["id"]
    return held and holds.stands(tx, row) and not holds.apart(tx, row)


# -- reasons -------------------------------------------------------------------------------------------------------


def _deny(path: str, reason: str, hint: str) -> dict[str, Any]:
    return {"path": path, "allow": False, "reason": reason} | ({"hint": hint} if hint else {})


def _held(tx: Tx, path: str, row: Row) -> dict[str, Any]:
    other = holds.other(tx, row)
    hint = f"{holding.ask(other.name)}, or `rook reserve {text.word(path)} --wait 300`."
    told = _deny(path, f"{_who(other)}. {hint}", hint)
    return told | {
        "holder": other.name, "holds": other.what, "until": other.until, "since": other.since, "why": other.reason,
        "place": other.place, "host": other.host, "branch": other.branch, "task": other.task,
    }  # fmt: skip


def _who(other: holding.Other) -> str:
    why = f" ({text.one_line(other.reason, 60)})" if other.reason else ""
    where = [f"in {other.place}" * bool(other.place), f"on branch {other.branch}" * bool(other.branch),
             f"at {other.host}" * bool(other.host)]  # fmt: skip
    working = ", working " + " ".join(filter(None, where)) if any(where) else ""
    return f"held by {other.name} until {holding.hour(other.until)}{why}{working}"


def _warning(tx: Tx, path: str, row: Row) -> str:
    who = _who(holds.other(tx, row))
    return f"{text.one_line(path, 200)} is {who}: in another working tree, so the two will have to be merged."


# -- paths ---------------------------------------------------------------------------------------------------------


def _asked(path: str) -> Asked | None:
    inside = _inside(path)
    if inside is None:
        return None
    if path.endswith("/"):
        return Asked(inside, patterns.Pattern(f"{inside}/", (*_exactly(inside), "**")), file=False)
    return Asked(inside, patterns.Pattern(inside, _exactly(inside)), file=True)


def _asked_of_pattern(pattern: str) -> Asked | None:
    if pattern.startswith("/"):
        return None
    parsed = patterns.parse(pattern)
    return Asked(parsed.text, parsed, file=False)


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
