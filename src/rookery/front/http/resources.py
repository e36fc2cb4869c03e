"""Every verb under its name, and what people browse: teams, agents, messages."""

from typing import Any

from starlette.responses import PlainTextResponse, Response

from rookery.core import errors
from rookery.service import verbs

from . import event_stream, metrics, piteam
from .answer import json_answer
from .ask import Ask

NO_LEASE = "no_active_lease_for_path"
ENVELOPE = ("agentId", "teamId")
SEND = ("to", "subject", "body", "type", "priority", "payload", "context", "attachments", "tags", "expires", "asks",
        "group", "thread")  # fmt: skip


async def health(_ask: Ask) -> Any:
    """The version is the contract's: its clients compare the whole answer. Rookery's own is in /openapi.json."""
    return {"status": "ok", "version": piteam.PROTOCOL}


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
    if verb.name == "events":
        return await event_stream.page(ask, args)
    done = await ask.call(verb.name, args)
    return json_answer(done, headers={"Cache-Control": "no-store"}) if verb.secret else done


async def services(ask: Ask) -> Any:
    """The daemon's own token is answered without a look at the store, which may be what fails. Another token is judged
    by a verb, and not told which parts fail and why: they are named after teams."""
    found = ask.daemon.services
    told = found.report()
    if ask.grant is not None:
        await teams(ask)
        told = [{**each, "failing": [], "last_error": ""} for each in told]
    return {"services": told, "pools": found.pools(), "unowned": found.unowned()}


async def numbers(ask: Ask) -> Response:
    found = await _teams(ask)
    used = {team["teamId"]: team["tokens"] for team in found if team["tokens"]}
    shown = metrics.text(ask.daemon, used) + metrics.of_services(ask.daemon.services)
    return PlainTextResponse(shown, media_type="text/plain; version=0.0.4")


# -- teams, agents, messages ---------------------------------------------------------------------------------------


async def teams(ask: Ask) -> Any:
    found = {line["teamId"]: line for line in await _teams(ask)}
    if ask.daemon.only_team:
        found.setdefault(ask.daemon.team, {})
    return {"teams": [line | await _team(ask, id) for id, line in found.items()]}


async def _teams(ask: Ask) -> list[dict[str, Any]]:
    found = (await ask.call("team.list", {}))["teams"]
    return [line for line in found if not ask.daemon.only_team or line["teamId"] == ask.daemon.team]


async def team(ask: Ask) -> Any:
    return {"team": await _team(ask, ask.path("id"))}


async def _team(ask: Ask, id: str) -> dict[str, Any]:
    """The daemon's own team is there before anything was written to it."""
    try:
        return await ask.daemon.call(ask.daemon.serves(id), "team.show", {}, ask.caller())
    except errors.UnknownName:
        if id != ask.daemon.team:
            raise
        return {"schemaVersion": piteam.PROTOCOL, "teamId": id, "agents": []}
    except errors.BadInput as error:
        raise errors.UnknownName(error.message, error.hint, code="UNKNOWN_TEAM") from None


async def make_team(ask: Ask) -> Response:
    """Made, or changed by what the body says; 201 either way, as the contract has it."""
    definition = {name: value for name, value in ask.body.items() if name != "agentId"} | {"teamId": ask.team()}
    if definition.keys() <= {"teamId", "agents"}:
        made = await ask.call("team.new", {name: value for name, value in definition.items() if name == "agents"})
    else:
        made = await ask.call("team.set", {"definition": definition})
    return json_answer({"team": made}, 201)


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
    """Always an answer: who is no agent holds no lease, and what is no path is covered by none."""
    path = ask.query("path")
    if "\0" in path or not any(name.strip() not in ("", ".") for name in path.split("/")):
        return {"path": path, "allow": False, "reason": "invalid_path", "detail": "no path"}
    try:
        is_agent = ask.agent() is not None
    except errors.BadInput:
        is_agent = False
    if not is_agent:
        return {"path": path, "allow": False, "reason": NO_LEASE, "detail": "no agent"}
    found = (await ask.call("can-write", {"paths": [path]}))["paths"][0]
    return found | {"path": path, "reason": _reason(found), "detail": found["reason"]}


def _reason(found: dict[str, Any]) -> str:
    if found.get("outside"):
        return "path_traversal_denied"
    if not found["allow"]:
        return NO_LEASE
    return "lease_active_for_resource" if found["covered"] else "no_lease_needed"
