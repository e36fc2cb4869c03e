"""Who calls: as far as a door can tell, before the ledger says which agent that is."""

from typing import NamedTuple


class Grant(NamedTuple):
    """What a token that was presented proves: one agent of one team, or that its bearer may look at one."""

    team: str
    id: str
    reads_only: bool
    agent: int = 0  # the agent's row: it stays the same when the agent is renamed
    name: str = ""  # what the agent was called when the token was looked at


class Caller(NamedTuple):
    agent: str | None = None  # the name asked for: --as, ROOK_AGENT, a handle
    session: str | None = None  # a handle's own session: fences it
    process: tuple[int, str] | None = None  # (pid, start time) that a join binds
    lineage: tuple[tuple[int, str], ...] = ()  # the caller's processes, nearest first
    host: str = ""
    boot: str = ""
    cwd: str = ""
    open_addresses: bool = False  # an unknown valid name is created on first use (seeds 002 and 004)
    grant: Grant | None = None  # what a token proved, whatever else is said here; never taken from a caller's own word
