"""Time, chance and processes as this machine has them: the real ports of `core.ports`."""

import os
import time

from rookery.runtime import process

MS_NS = 1_000_000
WORD_BYTES = 8


class SystemClock:
    """CLOCK_MONOTONIC and the calendar. On Linux the former stands still while the machine sleeps, so no lease ends."""

    def __init__(self) -> None:
        self._boot = ""

    def mono_ms(self) -> int:
        return time.monotonic_ns() // MS_NS

    def wall_ms(self) -> int:
        return time.time_ns() // MS_NS

    def boot(self) -> str:
        if not self._boot:
            self._boot = process.boot_id()
        return self._boot


class SystemProber:
    def state(self, pid: int, started: str) -> str:
        return process.state(pid, started)


class SystemChance:
    """From the kernel, so that forked processes do not draw the same numbers."""

    def below(self, n: int) -> int:
        if not 0 < n <= 1 << (8 * WORD_BYTES):
            raise ValueError(f"cannot draw a number below {n}")
        # The highest multiple of n that fits; drawing again above it keeps all numbers equally likely.
        fair = (1 << (8 * WORD_BYTES)) // n * n
        while (drawn := int.from_bytes(os.urandom(WORD_BYTES))) >= fair:
            pass
        return drawn % n


class SystemPace:
    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        from asyncio import sleep  # only resident processes wait like this

        await sleep(seconds)
