"""Who is there, and what they seem to be doing.

Two different questions. *Liveness* is about the session and decides things (names, leases, mail): for a process of this
machine and boot the process itself answers; for any other the heartbeat lease does. *Status* is about attention and is
only shown: it follows the age of the last activity.

              activity < 30 s   .. 5 min   .. 15 min   later
    no work   active            idle       away        away
    work      active            idle       idle        stuck
    not live  offline, whatever the activity

Work is a task or a reservation held. The limits are settings; exactly 30 s is idle, exactly 5 and 15 minutes still are.
"""

from collections.abc import Mapping
from enum import StrEnum

from rookery.core.record import NamedTuple


class Liveness(StrEnum):
    LIVE = "live"
    STOPPED = "stopped"  # the process exists but was stopped (SIGSTOP, a debugger): it can neither read nor renew
    DEAD = "dead"  # no such process any more
    LAPSED = "lapsed"  # nothing was heard within the lease
    ENDED = "ended"  # it left, or was taken over


_OF_PROCESS = {"running": Liveness.LIVE, "stopped": Liveness.STOPPED, "dead": Liveness.DEAD}


def liveness(*, ended: bool, local: bool, process: str | None, heartbeat_at: int, now: int, lease_ms: int) -> Liveness:
    """`local`: same host and boot, with a known pid. `process`: "running", "stopped", "dead", or None if unknown."""
    if ended:
        return Liveness.ENDED
    if local and process in _OF_PROCESS:
        return _OF_PROCESS[process]
    return Liveness.LIVE if heartbeat_at + lease_ms > now else Liveness.LAPSED


def is_live(state: Liveness) -> bool:
    """A stopped process is not live: it holds a name that another session may need."""
    return state is Liveness.LIVE


class Thresholds(NamedTuple):
    active_ms: int = 30_000
    idle_ms: int = 300_000
    stuck_ms: int = 900_000


def status(*, live: bool, activity_at: int, now: int, has_work: bool, thresholds: Thresholds) -> str:
    """One of "active", "idle", "away", "stuck", "offline"."""
    if not live:
        return "offline"
    age = now - activity_at
    if age < thresholds.active_ms:
        return "active"
    if has_work:
        return "stuck" if age > thresholds.stuck_ms else "idle"
    return "away" if age > thresholds.idle_ms else "idle"


DEBUGGING_TESTS = 3
ON_FIRE_EDITS = 8


def auto_status(*, joined_at: int, now: int, recent: Mapping[str, int], arrived_ms: int = 30_000) -> str:
    """A status message for an agent that set none. `recent` counts "commit", "test", "edit", "read" in the window."""
    edits, tests = recent.get("edit", 0), recent.get("test", 0)
    if now - joined_at < arrived_ms:
        return "just arrived"
    if recent.get("commit", 0) > 0:
        return "just shipped"
    if tests >= DEBUGGING_TESTS:
        return "debugging..."
    if edits >= ON_FIRE_EDITS:
        return "on fire"
    if recent.get("read", 0) > 0 and not edits and not tests:
        return "exploring the codebase"
    return ""
