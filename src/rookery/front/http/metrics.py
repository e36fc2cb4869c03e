"""A few numbers in the text format that Prometheus reads."""

from collections import Counter
from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rookery.client.queued import QueuedClient


class Numbers:
    def __init__(self) -> None:
        self.started = monotonic()
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.seconds: Counter[str] = Counter()
        self.swept = 0
        self.commands = 0

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        self.requests[method, route, status] += 1
        self.seconds[route] += seconds  # pyright: ignore[reportArgumentType]


def text(numbers: Numbers, queue: "QueuedClient", waiting: int, tokens: Mapping[str, int]) -> str:
    lines = [
        *_family("rook_requests_total", "counter", "Requests answered.", [
            (f'{{method="{method}",route="{route}",status="{status}"}}', count)
            for (method, route, status), count in sorted(numbers.requests.items())
        ]),
        *_family("rook_request_seconds_total", "counter", "Time spent answering.", [
            (f'{{route="{route}"}}', round(seconds, 6)) for route, seconds in sorted(numbers.seconds.items())
        ]),
        *_family("rook_commits_total", "counter", "Commits of the writer.", [("", queue.writer.commits)]),
        *_family("rook_committed_calls_total", "counter", "Calls in those commits.", [("", queue.writer.calls)]),
        *_family("rook_reads_total", "counter", "Reads, by where they ran.", [
            ('{where="inline"}', queue.quick_reads), ('{where="pool"}', queue.slow_reads),
        ]),
        *_family("rook_commands_total", "counter", "Commands run for other processes.", [("", numbers.commands)]),
        *_family("rook_sweeps_total", "counter", "Sweeps that had something to do.", [("", numbers.swept)]),
        *_family("rook_tokens_used", "gauge", "Tokens reported, by team.", [
            (f'{{team="{team}"}}', count) for team, count in tokens.items()
        ]),
        *_family("rook_waiting", "gauge", "Requests that wait for something to happen.", [("", waiting)]),
        *_family("rook_up_seconds", "gauge", "How long the daemon runs.", [("", round(monotonic() - numbers.started))]),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _family(name: str, kind: str, help: str, samples: list[tuple[str, float]]) -> list[str]:
    return [f"# HELP {name} {help}", f"# TYPE {name} {kind}", *(f"{name}{labels} {value}" for labels, value in samples)]
