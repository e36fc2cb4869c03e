"""Rookery: durable addresses and mail that wakes its reader, for crews of coding agents.

    import rookery
    team = rookery.connect()
    me = team.join("architect")
    me.send("implementer", "API is ready", "Start with /v1/tasks", priority="high")

Public names only, each loaded when it is first used: a hook runs on every tool call, and imports are its price.
"""

TYPE_CHECKING = False  # `typing` itself would double the start of a command
if TYPE_CHECKING:
    from typing import Any

    from rookery.app import connect
    from rookery.client.handles import Agent, Message, Receipt, Team
    from rookery.core.errors import (
        BadInput,
        BudgetSpent,
        CursorTooOld,
        ForkedHandle,
        LeaseLost,
        NameTaken,
        NotYours,
        Refused,
        RookError,
        SessionFenced,
        StoreBusy,
        StoreCorrupt,
        StoreFull,
        StoreReadOnly,
        StoreUnusable,
        TooLarge,
        UnknownName,
        Unreachable,
    )
    from rookery.version import VERSION as __version__

_ERRORS = (
    "BadInput", "BudgetSpent", "CursorTooOld", "ForkedHandle", "LeaseLost", "NameTaken", "NotYours", "Refused",
    "RookError",
    "SessionFenced", "StoreBusy", "StoreCorrupt", "StoreFull", "StoreReadOnly", "StoreUnusable", "TooLarge",
    "UnknownName", "Unreachable",
)  # fmt: skip
_PLACES = {
    "connect": "rookery.app",
    **dict.fromkeys(("Agent", "Message", "Receipt", "Team"), "rookery.client.handles"),
    **dict.fromkeys(_ERRORS, "rookery.core.errors"),
}

__all__ = [
    "Agent", "BadInput", "BudgetSpent", "CursorTooOld", "ForkedHandle", "LeaseLost", "Message", "NameTaken",
    "NotYours", "Receipt",
    "Refused", "RookError", "SessionFenced", "StoreBusy", "StoreCorrupt", "StoreFull", "StoreReadOnly",
    "StoreUnusable", "Team", "TooLarge", "UnknownName", "Unreachable", "__version__", "connect",
]  # fmt: skip


def __getattr__(name: str) -> "Any":
    if name == "__version__":
        from rookery.version import VERSION

        return VERSION
    if name not in _PLACES:
        raise AttributeError(f"module 'rookery' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
