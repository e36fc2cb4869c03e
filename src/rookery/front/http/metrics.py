"""A few numbers in the text format that Prometheus reads."""

from collections import Counter
from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING

from rookery.core import times
from rookery.core.health import ServiceState

from .admission import REASONS

if TYPE_CHECKING:
    from rookery.keeper.services import Services

    from .daemon import Daemon


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


def text(daemon: "Daemon", tokens: Mapping[str, int]) -> str:
    numbers, queue, admission, pages = daemon.numbers, daemon.queue, daemon.admission, daemon.pages
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
        *_family("rook_waiting", "gauge", "Requests that wait for something to happen.", [
            ("", daemon.news.count()),
        ]),
        *_family("rook_connections", "gauge", "Open HTTP connections.", [("", len(admission))]),
        *_family("rook_connections_closed_total", "counter", "Connections closed at a limit, by reason.", [
            (f'{{reason="{reason}"}}', admission.closed[reason]) for reason in REASONS
        ]),
        *_family("rook_event_streams", "gauge", "Open streams of events.", [("", pages.streams)]),
        *_family("rook_event_pages_total", "counter", "Pages of events that were read.", [("", pages.read)]),
        *_family("rook_up_seconds", "gauge", "How long the daemon runs.", [("", round(monotonic() - numbers.started))]),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


STATES = (ServiceState.RUNNING, ServiceState.FAILING, ServiceState.ENDED)
OF_SERVICES = (
    ("looks_total", "counter", "Successful looks and jobs of a background service.", "looks"),
    ("failures_total", "counter", "Failed looks and jobs of a background service.", "failures"),
    ("restarts_total", "counter", "Restarts of a background service after a failure.", "restarts"),
    ("failures_in_row", "gauge", "Failures since the last success, of the part that fails most.", "failures_in_row"),
    ("parts", "gauge", "Loops below a background service, one for each team, listener or lease.", "parts"),
    ("jobs", "gauge", "Jobs of a background service that run now.", "jobs"),
    ("last_success_timestamp_seconds", "gauge", "When a look or job last succeeded.", "last_success"),
    ("last_error_timestamp_seconds", "gauge", "When a look or job last failed.", "last_error_at"),
)


def of_services(services: "Services") -> str:
    """By service, never by team: the number of lines does not grow with the number of teams."""
    found, pools = services.report(), services.pools()
    lines = _family("rook_service_state", "gauge", "1 for the state a background service is in.", [
        (f'{{service="{each["name"]}",state="{state}"}}', int(each["state"] == state))
        for each in found for state in STATES
    ])  # fmt: skip
    for name, kind, help, key in OF_SERVICES:
        samples = [(f'{{service="{each["name"]}"}}', _number(each[key])) for each in found if each[key] is not None]
        lines += _family(f"rook_service_{name}", kind, help, samples)
    for key, help in (("running", "Threads of a pool at work."), ("waiting", "Work that waits for a thread.")):
        lines += _family(f"rook_pool_{key}", "gauge", help, [(f'{{pool="{p["name"]}"}}', p[key]) for p in pools])
    unowned = len(services.unowned())
    lines += _family("rook_tasks_unowned", "gauge", "asyncio tasks that nobody observes.", [("", unowned)])
    return "\n".join(lines) + "\n"


def _number(value: float | str) -> float:
    return times.parse_when(value, 0) / 1000 if isinstance(value, str) else value


def _family(name: str, kind: str, help: str, samples: list[tuple[str, float]]) -> list[str]:
    return [f"# HELP {name} {help}", f"# TYPE {name} {kind}", *(f"{name}{labels} {value}" for labels, value in samples)]
