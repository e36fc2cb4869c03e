"""What the law and the deeds need from the world: time, chance and a look at processes.

`runtime` provides the real ones; tests and the simulator bring their own, so that every run can be repeated.
"""

from typing import Protocol


class Clock(Protocol):
    def mono_ms(self) -> int:
        """Milliseconds that never go back while the machine is up; they mean something only together with `boot`."""
        ...

    def wall_ms(self) -> int:
        """Milliseconds since the epoch, as the machine's calendar has it: it may jump either way."""
        ...

    def boot(self) -> str:
        """Which run of the machine this is."""
        ...


class Prober(Protocol):
    def state(self, pid: int, started: str) -> str:
        """ "running", "stopped" or "dead"; "unknown" where this process cannot look at that one."""
        ...


class Chance(Protocol):
    def below(self, n: int) -> int:
        """A whole number from 0 to n - 1, each as likely as the others."""
        ...
