"""Who calls: what an interface knows of a caller before the ledger says which agent that is."""

from enum import StrEnum

from rookery.core.record import NamedTuple


class Role(StrEnum):
    """What a token's bearer may do."""

    OPERATOR = "operator"  # acts as the user, deciding verbs included
    AGENT = "agent"  # acts as one agent
    VIEWER = "viewer"  # reads one team, writes nothing


class Grant(NamedTuple):
    """What a presented token proves."""

    team: str
    id: str
    role: str
    agent: int = 0  # the agent's row: it stays the same when the agent is renamed
    name: str = ""  # what the agent was called when the token was looked at
    run: str = ""  # the worker's run that it was made for: only a process of that run may use it

    @property
    def reads_only(self) -> bool:
        return self.role == Role.VIEWER

    @property
    def is_operator(self) -> bool:
        return self.role == Role.OPERATOR


class Origin(NamedTuple):
    """The calling process as this machine sees it. Never taken from what a request says: it is the process that runs a
    command, or the one at the other end of a local connection."""

    pid: int = 0
    found: bool = True  # False: this machine does not tell which process it is (another user's, a remote one)
    chain: tuple[tuple[int, str], ...] = ()  # (pid, start time) of the processes above it, nearest first
    runs: tuple[str, ...] = ()  # run ids that it and those processes carry in their environment, nearest first
    terminal: bool = False  # it has a controlling terminal
    whole: bool = True  # the chain was followed to its end; a cut one may hide an agent program
    marked: bool = False  # an agent program started it, whatever stands above it now
    below: str = ""  # the agent program above it (or the process itself) that is known by name, recorded or not
    typed_at: bool = False  # the process that a join would bind is a shell at which somebody types
    program: bool = False  # the process that a join would bind runs commands through `sh -c`, as agent programs do


class Caller(NamedTuple):
    agent: str | None = None  # the name asked for: --as, ROOK_AGENT, a handle
    session: str | None = None  # a handle's own session: fences it
    process: tuple[int, str] | None = None  # (pid, start time) that a join binds
    lineage: tuple[tuple[int, str], ...] = ()  # the caller's processes, nearest first
    host: str = ""
    boot: str = ""
    cwd: str = ""
    tree: str = ""  # the working tree it stands in: worktrees of one repository are one team and several trees
    open_addresses: bool = False  # an unknown valid name is created on first use (seeds 002 and 004)
    grant: Grant | None = None  # what a token proved, whatever else is said here; never taken from a caller's own word
    origin: Origin | None = None  # the process that calls, for callers of this machine; never taken from a request
    daemon_token: bool = False  # the request carried the daemon's own token: it may name any agent, and never the user


UNPROVEN = ("grant", "origin", "daemon_token")  # fields that no request may fill in
