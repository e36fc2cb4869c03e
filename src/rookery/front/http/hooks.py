"""Hooks that come by HTTP, from programs that can: no process is started for them.

Nothing tells which process asks. An agent's token proves who does; with the daemon's own, the session that the event
names is looked up, which an earlier hook of that session made known when it started.
"""

import asyncio

from starlette.background import BackgroundTask
from starlette.responses import Response

from rookery import app
from rookery.core import errors, names, tokens
from rookery.core.hooks import Event, Moment
from rookery.front.cli.call import Call, Desk, Later, Options
from rookery.front.cli.router import follow_up
from rookery.front.hook import answering
from rookery.hosts import known, profile
from rookery.hosts.profile import Profile

from .answer import json_answer
from .ask import Ask
from .daemon import Daemon

RECORD_S = 1.0
PASSED_ON = ("HOME", "XDG_CONFIG_HOME", "ROOK_HOME")


async def answered(ask: Ask) -> Response:
    """An empty object where nothing is to be said."""
    options = Options(team=_team(ask), agent=_named(ask))  # first: whoever may not ask learns nothing
    host = known.find(ask.path("host"))
    event = profile.read(host, ask.body)
    call = _call(ask.daemon, event)
    await _recorded(ask.daemon, event)
    written, later = await asyncio.to_thread(_answer, call, options, host, event)
    answer = Response(written, media_type="application/json") if written else json_answer({})
    if later is not None:
        answer.background = _record(ask.daemon, event, call, later)
    return answer


def _record(daemon: Daemon, event: Event, call: Call, later: Later) -> BackgroundTask:
    """What is written down after the answer was sent; until then the next hook of that session waits."""
    done = daemon.recording.setdefault(event.session, asyncio.Event())

    async def record() -> None:
        try:
            await asyncio.to_thread(follow_up, call, later)
        finally:
            daemon.recording.pop(event.session, None)
            done.set()

    return BackgroundTask(record)


async def _recorded(daemon: Daemon, event: Event) -> None:
    """Of an answer that nobody took nothing is written down, and nobody waits for it for long."""
    pending = daemon.recording.get(event.session)
    if pending is None:
        return
    try:
        await asyncio.wait_for(pending.wait(), RECORD_S)
    except TimeoutError:
        daemon.recording.pop(event.session, None)


def _named(ask: Ask) -> str | None:
    """Who asks, where that is said. With an agent's token nobody else can be."""
    if ask.grant is None:
        return ask.agent()
    if other := ask.caller().agent:
        raise tokens.not_you(ask.grant, other)
    return ask.grant.name


def _team(ask: Ask) -> str | None:
    """The event's folder tells, unless somebody said so or the token is for one team alone."""
    said = ask.query("teamId") or ask.body.get("teamId") or (ask.grant.team if ask.grant else "")
    if ask.grant is not None and said != ask.grant.team:
        raise tokens.other_team(ask.grant)
    return ask.daemon.serves(str(said)) if said else ask.daemon.team if ask.daemon.only_team else None


def _call(daemon: Daemon, event: Event) -> Call:
    house = daemon.house
    environ = {name: house.environ[name] for name in PASSED_ON if name in house.environ}
    cwd = event.cwd if event.cwd.startswith("/") and "\0" not in event.cwd else house.places.root
    return Call([], cwd, environ, str, _no_stream, open_house=app.open_guests(house, daemon.queue))


def _answer(call: Call, options: Options, host: Profile, event: Event) -> tuple[str, Later | None]:
    desk = Desk(call, options)
    try:
        if event.session and event.moment is not Moment.START:
            found = desk.verb("turn.whose", {"host": host.name, "host_id": event.session[:200]})["agent"]
            desk.options = options._replace(agent=_one(options.agent, found))
        done = answering.at(desk, host, event)
    finally:
        desk.close()
    return profile.write(host, event, done.answer), done.later


def _one(said: str | None, known_as: str) -> str | None:
    """Who asks. A session that began under one name can not go on under another: its files would not be its own."""
    if said and known_as and names.key(said) != names.key(known_as):
        raise errors.NotYours(
            f"This session is {known_as}'s, and the request is {said}'s.",
            f"Set ROOK_AGENT={said} where the program starts, beside ROOK_TOKEN.", code="NOT_YOUR_SESSION",
        )  # fmt: skip
    return said or known_as or None


def _no_stream(_text: str) -> None:
    raise errors.BadInput("A hook shows nothing while it runs.", "Read its answer.")
