"""Waiting without sleeping through anything: listen first, then look, then wait for the bell or the slow poll.

The bell may be lost, so a wait looks again at least once per poll interval; a lost ring costs that long, no more.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rookery.core.caller import Caller
from rookery.wake.port import EVERYONE, Listener

from .port import Client

FOLLOW_PAGE = 500


def until(listener: Listener, look: Callable[[], Any], *, timeout_s: float | None, poll_s: float) -> Any:
    """What `look` finds first, or None when the time is over."""
    end = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        found = look()
        if found:
            return found
        left = poll_s if end is None else min(poll_s, end - time.monotonic())
        if left <= 0:
            return None
        listener.wait(left)


def mail(
    client: Client, caller: Caller, name: str, filters: Mapping[str, Any], *, timeout_s: float | None, poll_s: float
) -> dict[str, Any] | None:
    """The inbox as soon as anything is in it."""

    def look() -> dict[str, Any] | None:
        inbox = client.call("inbox", filters, caller)
        return inbox if inbox["messages"] else None

    with client.listen(name) as listener:
        return until(listener, look, timeout_s=timeout_s, poll_s=poll_s)


def follow(client: Client, caller: Caller, after: int, *, poll_s: float) -> Iterator[dict[str, Any]]:
    """Every event after a cursor, each once, in order, for ever."""
    with client.listen(EVERYONE) as listener:
        cursor = after
        while True:
            page = client.call("events", {"after": cursor, "limit": FOLLOW_PAGE}, caller)
            yield from page["events"]
            cursor = page["cursor"]
            if not page["events"]:
                listener.wait(poll_s)
