"""Commands that are more than one call: binding a process, waiting, following, and looking after the home."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rookery.client import waiting
from rookery.client.port import Client
from rookery.core import errors, names, times, trust
from rookery.core import feed as words
from rookery.core.caller import Caller
from rookery.hosts import known
from rookery.runtime import files, git, lineage, places

from .call import Desk, Reply, terminal_of
from .router import answer, call_verb, document, typed

# -- mesh --------------------------------------------------------------------------------------------------------


def join(desk: Desk, read: dict[str, Any]) -> Reply:
    """Binds the agent program or shell above this process, so that later commands know who they are."""
    if read.pop("auto") and not desk.joins_by_itself:
        return Reply()
    said = [name for name in (read["name"], desk.options.agent) if name is not None]
    if "" in said or len({names.key(name) for name in said}) > 1:
        raise errors.BadInput("Which name?", "`rook join NAME`, or no name at all for a new one.")
    read["name"] = (said or [desk.call.environ.get("ROOK_AGENT")])[0]
    bound = lineage.binding(desk.chain)
    args = typed(desk, "join", read) | {"branch": git.branch(desk.call.cwd) or "", "resume": True}
    args.setdefault("program", lineage.program_name(desk.chain, bound))
    if args["program"] in known.TITLES:  # into any other nobody types: a shell would run what it is given
        args["terminal"] = terminal_of(desk.call.environ, desk.call.peer)
    return answer(desk, "join", desk.house.client.call("join", args, desk.joining()))


def escalate(desk: Desk, read: dict[str, Any]) -> Reply:
    if read.pop("list"):
        return answer(desk, "escalations", desk.verb("escalations", {}))
    return answer(desk, "escalate", call_verb(desk, "escalate", read))


def serve_mcp(desk: Desk, _read: dict[str, Any]) -> Reply:
    from rookery.front.mcp import seat, server

    if desk.call.peer:
        desk.house.client.call("turn.program", {"how": "mcp"}, desk.joining())
    server.serve(seat.LocalSeat(desk.house, desk.call.peer))
    return Reply()


# -- guard -------------------------------------------------------------------------------------------------------


def can_write(desk: Desk, read: dict[str, Any]) -> Reply:
    """Exit 0: all of them may be written; 1: one of them may not, and why."""
    told = call_verb(desk, "can-write", read)
    return answer(desk, "can-write", told, code=0 if told["allow"] else 1)


# -- waiting and following ---------------------------------------------------------------------------------------


def wait(desk: Desk, read: dict[str, Any]) -> Reply:
    limit = None if read["timeout"] is None else times.parse_span(read["timeout"]) / 1000
    filters = {"priority": read["priority"] or "low", "sender": read["from"] or ""}
    caller, house = desk.caller(), desk.house
    me = house.client.call("inbox", {"limit": 1}, caller)["agent"]
    found = waiting.mail(house.client, caller, me, filters, timeout_s=limit, poll_s=house.settings["poll.s"])
    if found is None:
        raise errors.Refused(f"No mail for {me} came in time.", "`rook inbox --open` shows older mail.", code="TIMEOUT")
    return answer(desk, "inbox", found)


def feed(desk: Desk, read: dict[str, Any]) -> Reply:
    follow = read.pop("follow")
    shown = call_verb(desk, "feed", read)
    if not follow:
        return answer(desk, "feed", shown)
    wanted = set(read["types"] or words.shown(crew_events=desk.house.settings["feed.crew_events"]))
    agent: str = read["agent"] or ""
    news = (
        event
        for event in _news(desk, shown["cursor"])
        if event["type"] in wanted and (not agent or words.concerns(event["actor"], event["target"], agent))
    )
    return _stream(desk, shown["events"], news)


def events(desk: Desk, read: dict[str, Any]) -> Reply:
    follow = read.pop("follow")
    page = call_verb(desk, "events", read)
    return _stream(desk, page["events"], _news(desk, page["cursor"])) if follow else answer(desk, "events", page)


def _news(desk: Desk, after: int) -> Iterator[dict[str, Any]]:
    return waiting.follow(desk.house.client, desk.caller(), after, poll_s=desk.house.settings["poll.s"])


def _stream(desk: Desk, first: list[dict[str, Any]], news: Iterator[dict[str, Any]]) -> Reply:
    """JSON lines for programs, a line each for people, until interrupted."""
    from itertools import chain

    from . import show

    width, terminal = desk.call.width, desk.call.terminal
    for event in chain(first, news):
        desk.call.emit(document(event) if desk.options.json else show.event_line(event, width, terminal=terminal))
    return Reply()


# -- the home ----------------------------------------------------------------------------------------------------


def show_config(desk: Desk, read: dict[str, Any]) -> Reply:
    from rookery.config import SETTINGS

    asked = read["name"] or ""
    settings = desk.house.settings
    chosen = [s for s in SETTINGS if not asked or s.name == asked or s.name.startswith(f"{asked}.")]
    if not chosen:
        near = names.did_you_mean(asked, [s.name for s in SETTINGS]) or "`rook config` lists them all."
        raise errors.UnknownName(f"No setting {asked!r}.", near)
    where = desk.house.places
    waiting = [trust.as_data(each) for each in settings.requests if not each.accepted]
    rows = [
        {"name": s.name, "value": settings[s.name], "unit": s.unit, "source": settings.source(s.name), "help": s.help}
        for s in chosen
    ]
    found = {
        "home": where.home,
        "store": where.store,
        "team": where.team,
        "team_source": where.team_source,
        "settings": rows,
        "not_in_force": [each for each in waiting if not asked or f"{each['key']}.".startswith(f"{asked}.")],
    }
    return answer(desk, "config", found)


def doctor(desk: Desk, _read: dict[str, Any]) -> Reply:
    checks: list[dict[str, Any]] = []
    for look in (_check_config, _check_home, _check_store, _check_trust, _check_bell, _check_identity, _check_hooks):
        try:
            for what, well, seen, *do in look(desk):
                checks.append({"check": what, "ok": well, "seen": seen} | ({"do": do[0]} if any(do) else {}))
        except errors.RookError as error:
            checks.append(
                {"check": look.__name__.removeprefix("_check_"), "ok": False, "seen": error.message, "do": error.hint}
            )
            break  # what follows stands on this
    well = all(check["ok"] for check in checks)
    return answer(desk, "doctor", {"ok": well, "checks": checks}, code=0 if well else 1)


def _check_config(desk: Desk) -> list[tuple[str, bool, str]]:
    where = desk.house.places
    changed = sum(1 for name in desk.house.settings if desk.house.settings.source(name) != "default")
    return [
        ("config", True, f"{changed} settings differ from the defaults"),
        ("team", True, f"{where.team} (from {where.team_source})"),
    ]


def _check_trust(desk: Desk) -> list[tuple[str, bool, str, str]]:
    """What the repository asks for and does not get is no fault; a team that is not its own is."""
    if desk.house.remote is not None:
        return []
    waiting = [each for each in desk.verb("trust.look", {})["requests"] if not each["in_force"]]
    seen = "; ".join(f"{each['key']} = {each['value']} ({each['file']})" for each in waiting)
    well = all(each["key"] != "team" for each in waiting)
    if not seen:
        return [("trust", True, "nothing waits for your trust", "")]
    return [("trust", well, f"not in force: {seen}", "`rook trust` accepts it.")]


def _check_home(desk: Desk) -> list[tuple[str, bool, str]]:
    home = desk.house.places.home
    places.prepare_home(home)
    free = files.free_bytes(home)
    return [("home", True, f"{home}, private"), ("disk", free > 100 << 20, f"{free >> 20:,} MiB free")]


def _check_store(desk: Desk) -> list[tuple[str, bool, str]]:
    if desk.house.remote is not None:
        told = desk.verb("health", {})
        return [("daemon", True, f"{desk.house.remote.url} answers: {told['status']}")]
    store = desk.house.store
    found = store.checks()
    store.write(desk.house.team, lambda tx: tx.now)
    return [("store", True, f"{store.location} takes writes"), *found]


def _check_bell(desk: Desk) -> list[tuple[str, bool, str]]:
    if desk.house.remote is not None:
        return []
    bell, team = desk.house.bell, desk.house.team
    with bell.listen(team, "doctor") as listener:
        heard = bell.ring(team, ["doctor"]).get("doctor", 0) and listener.wait(1.0)
    return [("bell", bool(heard), "rings" if heard else "does not ring: waits fall back to a look every second")]


def _check_identity(desk: Desk) -> list[tuple[str, bool, str]]:
    try:
        return [("you are", True, desk.verb("worker.self", {})["agent"] or "nobody")]
    except errors.BadInput as error:  # several agents in one shell are no fault
        return [("you are", error.code == "WHO_ARE_YOU", error.message)]


def _check_hooks(desk: Desk) -> Sequence[tuple[str, bool, str, str]]:
    from rookery.front.init import checks

    return checks.all_hosts(desk)


def backup(desk: Desk, read: dict[str, Any]) -> Reply:
    store = desk.house.store
    desk.house.client.call("store.backup", {}, desk.as_user())  # every mailbox is in it: not for an agent
    path = os.path.join(desk.call.cwd, read["path"]) if read["path"] else _backup_path(desk)
    if os.path.lexists(path):
        raise errors.Refused(f"{path} exists already.", "Give another name; nothing is overwritten.", code="EXISTS")
    places.create_private(path)
    store.backup(path)
    return answer(desk, "backup", {"path": path, "bytes": files.size(path)})


def _backup_path(desk: Desk) -> str:
    places.prepare_home(desk.house.places.home)
    folder = places.private_folder(os.path.join(desk.house.places.home, "backups"))
    stamp = times.iso(desk.house.clock.wall_ms()).replace(":", "").replace(".", "")
    return os.path.join(folder, f"rookery-{stamp}.db")


def export_tree(desk: Desk, read: dict[str, Any]) -> Reply:
    from rookery.bridge import mailboxes

    return _tree(desk, read, "export", mailboxes.export)


def import_tree(desk: Desk, read: dict[str, Any]) -> Reply:
    from rookery.bridge import mailboxes

    return _tree(desk, read, "import", mailboxes.load)


def _tree(desk: Desk, read: dict[str, Any], name: str, act: Callable[[Client, Caller, str], dict[str, Any]]) -> Reply:
    folder = os.path.join(desk.call.cwd, read["folder"])
    done = act(desk.house.client, desk.as_user(), folder)
    return answer(desk, name, done | {"folder": folder})
