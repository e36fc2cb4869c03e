"""Is everything well? Concerns, each with what to do, and the verdict that follows from the worst of them.

healthy     nothing wants a look
degraded    something wants a look; nothing is lost by waiting
unhealthy   something is failing: the store, the disk, a daemon that does not answer or one of its services, a log that
            is not written
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"


class ServiceState(StrEnum):
    """Of a background service of a daemon."""

    NOT_STARTED = "not started"
    RUNNING = "running"
    FAILING = "failing"  # its last look, that of one of its parts, or its last job failed; it goes on trying
    ENDED = "ended"  # a bug: a service ends with its daemon


WORST_LAST = tuple(Status)
DISK_LOW, DISK_OUT = 1 << 30, 100 << 20  # bytes
FAILING_TIMES = 3  # failures in a row, after which a service is unhealthy
STALLED_S = 600  # a look that takes longer wants a look itself
WAL_LARGE = 256 << 20  # a reader that never ends keeps it from shrinking (H40)

Concern = dict[str, str]


def concern(what: str, do: str, level: Status = Status.DEGRADED) -> Concern:
    return {"what": what, "do": do, "level": level.value}


def status(concerns: Sequence[Mapping[str, str]]) -> Status:
    return max((Status(each["level"]) for each in concerns), key=WORST_LAST.index, default=Status.HEALTHY)


# -- what surrounds the ledger ---------------------------------------------------------------------------------------


def of_machine(machine: Mapping[str, Any]) -> list[Concern]:
    """From one look at files, daemons, logs and the disk. What was not looked at is no concern."""
    return [
        *_of_store(machine.get("store") or {}),
        *(found for daemon in machine.get("daemons", ()) for found in _of_daemon(daemon)),
        *(found for log in machine.get("logs", ()) for found in _of_log(log)),
        *_of_disk(machine.get("disk") or {}),
    ]


def _of_store(store: Mapping[str, Any]) -> list[Concern]:
    found: list[Concern] = []
    if store.get("whole") is False:
        found.append(concern(f"the store: {store['seen']}", "rook doctor", Status.UNHEALTHY))
    if (store.get("wal_bytes") or 0) > WAL_LARGE:
        size = store["wal_bytes"] >> 20
        found.append(concern(f"the store's journal has {size:,} MiB: something reads without an end", "rook doctor"))
    return found


def _of_daemon(daemon: Mapping[str, Any]) -> list[Concern]:
    who = f"the daemon (pid {daemon.get('pid')})"
    if daemon["state"] == "stopped":
        return [concern(f"{who} is stopped, and hears nothing", f"kill -CONT {daemon['pid']}", Status.UNHEALTHY)]
    if daemon["state"] == "running" and daemon["answers"] is False:
        return [concern(f"{who} does not answer at {daemon['url'] or 'any address'}", "rook logs", Status.UNHEALTHY)]
    return [found for service in daemon.get("services") or () for found in _of_service(service)]


def _of_service(service: Mapping[str, Any]) -> list[Concern]:
    """One failure passes by itself; one that repeats does not, and work waits for it meanwhile."""
    if service["state"] == ServiceState.ENDED:
        return [concern(f"the service {service['name']} has ended", "rook down; rook up", Status.UNHEALTHY)]
    if service["state"] == ServiceState.FAILING:
        times, which = service["failures_in_row"], ", ".join(service["failing"])
        level = Status.UNHEALTHY if times >= FAILING_TIMES else Status.DEGRADED
        return [concern(f"failed {times} times in a row: {which}: {service['last_error']}", "rook logs", level)]
    if (service["looking_s"] or 0) > STALLED_S:
        return [concern(f"the service {service['name']} has hung for {service['looking_s']:.0f} s", "rook logs")]
    return []


def _of_log(log: Mapping[str, Any]) -> list[Concern]:
    if log["bytes"] is None:
        if not log["wanted"]:
            return []
        return [concern(f"the log {log['path']} is missing, and a daemon runs", "rook down; rook up", Status.UNHEALTHY)]
    if not log["errors"]:
        return []
    return [concern(f"errors in the log within an hour: {log['errors']}, the last at {log['last_error']}", "rook logs")]


def _of_disk(disk: Mapping[str, Any]) -> list[Concern]:
    free = disk.get("free_bytes")
    if free is None or free >= DISK_LOW:
        return []
    level = Status.UNHEALTHY if free < DISK_OUT else Status.DEGRADED
    return [concern(f"disk: {free >> 20:,} MiB are free", "free some space", level)]


def without_ledger(team: str, why: str, hint: str, machine: Mapping[str, Any]) -> dict[str, Any]:
    """What can still be said when the ledger can not be read: that is the first of the concerns."""
    concerns = [concern(why, hint, Status.UNHEALTHY), *of_machine({**machine, "store": None})]
    return {
        "status": status(concerns).value, "team": team, "live": None, "unread": None, "failed": None,
        "open_escalations": None, "concerns": concerns, "sessions": {}, "retries": None, "breakers": [],
        "dead_letters": None, "oldest_pending": None, **shown(machine),
    }  # fmt: skip


def shown(machine: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an answer that is about the machine."""
    logs = machine.get("logs", ())
    return {
        "store": machine.get("store"), "daemons": list(machine.get("daemons", ())), "logs": list(logs),
        "recent_errors": sum(log["errors"] for log in logs), "disk": machine.get("disk"),
    }  # fmt: skip
