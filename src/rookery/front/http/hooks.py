"""Hooks that come by HTTP, from programs that can: no process is started for them.

Nothing tells which process asks. An agent's token proves who does; with the daemon's own, the session that the event
names is looked up, which an earlier hook of that session made known when it started. Where the agent works is what
that hook registered (`Site`): a folder that the event names is not believed.
"""

import asyncio
import logging
import os
from contextlib import suppress
from typing import Any

from starlette.background import BackgroundTask
from starlette.responses import Response

from rookery import app
from rookery.client.placed import Ground, PlacedClient
from rookery.client.queued import TeamOfQueue
from rookery.core import errors, hook_failures, names, tokens
from rookery.core.caller import Caller, Grant, Origin
from rookery.core.hooks import Event, Moment
from rookery.core.record import NamedTuple
from rookery.front.cli.call import Call, Desk, Later, Options
from rookery.front.hook import answering, failures
from rookery.front.hook.seen import Seen
from rookery.hosts import known, profile
from rookery.hosts.profile import Profile
from rookery.runtime import git, places

from .answer import json_answer
from .ask import Ask
from .daemon import Daemon

log = logging.getLogger("rookery.http")

RECORD_S = 1.0
PASSED_ON = ("HOME", "XDG_CONFIG_HOME", "ROOK_HOME")


class Site(NamedTuple):
    """The team, the agent and the folder of a hook, as far as this machine knows them."""

    team: str
    agent: str | None
    folder: str  # "" if no process of this machine registered one
    grant: Grant | None
    origin: Origin | None = None  # the process that asks, where that can be told

    def caller(self, agent: str | None) -> Caller:
        return Caller(agent=agent, grant=self.grant, daemon_token=self.grant is None, origin=self.origin)


class GuestDesk(Desk):
    """What a hook over HTTP works with: callers without a place or a process."""

    def __init__(self, call: Call, site: Site, house: app.House) -> None:
        super().__init__(call, Options(team=site.team, agent=site.agent))
        self._site = site
        self.house = house

    def caller(self, **more: Any) -> Caller:
        return self._site.caller(self.options.agent)

    def joining(self, **more: Any) -> Caller:
        return self.caller()._replace(agent=None)


async def answered(ask: Ask) -> Response:
    """An empty object where nothing is to be said. An error before a tool is answered by policy: to the program any
    status but 200 is a yes."""
    try:
        seen = _seen(ask)
    except errors.UnknownName:
        _asked(ask)  # whoever may not ask does not learn which programs are known
        raise
    try:
        return await _answered(ask, seen)
    except Exception as error:
        return await ask.daemon.aside(failed, ask, seen, error)


def failed(ask: Ask, seen: Seen | None, error: Exception) -> Response:
    """What the policy refuses is refused in the program's own form. Otherwise whoever may not ask, or asks wrongly, is
    told so by the status; what broke in here is a warning."""
    seen = seen or _seen(ask)
    if not isinstance(error, errors.RookError):
        log.exception("a hook failed", exc_info=error)
    failure = hook_failures.kind_of(error)
    desk = Desk(_own_call(ask.daemon), Options())
    try:
        policy = failures.policy_of(desk, seen.closed, failure)
    finally:
        desk.close()
    moment = seen.event.moment if seen.event else seen.moment
    answer = hook_failures.decide(moment, failure, hook_failures.describe(error), policy)
    written = failures.written(seen, answer)
    if written and (answer.deny or answer.ask or not isinstance(error, errors.RookError)):
        return Response(written, media_type="application/json")
    raise error


def _seen(ask: Ask) -> Seen:
    seen = Seen(ask.query("closed") == "1")
    seen.host = known.find(ask.path("host"))
    seen.moment = Moment.BEFORE if seen.closed else None  # only such a hook is installed so
    return seen


async def _answered(ask: Ask, seen: Seen) -> Response:
    host = seen.host or known.find(ask.path("host"))
    asked = _asked(ask)  # first: whoever may not ask learns nothing
    event = seen.event = profile.read(host, ask.body, seen.moment)
    await _recorded(ask.daemon, event)
    site = await ask.daemon.aside(_site, ask.daemon, asked, host, event)
    written, later = await ask.daemon.aside(_answer, ask.daemon, site, host, event, seen.closed)
    answer = Response(written, media_type="application/json") if written else json_answer({})
    if later is not None:
        answer.background = _record(ask.daemon, site, event, later)
    return answer


def _record(daemon: Daemon, site: Site, event: Event, later: Later) -> BackgroundTask:
    """What is written down after the answer was sent; until then the next hook of that session waits."""
    done = daemon.recording.setdefault(event.session, asyncio.Event())

    async def record() -> None:
        try:
            await daemon.aside(_follow_up, daemon, site, event, later)
        finally:
            daemon.recording.pop(event.session, None)
            done.set()

    return BackgroundTask(record)


def _follow_up(daemon: Daemon, site: Site, event: Event, later: Later) -> None:
    desk = _desk(daemon, site, event)
    try:
        desk.verb(later.verb, later.args)
    except errors.RookError:
        pass  # nobody is left to be told; what was not recorded happens again
    finally:
        desk.close()


async def _recorded(daemon: Daemon, event: Event) -> None:
    """Of an answer that nobody took nothing is written down, and nobody waits for it for long."""
    pending = daemon.recording.get(event.session)
    if pending is None:
        return
    try:
        async with asyncio.timeout(RECORD_S):
            await pending.wait()
    except TimeoutError:
        daemon.recording.pop(event.session, None)


# -- who asks, and where it works --------------------------------------------------------------------------------------


def _asked(ask: Ask) -> Site:
    """What the request says and its token allows. No team: none was named, and the token is good for all."""
    said = ask.query("teamId") or ask.body.get("teamId") or (ask.grant.team if ask.grant else "")
    if ask.grant is not None and said != ask.grant.team:
        raise tokens.other_team(ask.grant)
    team = ask.daemon.serves(str(said)) if said else ask.daemon.team if ask.daemon.only_team else ""
    return Site(team, _named(ask), "", ask.grant, ask.origin)


def _named(ask: Ask) -> str | None:
    """Who asks, where that is said. With an agent's token nobody else can be."""
    if ask.grant is None:
        return ask.agent()
    if other := ask.caller().agent:
        raise tokens.not_you(ask.grant, other)
    return ask.grant.name


def _site(daemon: Daemon, asked: Site, host: Profile, event: Event) -> Site:
    """With the session that a process of this machine registered, if there is one. Without a team, the event's folder
    says in which team to look for it; only a session found there confirms that."""
    if asked.team:
        return _registered(daemon, asked, host, event)
    with suppress(errors.RookError):
        near = places.find(cwd=event.cwd, environ={}).team if _is_full(event.cwd) else ""
        if near and (found := _registered(daemon, asked._replace(team=near), host, event)).folder:
            return found
    return _registered(daemon, asked._replace(team=daemon.team), host, event)


def _registered(daemon: Daemon, asked: Site, host: Profile, event: Event) -> Site:
    caller = asked.caller(asked.agent)
    client = TeamOfQueue(daemon.queue, asked.team, daemon.house)
    found = client.call("turn.whose", {"host": host.name, "host_id": event.session[:200]}, caller)
    agent = asked.agent
    if event.session and event.moment is not Moment.START:
        agent = _one(asked.agent, found["agent"])
    return asked._replace(agent=agent, folder=_inside(found["folder"], event.cwd))


def _one(said: str | None, known_as: str) -> str | None:
    """Who asks. A session that began under one name can not go on under another: its files would not be its own."""
    if said and known_as and names.key(said) != names.key(known_as):
        raise errors.NotYours(
            f"This session is {known_as}'s, and the request is {said}'s.",
            f"Set ROOK_AGENT={said} where the program starts, beside ROOK_TOKEN.", code="NOT_YOUR_SESSION",
        )  # fmt: skip
    return said or known_as or None


def _inside(folder: str, cwd: str) -> str:
    """The registered folder, or the event's if that is in the same working tree: a program changes its folder."""
    if not folder or not _is_full(cwd):
        return folder
    top = git.toplevel(folder)
    return cwd if top is not None and git.toplevel(cwd) == top else folder


def _is_full(cwd: str) -> bool:
    return cwd.startswith("/") and "\0" not in cwd


# -- answering ---------------------------------------------------------------------------------------------------------


def _answer(daemon: Daemon, site: Site, host: Profile, event: Event, closed: bool) -> tuple[str, Later | None]:
    desk = _desk(daemon, site, event)
    try:
        done = answering.at(desk, host, event, closed=closed)
    finally:
        desk.close()
    return profile.write(host, event, done.answer), done.later


def _own_call(daemon: Daemon) -> Call:
    """To read the policy where an event could not be read: the daemon's own folder."""
    house = daemon.house
    environ = {name: house.environ[name] for name in PASSED_ON if name in house.environ}
    return Call([], house.places.root, environ, str, _no_stream, open_house=app.open_guests(house, daemon.queue))


def _desk(daemon: Daemon, site: Site, event: Event) -> GuestDesk:
    house = _house(daemon, site, event)
    environ = {name: value for name, value in daemon.house.environ.items() if name in PASSED_ON}
    return GuestDesk(Call([], house.cwd, environ, str, _no_stream), site, house)


def _house(daemon: Daemon, site: Site, event: Event) -> app.House:
    """Of the registered folder; else of the team as the daemon knows it, without reading any other folder."""
    own = daemon.house
    if site.folder:
        environ = {name: own.environ[name] for name in PASSED_ON if name in own.environ}
        return app.open_guests(own, daemon.queue)(cwd=site.folder, environ=environ, team=site.team)
    house = own.neighbour(site.team)
    root = own.places.root if site.team == own.team else ""
    if site.team == own.team:
        house.settings = own.settings
    root = event.cwd if _is_elsewhere(event.cwd) else root or own.places.home
    house.cwd, house.places = root, house.places._replace(root=root)
    house.bell, house.clock = own.bell, own.clock
    house.client = PlacedClient(TeamOfQueue(daemon.queue, site.team, house), Ground(root, root))
    return house


def _is_elsewhere(cwd: str) -> bool:
    """A folder of another machine: its names count, and there is nothing here that they could lead to."""
    return _is_full(cwd) and os.path.realpath(cwd) == cwd and not os.path.lexists(cwd)


def _no_stream(_text: str) -> None:
    raise errors.BadInput("A hook shows nothing while it runs.", "Read its answer.")
