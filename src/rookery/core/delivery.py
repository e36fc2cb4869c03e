"""The law of delivery: which way mail goes to an agent, when it is tried again, and when it is given up.

    door       a process that waits beside the agent program hands mail in when the program is idle
    (hooks)    no way of ours: while the program works, its own hooks bring the mail
    queue      the program takes a message for its next turn
    terminal   text is typed into its terminal, when that is idle and its line is empty
    resume     a turn without a terminal, in the session that was
    command    a program of the user is given the mail
    webhook    it is posted, signed
    notify     a person is told

A try that does not succeed has a reason. Some are about the moment (busy, someone types, a dialog is open): the way is
well, and only patience ends. Others are about the way itself: they count, and so many of them make mail dead. Dead mail
is still in its mailbox; nobody is woken for it any more.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from rookery.core.record import NamedTuple


class Channel(StrEnum):
    DOOR = "door"
    QUEUE = "queue"
    TERMINAL = "terminal"
    RESUME = "resume"
    COMMAND = "command"
    WEBHOOK = "webhook"
    NOTIFY = "notify"


class Reason(StrEnum):
    SESSION_NOT_FOUND = "session-not-found"
    INJECTION_FAILED = "injection-failed"
    USER_TYPING = "user-typing"
    BUSY = "busy"
    BLOCKED = "blocked"


OF_THE_MOMENT = frozenset((Reason.USER_TYPING, Reason.BUSY, Reason.BLOCKED))
KEEPER = ":keeper"  # what keepers listen under; no agent can be called so
BEST_FIRST: tuple[Channel, ...] = tuple(Channel)
# What the agent's own program or its hooks do; a keeper uses the others.
BY_ITSELF = frozenset((Channel.DOOR,))
OF_A_PROGRAM = frozenset((Channel.DOOR, Channel.QUEUE, Channel.TERMINAL, Channel.RESUME))
NEEDS_SESSION = frozenset((Channel.DOOR, Channel.QUEUE, Channel.TERMINAL))

HOW: Mapping[str, str] = {
    Channel.DOOR: "handed in by its own program",
    Channel.QUEUE: "queued for its next turn",
    Channel.TERMINAL: "typed into its terminal when that is idle",
    Channel.RESUME: "a turn is started for it",
    Channel.COMMAND: "a command is run for it",
    Channel.WEBHOOK: "posted to its webhook",
    Channel.NOTIFY: "the person is notified",
}
BY_HOOKS = "shown by its hooks, after its next tool or before its turn ends"


class Outcome(NamedTuple):
    """What came of using a way."""

    done: bool
    reason: str = ""
    detail: str = ""
    nothing: bool = False  # nothing waited any more

    @property
    def is_of_the_moment(self) -> bool:
        return self.reason in OF_THE_MOMENT


class Limits(NamedTuple):
    """The settings that this law asks for."""

    first_ms: int = 5_000
    most_ms: int = 30_000
    tries: int = 20
    patience_ms: int = 1_800_000  # for reasons of the moment
    failures: int = 5  # in a row open the circuit
    pause_ms: int = 60_000  # until one try is made again
    grace_ms: int = 5_000  # that a way which works by itself is given


def backoff_ms(tries: int, limits: Limits) -> int:
    """How long to wait after so many tries in a row."""
    doubled = limits.first_ms << min(max(tries, 1) - 1, 30)
    return min(doubled, limits.most_ms)


# -- the circuit -----------------------------------------------------------------------------------------------------


class Circuit(NamedTuple):
    """closed ──failures──> open ──pause──> half open ──success──> closed
    ▲                   └──failure──┐
    └───────────────────────────────┘"""

    failures: int = 0
    open_until: int = 0

    def state(self, now: int) -> str:
        if not self.open_until:
            return "closed"
        return "open" if now < self.open_until else "half-open"

    def failed(self, now: int, limits: Limits) -> "Circuit":
        failures = self.failures + 1
        opens = failures >= limits.failures or self.open_until > 0
        return Circuit(failures, now + limits.pause_ms if opens else 0)


# -- which way -------------------------------------------------------------------------------------------------------


class Way(NamedTuple):
    channel: str
    works: bool = True  # it can be used from here: its machine, its process, its setting
    next_at: int = 0
    circuit: Circuit = Circuit()


class Standing(NamedTuple):
    """How a session is, as its hooks last told."""

    hooks: bool = False  # it has hooks that bring mail while it works
    phase: str = ""  # busy, idle, blocked; "" if nobody told
    live: bool = False


class Choice(NamedTuple):
    channel: str = ""  # to be used now; "" if none is
    wait_ms: int | None = None  # look again after this; None: nothing here will change by waiting
    why: str = ""


NO_WAY = Choice(why="no way to wake it")


def chosen(ways: Sequence[Way], standing: Standing, *, waited_ms: int, now: int, limits: Limits) -> Choice:
    """The way to use now for mail that has waited so long, or how long to leave it."""
    usable = sorted((way for way in ways if way.works), key=lambda way: BEST_FIRST.index(Channel(way.channel)))
    if not standing.live:  # what needs its program is tried only where there is nothing else
        usable = [way for way in usable if way.channel not in NEEDS_SESSION] or usable
    if standing.live and standing.hooks and standing.phase == "busy":
        return Choice(wait_ms=limits.most_ms, why=BY_HOOKS)
    for way in usable:
        if way.channel in BY_ITSELF:
            if waited_ms < limits.grace_ms:
                return Choice(wait_ms=limits.grace_ms - waited_ms, why=HOW[way.channel])
            continue  # it should have by now
        if way.circuit.state(now) == "open":
            continue
        if way.next_at > now:
            return Choice(wait_ms=way.next_at - now, why=HOW[way.channel])
        return Choice(channel=way.channel, why=HOW[way.channel])
    opened = [way.circuit.open_until - now for way in usable if way.channel not in BY_ITSELF]
    if opened:
        return Choice(wait_ms=min(opened), why="every way to it failed lately; it is tried again")
    return Choice(wait_ms=limits.most_ms, why=HOW[usable[0].channel]) if usable else NO_WAY


def told(ways: Sequence[Way], standing: Standing, *, kept: bool) -> str:
    """How mail that was just sent will reach its reader: what is known, and no more. `kept`: a keeper is up."""
    if standing.live and standing.hooks and standing.phase == "busy":
        return BY_HOOKS
    usable = [each for each in BEST_FIRST if any(way.works and way.channel == each for way in ways)]
    usable = [each for each in usable if standing.live or each not in NEEDS_SESSION]
    if usable[:1] == [Channel.DOOR]:
        return HOW[Channel.DOOR]
    if not usable:
        return ""
    return HOW[usable[0]] if kept else f"{HOW[usable[0]]}, once `rook up` runs; until then it waits"
