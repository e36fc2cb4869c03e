"""progress, ask, done and fail: inside a worker its report; for others the same word about the one task they hold."""

from typing import Any

from rookery.client import reporting
from rookery.core import errors, times

from .call import Desk, Reply
from .router import answer, typed


def progress(desk: Desk, read: dict[str, Any]) -> Reply:
    if _is_worker(desk):
        return answer(desk, "progress", _said(desk, "progress", read))
    said = "; ".join(filter(None, (*(read["steps"] or ()), read["note"])))
    return answer(desk, "task.progress", desk.verb("task.progress", {"id": _held(desk, "progress"), "said": said}))


def done(desk: Desk, read: dict[str, Any]) -> Reply:
    if _is_worker(desk):
        return answer(desk, "done", _said(desk, "done", read))
    args = {name: value for name, value in typed(desk, "done", read).items() if name not in ("outcome", "unchanged")}
    return answer(desk, "task.done", desk.verb("task.done", {"id": _held(desk, "done"), **args}))


def fail(desk: Desk, read: dict[str, Any]) -> Reply:
    if _is_worker(desk):
        return answer(desk, "fail", _said(desk, "fail", read))
    return answer(desk, "task.fail", desk.verb("task.fail", {"id": _held(desk, "fail"), **typed(desk, "fail", read)}))


def ask(desk: Desk, read: dict[str, Any]) -> Reply:
    """Exit 1 when nobody answered in the time that was given; the question stays, and so does its answer's way."""
    wait = read.pop("wait")
    limit = None if wait is None else times.parse_span(wait) / 1000
    if not _is_worker(desk):
        raise errors.Refused(
            "You are no worker: nobody was appointed to answer you.",
            "`rook escalate TITLE` puts it before the leader or the person.", code="NOT_A_WORKER",
        )  # fmt: skip
    asked = _said(desk, "ask", read)
    if limit is None:
        return answer(desk, "ask", asked)
    house = desk.house
    found = reporting.answered(
        house.client, desk.caller(), asked["id"], timeout_s=limit, poll_s=house.settings["poll.s"]
    )  # fmt: skip
    return answer(desk, "question.show", found, code=0 if found["state"] == "answered" else 1)


def _is_worker(desk: Desk) -> bool:
    return desk.verb("worker.self", {})["worker"] is not None


def _said(desk: Desk, verb: str, read: dict[str, Any]) -> Any:
    args = typed(desk, verb, read) | {"run": desk.call.environ.get("ROOK_RUN", "")}
    house = desk.house
    return reporting.report(house.client, desk.caller(), verb, args, poll_s=house.settings["poll.s"])


def _held(desk: Desk, word: str) -> str:
    """The one task that the caller holds."""
    held = [task["id"] for task in desk.verb("task.list", {"mine": True, "limit": 10})["tasks"]]
    if len(held) == 1:
        return held[0]
    told = f"You are no worker, and hold {', '.join(held)}." if held else "You are no worker, and hold no task."
    raise errors.BadInput(told, f"Say which: `rook task {word} ID`.", code="WHICH_TASK")
