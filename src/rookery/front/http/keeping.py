"""What the daemon's keeper is given: the verbs of every team it serves, the bell, and a hand for each way."""

import asyncio
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import Any

from rookery import extensions
from rookery.app import House
from rookery.core import errors, names
from rookery.core.caller import Caller
from rookery.core.delivery import Channel
from rookery.core.notifying import quiet_hours
from rookery.core.ports import Pace, Terminal
from rookery.core.screen import Patterns, rules
from rookery.front.cli import own_hosts
from rookery.hosts import known, screens
from rookery.keeper import calling, letters, listening, notifying, proof, reaching, terminals
from rookery.keeper import lander as landing
from rookery.keeper.courier import Courier, Hand
from rookery.keeper.crews import Crews
from rookery.keeper.lander import Lander
from rookery.keeper.monitor import Monitor
from rookery.keeper.notifying import Notifier
from rookery.keeper.reader import Reader
from rookery.keeper.services import BackgroundService
from rookery.keeper.supervisor import THREADS, Ground, Supervisor
from rookery.keeper.tidying import Tidier
from rookery.runtime import posting, process, ptys, store_claim, tmux
from rookery.store import faults

from .daemon import Daemon

SECRET = "webhook.secret"
PROGRAMS, TURNS = 8, 16  # threads: commands, webhooks and notifications; whole turns of resumed agents


def add_services(daemon: Daemon, supervisor: Supervisor, tidier: Tidier) -> None:
    """All that the daemon does by itself, but for what starts with its first use."""
    found: list[BackgroundService] = [
        courier(daemon).service, monitor(daemon).service, supervisor.service, tidier.service, crews(daemon).service,
        lander(daemon).service, listeners(daemon).service,
    ]  # fmt: skip
    if daemon.house.settings["evidence.read_s"]:
        found.append(reader(daemon).service)
    if (notifies := notifier(daemon)).has_hands:
        found.append(notifies.service)
    for service in found:
        daemon.services.add(service)


class Verbs:
    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._caller = Caller(agent=names.SYSTEM, host=daemon.house.host, boot=daemon.house.boot)
        self._set_up: set[str] = set()

    async def teams(self) -> list[str]:
        """Those in which anyone can be reached; our own has its ways set up first."""
        own = self._daemon.team
        if own not in self._set_up:
            await self.call(own, "delivery.ways", {})
            self._set_up.add(own)
        found = await self.call(own, "delivery.teams", {})
        return [team for team in found["teams"] if not self._daemon.only_team or team == own]

    async def call(self, team: str, verb: str, args: Mapping[str, Any]) -> Any:
        return await self._daemon.call(team, verb, args, self._caller)


class Crewing(Verbs):
    """The same verbs, for teams that have a crew at work on this machine."""

    async def teams(self) -> list[str]:
        own = self._daemon.team
        found = await self.call(own, "crew.teams", {})
        return [team for team in found["teams"] if not self._daemon.only_team or team == own]


class Watching(Verbs):
    """The same verbs, for teams of which a session runs on this machine."""

    async def teams(self) -> list[str]:
        own = self._daemon.team
        found = await self.call(own, "monitor.teams", {})
        return [team for team in found["teams"] if not self._daemon.only_team or team == own]


def monitor(daemon: Daemon) -> Monitor:
    return Monitor(Watching(daemon), every_s=daemon.house.settings["monitor.every_s"])


def reader(daemon: Daemon) -> Reader:
    return Reader(Acting(daemon, "transcripts.teams"), every_s=daemon.house.settings["evidence.read_s"])


def crews(daemon: Daemon) -> Crews:
    return Crews(Crewing(daemon), daemon.house.bell, poll_s=daemon.poll_s)


class Acting(Verbs):
    """The same verbs, for teams that a verb names; our own is always listened for. It is a process of this machine that
    says so, and what it says of terminals is believed."""

    def __init__(self, daemon: Daemon, found_by: str) -> None:
        super().__init__(daemon)
        me = process.identify(os.getpid())
        self._found_by = found_by
        self._caller = self._caller._replace(open_addresses=True, process=(me.pid, me.started) if me else None)

    async def teams(self) -> list[str]:
        own = self._daemon.team
        if self._daemon.only_team:
            return [own]
        return list(dict.fromkeys([own, *(await self.call(own, self._found_by, {}))["teams"]]))


def lander(daemon: Daemon) -> Lander:
    house, pool = daemon.house, daemon.services.pool

    def tree(team: str, root: str, branch: str) -> str:
        store_claim.require(root, house.places.store)
        return landing.tree_in(house.places.home, team, root, branch)

    return Lander(
        Acting(daemon, "land.teams"), house.bell, owner=_owner(house.host), poll_s=daemon.poll_s, reached=faults.reach,
        trees=tree,
        pools=landing.Pools(pool("merges", landing.GITS), pool("checks", landing.CHECKS)),
    )  # fmt: skip


def supervisor(daemon: Daemon) -> Supervisor:
    house = daemon.house
    ground = Ground(
        house.places.home, house.environ, tuple(house.settings["worker.environment"]), owner=_owner(house.host),
        boot=house.boot, store=house.places.store if house.environ.get("ROOK_STORE") else "",
        ledger=house.places.store, hosts=house.settings["hosts"],
        capture=house.settings["worker.capture_terminal"],
    )  # fmt: skip
    verbs = Acting(daemon, "worker.teams")
    pool = daemon.services.pool("workers", THREADS)
    return Supervisor(verbs, house.bell, ground, poll_s=daemon.poll_s, reached=faults.reach, pool=pool)


def tidier(daemon: Daemon) -> Tidier:
    serves = daemon.team.__eq__ if daemon.only_team else lambda _team: True
    verbs = Acting(daemon, "worker.teams")
    house = daemon.house
    every_s = house.settings["worker.tidy_s"]
    return Tidier(verbs, house.places.home, serves, owner=_owner(house.host), every_s=every_s)


class Everywhere(Verbs):
    """The same verbs, for all teams."""

    async def teams(self) -> list[str]:
        if self._daemon.only_team:
            return [self._daemon.team]
        return [team["teamId"] for team in (await self.call(self._daemon.team, "team.list", {}))["teams"]]


def listeners(daemon: Daemon) -> listening.Listening:
    settings = daemon.house.settings
    return listening.Listening(
        Everywhere(daemon), daemon.house.bell, lambda: extensions.listeners(settings), poll_s=daemon.poll_s,
        limit_s=settings["extensions.listener_s"], changes=_changes,
    )  # fmt: skip


@contextmanager
def _changes(notify: Callable[[], None]) -> Generator[None]:
    loop = asyncio.get_running_loop()
    undo = extensions.when_changed(lambda: loop.call_soon_threadsafe(notify))
    try:
        yield
    finally:
        undo()


async def tell_problems(daemon: Daemon) -> None:
    """Log what is wrong with the installed extensions. Finding them reads many files."""
    listening.told(await asyncio.to_thread(extensions.problems, daemon.house.settings))


def notifier(daemon: Daemon) -> Notifier:
    house = daemon.house
    try:
        hours = quiet_hours(house.settings["notify.quiet"])
    except errors.BadInput as error:
        listening.told([f"{error.message} {error.hint}"])
        hours = None
    hands = notifying.hands(
        house.settings, environ=calling.surroundings(house.environ), cwd=house.places.root, secret=_secret(house),
        pool=daemon.services.pool("programs", PROGRAMS),
    )  # fmt: skip
    serves = daemon.team.__eq__ if daemon.only_team else lambda _team: True
    return Notifier(
        Verbs(daemon), daemon.team, hands, owner=_owner(house.host), poll_s=daemon.poll_s, serves=serves,
        quiet=notifying.by_clock(hours),
    )  # fmt: skip


def _secret(house: House) -> Callable[[], bytes]:
    path = house.settings["delivery.secret_file"] or os.path.join(house.places.home, SECRET)
    return lambda: posting.secret_of(os.path.expanduser(path))


def _owner(host: str) -> str:
    """This very process, as rows name it."""
    me = process.identify(os.getpid())
    return f"{host}:{me.pid}:{me.started}" if me else host


def courier(daemon: Daemon) -> Courier:
    house = daemon.house
    verbs, pace = Verbs(daemon), RealPace()
    written = letters.Letters(verbs, house.places.home, _screens(house))
    witness = proof.Witness(verbs, written, pace, house.settings["delivery.proof_s"])
    return Courier(
        verbs, house.bell, _hands(daemon, pace), owner=_owner(house.host),
        poll_s=daemon.poll_s, files=written, proof=witness.look, reached=faults.reach,
    )  # fmt: skip


def _hands(daemon: Daemon, pace: Pace) -> Mapping[str, Hand]:
    house = daemon.house
    caller = calling.Caller(
        environ=house.environ, cwd=house.places.root, secret=_secret(house),
        limit_s=house.settings["delivery.command_s"], pool=daemon.services.pool("programs", PROGRAMS),
    )  # fmt: skip
    reacher = reaching.Reacher(
        environ=house.environ, queue_s=house.settings["delivery.command_s"], turn_s=house.settings["delivery.resume_s"],
        queues=daemon.services.pool("programs", PROGRAMS), turns=daemon.services.pool("turns", TURNS),
    )  # fmt: skip
    return {
        Channel.QUEUE: reacher.queue, Channel.RESUME: reacher.resume,
        Channel.TERMINAL: terminals.Hand(_pane, _screens(house), rules(house.settings), pace).put,
        Channel.COMMAND: caller.command, Channel.WEBHOOK: caller.webhook, Channel.NOTIFY: caller.notify,
    }  # fmt: skip


class RealPace:
    def now(self) -> float:
        return monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def _pane(address: Mapping[str, Any], pid: int | None, started: str) -> Terminal:
    opened = ptys.Held if address.get("kind") == ptys.KIND else tmux.Pane
    return opened(address, process.Process(pid, started) if pid else None)


def _screens(house: House) -> Callable[[str], Patterns | None]:
    """Of agent programs only, ours and those that someone described. A shell would run what it is given."""

    def of(program: str) -> Patterns | None:
        ours = program in known.TITLES
        return screens.of(program) if ours else own_hosts.screen(house, program)

    return of
