"""Every verb under its name, and what people browse: teams, agents, messages, events."""

from collections.abc import AsyncGenerator
from typing import Any

from starlette.responses import PlainTextResponse, Response, StreamingResponse

from rookery.core import errors
from rookery.service import verbs
from rookery.version import VERSION

from . import metrics
from .answer import json_answer
from .ask import Ask

PAGE = 500
QUIET_S = 15.0  # a comment now and then keeps proxies from closing a stream, and finds readers that have gone
ENVELOPE = ("agentId", "teamId")
SEND = ("to", "subject", "body", "type", "priority", "payload", "context", "attachments", "tags", "expires", "asks",
        "group", "thread")  # fmt: skip


async def health(_ask: Ask) -> Any:
    return {"status": "ok", "version": VERSION}


async def call(ask: Ask) -> Any:
    """Exactly the verb's own arguments: nothing is ignored here."""
    verb = verbs.find(ask.path("verb"))
    args = {name: value for name, value in ask.body.items() if name not in ENVELOPE}
    if ask.key and verb.secret:
        raise errors.BadInput(
            f"{verb.name} takes no idempotency key: its answer is kept nowhere.",
            "Leave the key out. If an answer was lost, revoke what was made (token.list shows it) and make another.",
            code="NO_KEY",
        )
    if ask.key and any(p.name == "key" for p in verbs.parameters(verb.load())):
        args |= ask.key
    done = await ask.call(verb.name, args)
    return json_answer(done, headers={"Cache-Control": "no-store"}) if verb.secret else done


async def numbers(ask: Ask) -> Response:
    found = (await teams(ask))["teams"]
    used = {team["teamId"]: team["tokens"] for team in found if team["tokens"]}
    shown = metrics.text(ask.daemon.numbers, ask.daemon.queue, ask.daemon.news.count(), used)
    return PlainTextResponse(shown, media_type="text/plain; version=0.0.4")


# -- teams, agents, messages ---------------------------------------------------------------------------------------


async def teams(ask: Ask) -> Any:
    found = await ask.call("team.list", {})
    if ask.daemon.only_team:
        found["teams"] = [team for team in found["teams"] if team["teamId"] == ask.daemon.team]
    return found


async def team(ask: Ask) -> Any:
    return await ask.daemon.call(ask.daemon.serves(ask.path("id")), "team.show", {}, ask.caller())


async def make_team(ask: Ask) -> Response:
    ask.need("teamId")
    definition = {name: value for name, value in ask.body.items() if name != "agentId"}
    made = await ask.call("team.set", {"definition": definition})
    return json_answer(made, 201 if made.pop("created") else 200)


async def agents(ask: Ask) -> Any:
    return await ask.call("who", {"all": True})


async def messages(ask: Ask) -> Any:
    return await ask.call("inbox", {"all": True, "after": ask.whole("after", 0), "limit": ask.whole("limit", 100)})


async def send(ask: Ask) -> Response:
    ask.need("to", "subject")
    args = {name: value for name, value in ask.body.items() if name not in ENVELOPE} | ask.key
    if isinstance(args["to"], str):
        args["to"] = [args["to"]]
    made = await ask.call("send", args)
    return json_answer(made, 200 if made.pop("replayed", False) else 201)


async def reservations(ask: Ask) -> Any:
    paths = [path for path in ask.queries("path") if path]
    args: dict[str, Any] = {"paths": paths} if paths else {}
    return await ask.call("reservations", args | {"agent": ask.query("holder"), "limit": ask.whole("limit", 200)})


async def slots(ask: Ask) -> Any:
    return await ask.call("slot.list", {"name": ask.query("name")})


async def workers(ask: Ask) -> Any:
    return await ask.call("workers", {"limit": ask.whole("limit", 200)})


async def worker(ask: Ask) -> Any:
    return await ask.call("worker.show", {"id": ask.path("id")})


VERDICT = {"subject": "subject", "action": "action", "text": "said", "option": "option", "branch": "branch"}


async def docket(ask: Ask) -> Any:
    return await ask.call("docket", {"all": ask.query("all") in ("1", "true"), "limit": ask.whole("limit", 50)})


async def card(ask: Ask) -> Any:
    return await ask.call("card", {"subject": ask.query("subject")})


async def verdict(ask: Ask) -> Any:
    """What was looked at is named in the body: a decision about anything else is refused with 409 and its card."""
    ask.need("subject", "action")
    return await ask.call("verdict", {VERDICT[name]: value for name, value in ask.given(*VERDICT).items()})


async def decisions(ask: Ask) -> Any:
    return await ask.call("decisions", {"after": ask.whole("after", 0), "limit": ask.whole("limit", 100)})


async def can_write(ask: Ask) -> Any:
    path = ask.query("path")
    if not path or ask.agent() is None:
        raise errors.BadInput("Missing: agentId or path.", "?agentId=NAME&path=src/x.py", code="MISSING_FIELD")
    found = await ask.call("can-write", {"paths": [path]})
    return found["paths"][0] | {"path": path}


# -- events --------------------------------------------------------------------------------------------------------


async def events(ask: Ask) -> Any:
    """A stream; for those who accept only JSON a page, which may be waited for."""
    after = ask.whole("after", _last_seen(ask))
    if "application/json" in ask.header("accept"):
        return await ask.wait_for("events", {"after": after, "limit": ask.whole("limit", PAGE)})
    await ask.call("events", {"after": after, "limit": 1})  # a cursor that is too old is refused before the stream
    return StreamingResponse(_stream(ask, after), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


def _last_seen(ask: Ask) -> int:
    """What a browser says when it comes back."""
    seen = ask.header("last-event-id")
    return int(seen) if seen.isascii() and seen.isdigit() and len(seen) <= 15 else 0


async def _stream(ask: Ask, after: int) -> AsyncGenerator[bytes]:
    """Ends with the reason, when its token was revoked meanwhile or the store does not answer."""
    news, team, caller = ask.daemon.news, ask.team(), ask.caller()
    quiet = 0.0
    with news.of(team) as bell:
        yield b": events of the ledger\n\n"
        while not news.closing:
            try:
                page = await ask.daemon.call(team, "events", {"after": after, "limit": PAGE}, caller)
            except errors.RookError as error:
                yield b"event: refused\ndata: %s\n\n" % bytes(json_answer(error.as_dict()).body)
                return
            for event in page["events"]:
                yield _sent(event)
            after = page["cursor"]
            if page["events"]:
                quiet = 0.0
                continue
            await bell.wait(ask.daemon.poll_s)
            quiet += ask.daemon.poll_s
            if quiet >= QUIET_S:
                quiet = 0.0
                yield b": still here\n\n"


def _sent(event: dict[str, Any]) -> bytes:
    data = json_answer(event).body
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event["seq"], event["type"].encode(), bytes(data))
