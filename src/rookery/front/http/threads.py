"""The discussions and the inbox of the pi-team contract."""

from typing import Any

from starlette.responses import Response

from rookery.core import errors, names

from . import piteam
from .answer import json_answer
from .ask import Ask

TITLE = "Thread"  # of a discussion that was given none
EVERYTHING = 1_000  # messages, threads or events that one answer holds at most


async def start(ask: Ask) -> Response:
    _take_sender(ask)
    title = piteam.title(ask.body.get("title") or ask.body.get("subject")) or TITLE
    args = {"title": title, **ask.key}
    if (participants := ask.body.get("participants")) is not None:
        args["participants"] = piteam.listed(participants)
    args |= {"body": said} if (said := _said(ask)) else {}
    if tasks := ask.body.get("tasks") or _one(piteam.title(ask.body.get("taskId"))):
        args["tasks"] = tasks
    made = await ask.call("thread.new", args)
    replayed = made.pop("replayed", False)
    return json_answer({"thread": made}, 200 if replayed else 201)


async def say(ask: Ask) -> Response:
    _take_sender(ask)
    said = _said(ask)
    if not isinstance(said, str) or not said:
        raise errors.BadInput("A message needs a text.", 'Give "message" (or "body").', code="INVALID_THREAD_MESSAGE",
                              http=400)  # fmt: skip
    to = ask.body.get("to")
    args = {"id": ask.path("id"), "body": said, **ask.key}
    args |= {"to": [to] if isinstance(to, str) else to} if to else {}
    made = await ask.call("thread.post", args)
    replayed = made.pop("replayed", False)
    return json_answer({"message": made}, 200 if replayed else 201)


def _take_sender(ask: Ask) -> None:
    """`from` is who speaks where `agentId` does not say it."""
    if ask.body.get("agentId") in (None, "") and ask.body.get("from") not in (None, ""):
        ask.body["agentId"] = ask.body["from"]
    piteam.check_sender(ask, needed=False)


def _said(ask: Ask) -> Any:
    told = (piteam.title(ask.body.get(name)) for name in ("message", "body"))
    return next((each for each in told if each), None)


def _one(value: Any) -> list[Any] | None:
    return [value] if value else None


async def messages(ask: Ask) -> Any:
    return await _tail(ask, piteam.count(ask.query("tail"), EVERYTHING, EVERYTHING))


async def tail(ask: Ask) -> Any:
    return await _tail(ask, piteam.count(ask.query("limit"), piteam.LIMIT, piteam.MOST))


async def _tail(ask: Ask, limit: int) -> Any:
    thread = await ask.call("thread.tail", {"id": ask.path("id"), "limit": limit})
    return {"messages": thread.pop("messages"), "thread": thread}


async def listed(ask: Ask) -> Any:
    return await ask.call("thread.list", {"task": ask.query("taskId"), "limit": ask.whole("limit", 100)})


async def search(ask: Ask) -> Any:
    limit = piteam.count(ask.query("limit"), EVERYTHING, EVERYTHING)
    return await ask.call("thread.about", {"query": ask.query("q"), "limit": limit})


async def link(ask: Ask) -> Any:
    task = ask.body.get("taskId")
    known = task if isinstance(task, str) else ""
    return {"thread": await ask.call("thread.link", {"id": ask.path("id"), "task": known})}


# -- the inbox -------------------------------------------------------------------------------------------------------


async def inbox(ask: Ask) -> Any:
    """The first poll opens the inbox: from then on it gets the task events of the whole team."""
    piteam.check_sender(ask)
    args = {"since": piteam.cursor(ask.query("since")), "limit": ask.whole("limit", EVERYTHING)}
    wait_s = ask.wait_s()
    page = await _page(ask, args)
    if not page["opened"] and _may_open(ask):
        await ask.call("notices.open", {})
    if wait_s and not page["events"]:
        page = await ask.wait_for("notices", args | {"since": page["nextSince"]})
    return piteam.inbox(page, ask.team(), ask.agent() or "")


async def _page(ask: Ask, args: dict[str, Any]) -> Any:
    """A cursor from before the log begins gets what is left: a poller that is refused would ask for it for ever."""
    try:
        return await ask.call("notices", args)
    except errors.CursorTooOld:
        return await ask.call("notices", args | {"since": 0})


def _may_open(ask: Ask) -> bool:
    """A reader changes nothing, and the daemon's token is never the user."""
    if ask.grant is not None:
        return not ask.grant.reads_only
    return names.key(ask.agent() or "") != names.PERSON
