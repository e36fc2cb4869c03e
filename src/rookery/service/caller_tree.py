"""Which agent program a calling process belongs to.

An agent tree is every process below one that this store recorded as an agent program (`programs`), and every process
that carries the marker of a worker's run. The process tree counts more than the marker: a marker can be set by anyone.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from rookery.core import authority
from rookery.core.record import NamedTuple
from rookery.store.port import Row, Transaction

if TYPE_CHECKING:
    from rookery.core.caller import Caller, Origin


USER_FILE = "user.file"  # a setting of the store: the user's own file of settings, as the daemon has it


def user_file(world: Any) -> str:
    return getattr(world, "user_file", "")


class InsideWorld:
    """The ports of a caller inside an agent tree: the same, with settings that its environment can only narrow."""

    def __init__(self, world: Any, db: Transaction) -> None:
        self._world = world
        self.host: str = world.host
        self.boot: str = world.boot
        row = db.one("store_setting", name=USER_FILE)
        own = row["value"] if row else getattr(world, "account_file", user_file(world))
        self.settings = world.settings.inside_agent(own_file=own == user_file(world))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)


class Tree(NamedTuple):
    program: tuple[int, str] | None = None  # the nearest recorded agent program; None where only a marker tells
    run: str = ""
    names: tuple[str, ...] = ()  # the agents it is or was in this team, current ones first
    current: int = 0  # how many of them have a session that goes on
    ended: str = ""  # why the newest session ended, if none goes on
    proven: bool = False  # by a process above the caller, and not by a marker alone, which anyone can set


class Machine(Protocol):
    @property
    def host(self) -> str: ...
    @property
    def boot(self) -> str: ...


def find(db: Transaction, here: Machine, origin: "Origin") -> Tree | None:
    """The tree that this process of this machine is in; None outside every agent tree, and if it was not found."""
    if not origin.found:
        return None
    programs = [each for each in origin.chain if _is_program(db, here, each)]
    run = _run(db, origin)
    if not programs and run is None:
        is_agent = origin.marked or bool(origin.below)
        is_nameless = not origin.whole or (is_agent and has_terminal_rule(db.one))
        return Tree() if is_nameless else None  # what is above it is not seen, or not recorded: it is not the user
    program = programs[0] if programs else None
    rows: list[Row] = []
    for each in programs:
        if rows := _sessions(db, here, each):
            break
    if not rows and run is not None:
        proven = run["pid"] is None or (run["pid"], run["started"]) in origin.chain  # None: it is just being started
        known = run["here"] and run["agent"] and proven  # a marker alone keeps its bearer from being the user
        names = (run["agent"],) if known else ()
        return Tree(program, run["id"], names, len(names), proven=proven)
    current = [row["name"] for row in rows if row["ended_at"] is None and row["session"] == row["id"]]
    names = tuple(dict.fromkeys([*current, *(row["name"] for row in rows)]))
    ended = "" if current or not rows else rows[0]["end_reason"]
    return Tree(program, run["id"] if run else "", names, len(set(current)), ended, proven=bool(rows))


def has_terminal_rule(one: Callable[..., Row | None]) -> bool:
    """Must the user have a terminal? Not where they switched that off, nor in a store that is only being made: one in
    which nothing has happened yet belongs to whoever makes it (a demo, a test, a new machine in CI)."""
    row = one("store_setting", name=authority.TERMINAL_RULE)
    if row is not None:
        return row["value"] != authority.OFF
    fresh = one("store_is_new")
    return not (fresh and fresh["fresh"])


def _is_program(db: Transaction, here: Machine, process: tuple[int, str]) -> bool:
    pid, started = process
    return db.one("store_program", pid=pid, started=started, boot=here.boot, host=here.host) is not None


def _run(db: Transaction, origin: "Origin") -> Row | None:
    return next((row for id in origin.runs if (row := db.one("store_run", id=id)) is not None), None)


def _sessions(db: Transaction, here: Machine, process: tuple[int, str]) -> list[Row]:
    pid, started = process
    return db.all("sessions_of_process", pid=pid, started=started, boot=here.boot, host=here.host)


def record(caller: "Caller", tree: Tree | None) -> dict[str, Any]:
    """What every event says of its caller beside the name: session, run, process, and how it proved itself."""
    found: dict[str, Any] = {}
    if caller.session:
        found["session"] = caller.session
    if tree is not None and tree.run:
        found["run"] = tree.run
    if caller.origin is not None and caller.origin.found:
        found["pid"] = caller.origin.pid
        if tree is not None:
            found["program"] = tree.program[0] if tree.program else caller.origin.below or 0
        elif caller.origin.terminal:
            found["terminal"] = True
    if caller.grant is not None:
        found["token"] = caller.grant.id
    if caller.daemon_token:
        found["token"] = "daemon"
    return found
