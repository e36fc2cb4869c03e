"""Places that this machine registered itself: the working tree in which a worker or a crew of the caller starts.

A caller on this machine is where our own code found it (`core.locality`). For any other caller the ledger knows the
folder of its local session, written by a hook, a launcher or a `rook join`, and the daemon knows its own repository.
A place that a request over HTTP names is never used.
"""

from rookery.core import errors, locality, text
from rookery.store.port import Row

from .tx import Tx


def is_local(tx: Tx) -> bool:
    """Did code of this machine observe where the caller is?"""
    return locality.is_local(tx.caller, tx.world.host)


def folder_of(tx: Tx, agent: Row) -> str:
    """The folder of the agent's session if a process of this machine registered it; "" otherwise."""
    if agent["session"] is None or agent["ended_at"] is not None or not tx.is_local(agent):
        return ""
    return agent["cwd"]


def working_tree(tx: Tx, me: Row, said: str = "") -> str:
    """The working tree to start in: `said` by this machine's own code, else the caller's, else a registered one."""
    where = said or (tx.caller.tree if is_local(tx) else "") or _registered(tx, me)
    if not where:
        raise errors.BadInput(
            "No working copy is registered for this caller.",
            "Run it inside the repository on the daemon's machine: `rook spawn ...` or `rook crew run ...`.",
            code="NO_ROOT",
        )
    if not where.startswith("/"):
        raise errors.BadInput(f"{text.quoted(where)} is not an absolute path.", "Give the full path.", code="NO_ROOT")
    if tx.tree is not None:
        _refuse_elsewhere(tx, me, where)
    return where


def _refuse_elsewhere(tx: Tx, me: Row, where: str) -> None:
    """An agent starts workers in its own working copy: elsewhere the rules of its team would land in another
    repository, or on another branch."""
    worker = tx.one("worker_of_agent", agent=me["id"])
    folder = folder_of(tx, me)
    own = {worker["root"], worker["tree"]} if worker else {tx.world.workspaces.top(folder) if folder else ""}
    if own - {""} and where not in own:
        raise errors.NotYours(
            f"Workers of {me['name']} start in its own working copy, not in {text.quoted(where)}.",
            f"Run it in {min(own - {''})}. Elsewhere the user starts them.", code="NOT_YOUR_TREE",
        )  # fmt: skip


def _registered(tx: Tx, me: Row) -> str:
    folder = folder_of(tx, me)
    return (folder and tx.world.workspaces.top(folder)) or tx.world.workspaces.own


def refuse_place(tx: Tx, said: str) -> None:
    """A place is an argument only for code of this machine."""
    if said and not is_local(tx):
        raise errors.NotYours(
            "A working copy cannot be named over HTTP.",
            "Leave out `root`, or run the command inside that repository on the daemon's machine.",
            code="NOT_BY_HTTP",
        )
