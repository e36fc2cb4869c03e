"""Workers that a message asks for (seed 001): which kinds are meant, and what they are told.

spawn: {kind: scout, reason: ..., context: ..., lens: [...], priority: ...}      one
spawn: {mesh: research, ...}                                                     several: `spawn.meshes`
"""

from collections.abc import Mapping, Sequence
from typing import Any

from . import errors, names, text

READY_S, READY_EACH_S = 30, 15  # as long as TX waits for those it starts
MOST = 20  # of one mesh
WINDOW_MS = 60_000


def wanted(request: Mapping[str, Any], meshes: Mapping[str, Sequence[str]]) -> list[str]:
    """The kinds to make a worker of, each. A mesh that the settings do not name is the kind of that name."""
    mesh = str(request.get("mesh") or "")
    if not mesh:
        return [names.check_name(str(request.get("kind") or ""))]
    listed = next((list(kinds) for name, kinds in meshes.items() if names.key(name) == names.key(mesh)), [mesh])
    if not 1 <= len(listed) <= MOST:
        raise errors.Refused(
            f"The mesh {text.quoted(mesh, 40)} has {len(listed)} kinds.", f"1 to {MOST}: spawn.meshes.", code="BAD_MESH"
        )
    return [names.check_name(kind) for kind in listed]


def ready_s(count: int) -> int:
    """Seconds that so many workers have to be ready."""
    return READY_S + READY_EACH_S * count


def assignment(request: Mapping[str, Any], subject: str) -> str:
    """What they are for, in the sender's words."""
    return str(request.get("reason") or "").strip() or subject


def extra(request: Mapping[str, Any], message: str, refs: Sequence[str], by: str, count: int) -> dict[str, Any]:
    """What is kept with each of them."""
    said = {
        "message": message, "by": by, "mesh": request.get("mesh"), "context": request.get("context"),
        "lenses": request.get("lens"), "priority": request.get("priority"), "entity_refs": list(refs),
    }  # fmt: skip
    return {name: value for name, value in said.items() if value} | {"ready_s": ready_s(count)}
