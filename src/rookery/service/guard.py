"""May this path be written? Asked by hooks and extensions before they let an agent's tool do it."""

from typing import Annotated, Any

from rookery.core import errors, patterns, text
from rookery.store.port import Row

from . import held
from .tx import Tx
from .verbs import Arg


def can_write(
    tx: Tx,
    paths: Annotated[list[str], Arg("from where you are", positional=True, metavar="PATH", kind="paths")],
) -> dict[str, Any]:
    """Refused: what lies outside, what someone else holds and, in a strict team, what no lease of yours covers."""
    if not 1 <= len(paths) <= 1000:
        raise errors.BadInput("Ask about 1 to 1000 paths.", "`rook can-write PATH...`.")
    me = tx.me()
    told = [_verdict(tx, me, path) for path in paths]
    refused = next((each for each in told if not each["allow"]), None)
    return {"allow": refused is None, "reason": refused["reason"] if refused else told[0]["reason"], "paths": told}


def _verdict(tx: Tx, me: Row, written: str) -> dict[str, Any]:
    path = _inside(written)
    if path is None:
        return {"path": written, "allow": False, "reason": "outside the workspace"}
    other = held.conflict(tx, patterns.Pattern(path, _exactly(path)), me["id"])
    if other is not None:
        until = tx.shown(other["expires_at"])
        return {
            "path": path,
            "allow": False,
            "reason": f"held by {other['name']} until {until}",
            "holder": other["name"],
        }
    if not tx.is_strict():
        return {"path": path, "allow": True, "reason": "nobody else holds it"}
    if _is_leased(tx, me, path):
        return {"path": path, "allow": True, "reason": "covered by your lease"}
    return {"path": path, "allow": False, "reason": "no lease of yours covers it"}


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


def _is_leased(tx: Tx, me: Row, path: str) -> bool:
    near = [row for above in patterns.lineage(path) for row in tx.all("reservations_at", root=above)]
    return any(
        row["agent"] == me["id"]
        and row["expires_at"] > tx.now
        and patterns.covers(patterns.parse(row["pattern"]), path)
        for row in near
    )
