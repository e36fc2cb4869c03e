"""Taking times: a call repeated until a moment that all processes share, and what the times say."""

import time
from collections.abc import Callable, Sequence
from statistics import median

__all__ = ["at_quantile", "hammer", "median", "once_ms", "wait_until"]


def wait_until(moment: float) -> None:
    """Until a moment of CLOCK_MONOTONIC, which is the same for every process of the machine."""
    time.sleep(max(0.0, moment - time.monotonic()))


def hammer(call: Callable[[], object], start: float, end: float) -> list[float]:
    """Call again and again between two moments; the milliseconds of each call."""
    wait_until(start)
    took: list[float] = []
    before = time.monotonic()
    while before < end:
        call()
        after = time.monotonic()
        took.append((after - before) * 1000)
        before = after
    return took


def once_ms(call: Callable[[], object]) -> float:
    before = time.perf_counter()
    call()
    return (time.perf_counter() - before) * 1000


def at_quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
