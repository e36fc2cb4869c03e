"""Named fault points: places where a crash test stops the program. Nothing is armed unless a test arms it."""

from collections.abc import Callable

POINTS = ("after_lock", "before_commit", "after_commit", "before_ring")
BEYOND = (  # outside of any transaction
    "handed_over",
    "worker_begun", "worker_prepared", "worker_launched", "worker_told",
    "worker_noticed", "worker_emptied", "worker_harvested", "worker_closed", "worker_over",
    "land_taken", "land_merged", "land_checked", "land_written", "land_moved", "land_told",
)  # fmt: skip

_armed: dict[str, Callable[[], None]] = {}


def arm(point: str, action: Callable[[], None]) -> None:
    if point not in (*POINTS, *BEYOND):
        raise ValueError(f"no fault point {point}: {', '.join((*POINTS, *BEYOND))}")
    _armed[point] = action


def disarm() -> None:
    _armed.clear()


def reach(point: str) -> None:
    if _armed and (action := _armed.get(point)):
        action()
