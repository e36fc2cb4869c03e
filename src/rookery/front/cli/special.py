"""Commands that are more than one call: binding a process, waiting, following, and looking after the home."""

import os
from collections.abc import Iterator
from typing import Any

from rookery.client import waiting
from rookery.core import errors, names, times
from rookery.core import feed as words
from rookery.runtime import git, places, process
from rookery.service.verbs import VERBS

from . import parser as parsing
from .call import Desk, Reply
from .router import answer, call_verb, document, read_arguments

# -- mesh --------------------------------------------------------------------------------------------------------


def join(desk: Desk, argv: list[str]) -> Reply:
    """Binds the agent program or shell above this process, so that later commands know who they are."""
    verb = VERBS["join"]
    parser = parsing.for_verb("join", verb, desk.call.width)
    parser.add_argument("--auto", action="store_true", help="only where mesh.auto_join says so; silent otherwise")
    read = read_arguments(desk, parser, argv)
    if isinstance(read, Reply):
        return read
    if read.pop("auto") and not auto_join_wanted(desk):
        return Reply()
    read["name"] = read["name"] or desk.options.agent or desk.call.environ.get("ROOK_AGENT")
    bound = process.binding(desk.chain)
    args = parsing.arguments(verb, read, desk.call, desk.house.clock.wall_ms())
    args |= {"branch": git.branch(desk.call.cwd) or "", "resume": True}
    args.setdefault("program", next((name for identity, name, _ in desk.chain if identity == bound), ""))
    caller = desk.house.caller(None, process=tuple(bound) if bound else None)
    return answer(desk, "join", desk.house.client.call("join", args, caller))


def auto_join_wanted(desk: Desk) -> bool:
    """Switched on for every folder, or for folders like this one."""
    from fnmatch import fnmatchcase

    settings, here = desk.house.settings, os.path.abspath(desk.call.cwd)
    home = desk.call.environ.get("HOME", "~")
    patterns = [os.path.join(home, p[2:]) if p.startswith("~/") else p for p in settings["mesh.auto_join_paths"]]
    return settings["mesh.auto_join"] or any(
        fnmatchcase(here, pattern.rstrip("/")) or fnmatchcase(here, f"{pattern.rstrip('/')}/*") for pattern in patterns
    )


def escalate(desk: Desk, argv: list[str]) -> Reply:
    verb = VERBS["escalations" if "--list" in argv else "escalate"]
    parser = parsing.for_verb("escalate", verb, desk.call.width)
    parser.add_argument("--list", action="store_true", help="show escalations instead")
    read = read_arguments(desk, parser, argv)
    return read if isinstance(read, Reply) else answer(desk, verb.name, call_verb(desk, verb, read))


# -- waiting and following ---------------------------------------------------------------------------------------


def wait(desk: Desk, argv: list[str]) -> Reply:
    parser = parsing.Parser("wait", "Block until mail comes, then show it", desk.call.width)
    parser.add_argument("--timeout", metavar="S", help="give up after so long: seconds, or 5m (exit 1)")
    parser.add_argument("-p", "--priority", metavar="P", default="low", help="only for this priority or higher")
    parser.add_argument("--from", dest="sender", metavar="NAME", default="", help="only for mail from this agent")
    read = read_arguments(desk, parser, argv)
    if isinstance(read, Reply):
        return read
    limit = None if read["timeout"] is None else times.parse_span(read["timeout"]) / 1000
    filters = {"priority": read["priority"], "sender": read["sender"]}
    caller, house = desk.caller(), desk.house
    me = house.client.call("inbox", {"limit": 1}, caller)["agent"]
    found = waiting.mail(house.client, caller, me, filters, timeout_s=limit, poll_s=house.settings["poll.s"])
    if found is None:
        raise errors.Refused(f"No mail for {me} came in time.", "`rook inbox --open` shows older mail.", code="TIMEOUT")
    return answer(desk, "inbox", found)


def feed(desk: Desk, argv: list[str]) -> Reply:
    verb = VERBS["feed"]
    parser = parsing.for_verb("feed", verb, desk.call.width)
    parser.add_argument("-f", "--follow", action="store_true", help="go on as things happen")
    read = read_arguments(desk, parser, argv)
    if isinstance(read, Reply):
        return read
    follow = read.pop("follow")
    shown = call_verb(desk, verb, read)
    if not follow:
        return answer(desk, "feed", shown)
    wanted = set(read["types"] or words.shown(crew_events=desk.house.settings["feed.crew_events"]))
    agent = names.key(read["agent"] or "")
    news = (
        event
        for event in waiting.follow(
            desk.house.client, desk.caller(), shown["cursor"], poll_s=desk.house.settings["poll.s"]
        )
        if event["type"] in wanted and (not agent or agent in (names.key(event["actor"]), names.key(event["target"])))
    )
    return _stream(desk, shown["events"], news)


def events(desk: Desk, argv: list[str]) -> Reply:
    verb = VERBS["events"]
    parser = parsing.for_verb("events", verb, desk.call.width)
    parser.add_argument("-f", "--follow", action="store_true", help="go on as things happen")
    read = read_arguments(desk, parser, argv)
    if isinstance(read, Reply):
        return read
    follow = read.pop("follow")
    page = call_verb(desk, verb, read)
    if not follow:
        return answer(desk, "events", page)
    client, poll_s = desk.house.client, desk.house.settings["poll.s"]
    return _stream(desk, page["events"], waiting.follow(client, desk.caller(), page["cursor"], poll_s=poll_s))


def _stream(desk: Desk, first: list[dict[str, Any]], news: Iterator[dict[str, Any]]) -> Reply:
    """JSON lines for programs, a line each for people, until interrupted."""
    from . import show

    for group in ([first], ([event] for event in news)):
        for some in group:
            for event in some:
                line = (
                    document(event)
                    if desk.options.json
                    else show.event_line(event, desk.call.width, terminal=desk.call.terminal)
                )
                desk.call.emit(line)
    return Reply()


# -- the home ----------------------------------------------------------------------------------------------------


def show_config(desk: Desk, argv: list[str]) -> Reply:
    parser = parsing.Parser("config", "Every setting, its value and where it came from", desk.call.width)
    parser.add_argument("name", nargs="?", help="only this setting, or those under it")
    read = read_arguments(desk, parser, argv)
    if isinstance(read, Reply):
        return read
    from rookery.config import SETTINGS

    settings, asked = desk.house.settings, read["name"] or ""
    chosen = [s for s in SETTINGS if not asked or s.name == asked or s.name.startswith(f"{asked}.")]
    if not chosen:
        raise errors.UnknownName(f"No setting {asked!r}.", names.did_you_mean(asked, [s.name for s in SETTINGS]))
    where = desk.house.places
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
    }
    return answer(desk, "config", found)


def doctor(desk: Desk, argv: list[str]) -> Reply:
    parser = parsing.Parser("doctor", "Check this machine, the home and the store", desk.call.width)
    read = read_arguments(desk, parser, argv)
    if isinstance(read, Reply):
        return read
    checks: list[dict[str, Any]] = []
    for look in (_check_config, _check_home, _check_store, _check_bell, _check_identity):
        try:
            checks += [{"check": what, "ok": well, "seen": seen} for what, well, seen in look(desk)]
        except errors.RookError as error:
            checks.append(
                {"check": look.__name__.removeprefix("_check_"), "ok": False, "seen": error.message, "do": error.hint}
            )
    well = all(check["ok"] for check in checks)
    return answer(desk, "doctor", {"ok": well, "checks": checks}, code=0 if well else 1)


def _check_config(desk: Desk) -> list[tuple[str, bool, str]]:
    where = desk.house.places
    changed = sum(1 for name in desk.house.settings if desk.house.settings.source(name) != "default")
    return [
        ("config", True, f"{changed} settings differ from the defaults"),
        ("team", True, f"{where.team} (from {where.team_source})"),
    ]


def _check_home(desk: Desk) -> list[tuple[str, bool, str]]:
    home = desk.house.places.home
    places.prepare_home(home)
    room = os.statvfs(home)
    free = room.f_bavail * room.f_frsize
    return [("home", True, f"{home}, private"), ("disk", free > 100 << 20, f"{free >> 20:,} MiB free")]


def _check_store(desk: Desk) -> list[tuple[str, bool, str]]:
    store = desk.house.store
    found = store.checks()
    store.write(desk.house.team, lambda tx: tx.now)
    return [("store", True, f"{store.location} takes writes"), *found]


def _check_bell(desk: Desk) -> list[tuple[str, bool, str]]:
    bell, team = desk.house.bell, desk.house.team
    with bell.listen(team, "doctor") as listener:
        heard = bell.ring(team, ["doctor"]).get("doctor", 0) and listener.wait(1.0)
    return [("bell", bool(heard), "rings" if heard else "does not ring: waits fall back to a look every second")]


def _check_identity(desk: Desk) -> list[tuple[str, bool, str]]:
    return [("you are", True, desk.verb("pending", {})["agent"])]


def backup(desk: Desk, argv: list[str]) -> Reply:
    parser = parsing.Parser("backup", "Copy the store while others go on writing", desk.call.width)
    parser.add_argument("path", nargs="?", metavar="FILE", help="where to; default: backups/ in the home")
    read = read_arguments(desk, parser, argv)
    if isinstance(read, Reply):
        return read
    folder = os.path.join(desk.house.places.home, "backups")
    stamp = times.iso(desk.house.clock.wall_ms()).replace(":", "").replace(".", "")
    path = os.path.join(desk.call.cwd, read["path"]) if read["path"] else os.path.join(folder, f"rookery-{stamp}.db")
    store = desk.house.store
    if os.path.lexists(path):
        raise errors.Refused(f"{path} exists already.", "Give another name; nothing is overwritten.", code="EXISTS")
    if not read["path"]:
        os.makedirs(folder, 0o700, exist_ok=True)
    places.create_private(path)
    store.backup(path)
    return answer(desk, "backup", {"path": path, "bytes": os.stat(path).st_size})


def export_tree(desk: Desk, argv: list[str]) -> Reply:
    from rookery.bridge import mailboxes

    return _tree(desk, argv, "export", "Write the mail as a tree of files", mailboxes.export)


def import_tree(desk: Desk, argv: list[str]) -> Reply:
    from rookery.bridge import mailboxes

    return _tree(desk, argv, "import", "Read a tree of mail files", mailboxes.load)


def _tree(desk: Desk, argv: list[str], name: str, help: str, act: Any) -> Reply:
    parser = parsing.Parser(name, help, desk.call.width)
    parser.add_argument("what", choices=["mailboxes"], help="mailboxes: a folder per agent, a JSON file per message")
    parser.add_argument("folder", metavar="DIR", help="the folder")
    read = read_arguments(desk, parser, argv)
    if isinstance(read, Reply):
        return read
    folder = os.path.join(desk.call.cwd, read["folder"])
    done = act(desk.house.client, desk.house.caller(names.PERSON), folder)
    return answer(desk, name, done | {"folder": folder})
