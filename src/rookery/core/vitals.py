"""How a session is, from what can be seen of it: a finding, told once until the session moves again.

    died           its process is gone
    terminal-gone  its process runs, and the terminal it was shown in is closed
    stopped        its process was stopped, and nothing was heard of it since
    blocked        a dialog of its program waits for a person
    stuck          it has a task, and nothing was heard of it for long
    stalled        it rests for longer still, and has a task or owes an answer

Silence is a hint and no more: a session that burns processor time is at work, whatever it says; while that is not known
its silence means nothing, and of one whose process can not be looked at nothing is found. The first that fits counts,
from the top.
"""

from enum import StrEnum

from rookery.core.presence import Liveness
from rookery.core.record import NamedTuple


class Finding(StrEnum):
    WELL = ""
    DIED = "died"
    TERMINAL_GONE = "terminal-gone"
    STOPPED = "stopped"
    BLOCKED = "blocked"
    STUCK = "stuck"
    STALLED = "stalled"


class Terminal(StrEnum):
    UNKNOWN = ""  # it has none, or that can not be told
    LIVES = "lives"
    GONE = "gone"


FOUND: tuple[Finding, ...] = tuple(each for each in Finding if each)
# A session may go on acting while these hold, and it is no news that they still do.
LASTING = frozenset((Finding.DIED, Finding.TERMINAL_GONE, Finding.STOPPED))
QUIET = frozenset((Finding.STUCK, Finding.STALLED))  # it could hear, if someone spoke to it
WORKING_PERCENT = 25  # of a core: more than a program takes that waits at its prompt


class Limits(NamedTuple):
    """The settings that this law asks for."""

    stuck_ms: int = 900_000
    stalled_ms: int = 1_800_000
    blocked_ms: int = 60_000
    stopped_ms: int = 60_000


class Facts(NamedTuple):
    liveness: Liveness
    moved_at: int  # the last thing that was heard of it: an activity, or a change of its phase
    terminal: str = Terminal.UNKNOWN
    phase: str = ""  # busy, idle, blocked; "" if nobody told
    has_task: bool = False
    owes_answer: bool = False
    cpu: int | None = None  # percent of a core, its children included; None before a second look at it


def finding(facts: Facts, now: int, limits: Limits) -> Finding:
    quiet = now - facts.moved_at
    if facts.liveness is Liveness.DEAD:
        return Finding.DIED
    if facts.liveness is Liveness.STOPPED:
        return Finding.STOPPED if quiet > limits.stopped_ms else Finding.WELL
    if facts.liveness is not Liveness.LIVE:
        return Finding.WELL
    if facts.terminal == Terminal.GONE:
        return Finding.TERMINAL_GONE
    if facts.phase == "blocked":
        return Finding.BLOCKED if quiet > limits.blocked_ms else Finding.WELL
    return _of_silence(facts, quiet, limits)


def _of_silence(facts: Facts, quiet: int, limits: Limits) -> Finding:
    if facts.cpu is None or facts.cpu >= WORKING_PERCENT:
        return Finding.WELL
    if facts.phase != "busy" and quiet > limits.stalled_ms and (facts.has_task or facts.owes_answer):
        return Finding.STALLED
    return Finding.STUCK if facts.has_task and quiet > limits.stuck_ms else Finding.WELL


def is_news(found: Finding, told: str, *, moved_at: int, moved_then: int) -> bool:
    """Is there anything to say? `told`: what was said last of this very session, when it had moved at `moved_then`."""
    if found != told:
        return True
    return bool(found) and found not in LASTING and moved_at > moved_then


# -- what follows ----------------------------------------------------------------------------------------------------


class Action(StrEnum):
    NOTIFY = "notify"
    NONE = "none"
    NUDGE = "nudge"
    REROUTE = "reroute"


ACTIONS: tuple[Action, ...] = tuple(Action)


def action(policy: str, found: Finding) -> Action:
    """What a policy does about a finding. Where it has nothing better, someone is told."""
    if policy == Action.NUDGE and found in QUIET:
        return Action.NUDGE
    if policy == Action.REROUTE and found is Finding.DIED:
        return Action.REROUTE
    return Action.NONE if policy == Action.NONE else Action.NOTIFY


# -- what is measured ------------------------------------------------------------------------------------------------

STEP_PERCENT, STEP_KIB = 5, 16_384


class Measure(NamedTuple):
    cpu: int | None = None
    memory: int | None = None  # KiB


def is_noticeable(before: Measure, after: Measure) -> bool:
    """Is it worth a write? Small changes are not; what is shown is right within them."""
    return _differs(before.cpu, after.cpu, STEP_PERCENT, 4) or _differs(before.memory, after.memory, STEP_KIB, 8)


def _differs(before: int | None, after: int | None, least: int, part: int) -> bool:
    if before is None or after is None:
        return before is None and after is not None
    return abs(after - before) >= max(least, before // part)
