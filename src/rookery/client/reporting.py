"""What a worker's own process says through any client: a report that waits for its start, a question for its answer."""

from collections.abc import Mapping
from typing import Any

from rookery.core import errors
from rookery.core.caller import Caller

from . import waiting
from .port import Client

START_S = 20.0  # a quick program may speak before it is written down that it runs


def report(client: Client, caller: Caller, verb: str, args: Mapping[str, Any], *, poll_s: float) -> Any:
    """Said once it can be: while its start is being written down, whoever speaks waits for that."""
    try:
        return client.call(verb, args, caller)
    except errors.Refused as error:
        if error.code != "WORKER_STARTING":
            raise
    me = client.call("worker.self", {}, caller)["agent"]
    with client.listen(me) as listener:
        waiting.until(listener, lambda: _has_started(client, caller), timeout_s=START_S, poll_s=poll_s)
    return client.call(verb, args, caller)


def _has_started(client: Client, caller: Caller) -> bool:
    worker = client.call("worker.self", {}, caller)["worker"]
    return worker is None or worker["state"] != "starting"


def answered(client: Client, caller: Caller, id: str, *, timeout_s: float | None, poll_s: float) -> dict[str, Any]:
    """The question, as soon as it is not open any more; or as it is when the time is over."""
    me = client.call("worker.self", {}, caller)["agent"]

    def look() -> dict[str, Any] | None:
        found = client.call("question.show", {"id": id}, caller)
        return found if found["state"] != "open" else None

    with client.listen(me) as listener:
        found = waiting.until(listener, look, timeout_s=timeout_s, poll_s=poll_s)
    return found or client.call("question.show", {"id": id}, caller)
