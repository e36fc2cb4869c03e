"""Workers: the states of one, how it is shown to people, and what becomes of it when its program ends.

    state     queued ──begin──> starting ──started──> running ──stop──> stopping ──┐
                 ^                  └─ not started ─┐     └── the process ended ───┴──> ended
                 └───────── respawn, by policy or by hand ──────────────────────────────┘
    report    ''  ──ask──> asking ──answer──> ''      ──done──> done       ──fail──> failed

The state is about the process and is written by whoever supervises; the report is about the work and is the worker's.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from rookery.core import kinds, names, text
from rookery.core.errors import BadInput, Refused, UnknownName
from rookery.core.record import NamedTuple

PREFIX = "w"
KEEPER = "*workers"  # whom the bell rings when there is something to start, stop or look at: no agent's name
BACKENDS = ("tmux", "pty", "headless")
HOSTS = ("claude", "codex", "gemini", "opencode", "copilot", "pi", "script")  # programs that workers are made of
REVISION_LIMIT = 200  # characters
_IN_REVISIONS = str.maketrans(dict.fromkeys("._/-~^@{}", "x"))  # besides letters and digits


class State(StrEnum):
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"


ACTIVE = (State.STARTING, State.RUNNING, State.STOPPING)


class Report(StrEnum):
    NONE = ""
    ASKING = "asking"
    DONE = "done"
    FAILED = "failed"


SETTLED = (Report.DONE, Report.FAILED)


class Wish(StrEnum):
    """What a keeper is to do with a worker."""

    NONE = ""
    STOP = "stop"  # asked, then ended
    KILL = "kill"  # ended at once
    RESPAWN = "respawn"  # stopped, then started anew
    DELETE = "delete"  # of one that is over: its files go, then it does


class Ending(StrEnum):
    """Why a run is over."""

    ENDED = "ended"  # by itself, and well
    CRASHED = "crashed"
    STOPPED = "stopped"  # it was asked to
    KILLED = "killed"  # it was asked to, and did not
    LOST = "lost"  # the machine was started anew, or nobody saw it end
    NOT_STARTED = "not-started"
    INTERRUPTED = "interrupted"  # whoever was starting it ended before it began: it is begun anew


class Shown(StrEnum):
    """How people see it."""

    QUEUED = "queued"
    STARTING = "starting"
    THINKING = "thinking"
    IDLE = "idle"
    NEEDS_INPUT = "needs_input"
    READY = "ready"
    FAILED = "failed"
    STOPPING = "stopping"
    ENDED = "ended"


class Facts(NamedTuple):
    state: str
    report: str = ""
    phase: str = ""  # busy, idle or blocked, as its hooks told
    ending: str = ""  # of its last run
    moved_at: int = 0  # the last thing that was heard of it
    heard_at: int = 0  # the last sign of life of its process
    asked_at: int | None = None  # since when it waits for an answer


class Limits(NamedTuple):
    stale_ms: int = 90_000
    silent_ms: int = 300_000
    waiting_ms: int = 1_800_000


def shown(facts: Facts) -> Shown:
    if facts.report in SETTLED:
        return Shown.READY if facts.report == Report.DONE else Shown.FAILED
    if facts.state == State.ENDED:
        lost = facts.ending in (Ending.CRASHED, Ending.LOST, Ending.NOT_STARTED)
        return Shown.FAILED if lost else Shown.ENDED
    if facts.state != State.RUNNING:
        return Shown(facts.state)
    if facts.report == Report.ASKING or facts.phase == "blocked":
        return Shown.NEEDS_INPUT
    return Shown.IDLE if facts.phase == "idle" else Shown.THINKING


def is_stale(facts: Facts, now: int, limits: Limits) -> bool:
    """Whoever watches over it has not said for long that it runs."""
    return facts.state == State.RUNNING and now - facts.heard_at > limits.stale_ms


def warning(facts: Facts, now: int, limits: Limits) -> str:
    """ "waiting" for an answer for long, "silent" for long, or nothing. A hint: nothing is done about it."""
    if facts.state != State.RUNNING:
        return ""
    if facts.asked_at is not None:
        return "waiting" if now - facts.asked_at >= limits.waiting_ms else ""
    working = facts.report not in SETTLED and facts.phase != "idle"
    return "silent" if working and now - facts.moved_at >= limits.silent_ms else ""


class Step(StrEnum):
    """What is done now about a worker that is to end."""

    WAIT = "wait"  # it was asked, and has time to wrap up
    ASK = "ask"  # SIGTERM, and SIGKILL after a while
    KILL = "kill"


class Stopping(NamedTuple):
    """A wish and how long ago it was said, and what the worker did since."""

    wish: str
    wish_ms: int
    grace_ms: int
    report: str = ""
    phase: str = ""


def stopping(it: Stopping) -> Step:
    """One that has said all it has to say, and rests, is not waited for; one that is started anew was not asked."""
    if it.wish == Wish.KILL:
        return Step.KILL
    finished = it.report in SETTLED and it.phase == "idle"
    return Step.ASK if it.wish == Wish.RESPAWN or finished or it.wish_ms >= it.grace_ms else Step.WAIT


def ending_of(wish: str, exit_code: int | None, *, killed: bool) -> Ending:
    """How a run ended whose process is gone."""
    if wish:
        return Ending.KILLED if killed else Ending.STOPPED
    return Ending.ENDED if exit_code == 0 else Ending.CRASHED


class Next(NamedTuple):
    """What becomes of a worker whose program ended."""

    state: State
    after_ms: int = 0
    crashes: int = 0


def after_end(ending: str, report: str, wish: str, crashes: int, respawn: Mapping[str, Any]) -> Next:
    """By hand it starts anew at once; by the policy of its kind after a pause that doubles, so often at most."""
    if wish == Wish.RESPAWN:
        return Next(State.QUEUED)
    if report in SETTLED or wish in (Wish.STOP, Wish.KILL):
        return Next(State.ENDED)
    if ending == Ending.INTERRUPTED:
        return Next(State.QUEUED, crashes=crashes)
    unwell = ending in (Ending.CRASHED, Ending.LOST, Ending.NOT_STARTED)
    delay = kinds.respawn_delay(kinds.from_data({"respawn": respawn}), crashes + 1, crashed=unwell)
    if delay is None:
        return Next(State.ENDED, crashes=crashes + unwell)
    return Next(State.QUEUED, delay, crashes + 1)


def check_backend(backend: str) -> str:
    if backend not in BACKENDS:
        raise BadInput(f"There is no backend {backend[:40]!r}.", f"One of: {', '.join(BACKENDS)}.", code="BAD_BACKEND")
    return backend


def check_host(host: str) -> str:
    if host not in HOSTS:
        hint = names.did_you_mean(host, HOSTS) or f"One of: {', '.join(HOSTS)}."
        raise UnknownName(f"No worker can be started with {text.quoted(host)}.", hint, code="UNKNOWN_HOST")
    return host


def check_revision(name: str) -> str:
    """The name of a commit, as git could read it and never as an option; "" stands for none."""
    plain = name.translate(_IN_REVISIONS)
    if name and (len(name) > REVISION_LIMIT or not name[0].isalnum() or not (plain.isascii() and plain.isalnum())):
        raise BadInput(
            f"{text.quoted(name)} is not the name of a commit.", "Give a commit id: `git rev-parse HEAD`.",
            code="BAD_REVISION",
        )  # fmt: skip
    return name


def not_live(id: str, state: str) -> Refused:
    hint = f"`rook respawn {id}` starts it anew." if state == State.ENDED else "`rook workers` shows how they are."
    return Refused(f"{id} is {state}.", hint, code="WORKER_NOT_RUNNING")
