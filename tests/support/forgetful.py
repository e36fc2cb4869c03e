"""Daemons as they would be without what makes a crew survive them: `FORGETS=what python -m tests.support.forgetful up`.

workers    whom it did not start itself it does not know: a registry in memory, lost with the process before
landing    it tells that work has landed, and moves the branch afterwards; it dies in between, the first time
"""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rookery.front.cli.main import main
from rookery.keeper import lander, supervisor
from rookery.runtime import merging


def forget_workers() -> None:
    real = supervisor.Supervisor._watch

    def watch(self: Any, team: str, each: Mapping[str, Any], terms: Mapping[str, int]) -> float:
        return real(self, team, each, terms) if each["owner"] == self._ground.owner else self._poll_s * 1000

    supervisor.Supervisor._watch = watch  # type: ignore[method-assign]


def tell_before_landing() -> None:
    async def move(self: Any, chain: Sequence[Any]) -> None:
        ids = [link.job["id"] for link in chain]
        await self._call("land.moving", ids, links=[[link.expected, link.result] for link in chain])
        await self._call("land.done", ids)
        os.kill(os.getpid(), signal.SIGKILL)
        merging.move(self._root, self._branch, chain[0].expected, chain[-1].result)

    lander.Turn._move = move  # type: ignore[method-assign]


if __name__ == "__main__":
    {"workers": forget_workers, "landing": tell_before_landing}[os.environ["FORGETS"]]()
    sys.exit(main())
