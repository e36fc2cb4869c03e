"""`rook up`, `rook down` and `rook logs`: the resident process."""

import os
from collections.abc import Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

from rookery import app
from rookery.core import errors, names
from rookery.core.text import plain
from rookery.runtime import agent_mark, children, files, instance, places

from .call import Desk, Reply
from .router import document, refused

START_S = 30.0
LINES = 100
STDIN = "-"
TEAMD_LOCK = ".teamd.lock"
# Of a folder of its own, which serves pi-team's clients: only what a lease covers may be written, and a task is failed
# or free again however often it was tried.
BY_CONTRACT: Mapping[str, Any] = {"guard.strict": True, "tasks.attempts": 1_000}
TOKEN_LIMIT = 4_000
ELSEWHERE = ("ROOK_URL", "ROOK_TOKEN", "ROOK_TOKEN_FILE")  # a daemon keeps its own ledger
# Of a worker that starts a daemon: what carries its run ends with it.
A_WORKERS = (
    "ROOK_TOKEN", "ROOK_AGENT", "ROOK_WORKER", "ROOK_RUN", "ROOK_TASK", "ROOK_BRIEF", "ROOK_TREE", "ROOK_BRANCH",
    "ROOK_TOKEN_FILE",
)  # fmt: skip


def up(desk: Desk, read: dict[str, Any]) -> Reply:
    if not read["detach"]:
        instance.begin_as_user()
    house, scope = _scope(desk, read["workspace_root"])
    if read["detach"]:
        return _detach(desk, read, scope)
    import secrets

    from rookery.front.http import serve

    house.check_team()
    agent_mark.mark()  # whatever a daemon starts is an agent's or runs an agent's code, and is not the user
    port = house.settings["daemon.port"] if read["port"] is None else _port(read["port"])
    try:
        serve.run(
            house, scope, port=port, token=_token(desk, read) or secrets.token_urlsafe(32),
            only_team=bool(desk.options.team or read["workspace_root"]),
            told=lambda where: desk.call.emit(_announced(desk, where)),
        )  # fmt: skip
    except errors.Refused as error:
        if error.code != instance.ALREADY_RUNNING:
            raise
        return refused(error, wants_json=False)  # programs take the one line on stdout for a daemon that has started
    return Reply()


def _token(desk: Desk, read: dict[str, Any]) -> str:
    """The token that the daemon is to have; "" if a new one. A file keeps it out of the list of processes."""
    path = read["token_file"]
    if path is None:
        return read["token"] or ""
    if read["token"]:
        raise errors.BadInput("--token and --token-file both name a token.", "Give one of them.", code="USAGE")
    if path == STDIN:
        told = desk.call.read_stdin()
    else:
        told = files.read_limited(os.path.join(desk.call.cwd, path), TOKEN_LIMIT).decode("utf-8", "replace")
    if not (token := told.strip()) or len(token) > TOKEN_LIMIT or not token.isprintable():
        raise errors.BadInput(f"{path} holds no token.", "One line with the token alone.", code="USAGE")
    return token


def down(desk: Desk, read: dict[str, Any]) -> Reply:
    house, scope = _scope(desk, read["workspace_root"])
    _require_user(desk, house)
    if read["keep_workers"]:
        pid = instance.stop(scope)
    else:
        patience_s = house.settings["worker.grace_s"] + house.settings["worker.term_s"] + instance.STOP_S
        pid = instance.stop(scope, instance.WITH_WORKERS, patience_s)
    end = instance.read_end(scope, pid)
    if desk.options.json:
        return Reply(document({"stopped": True, "pid": pid, **end}))
    return Reply(f"Stopped (pid {pid}).\n" + "".join(f"{plain(line)}\n" for line in _left(end)))


def _left(end: Mapping[str, Any]) -> list[str]:
    """What a person should know of a daemon that has ended."""
    workers = [f"{each['id']} of {each['team']}" for each in end.get("workers", ())]
    lines = [f"Still running: {', '.join(workers)}. The next `rook up` ends them."] if workers else []
    lines += [f"Ended: {each}" for each in end.get("ended", ())]
    return lines + [f"Did not end in time: {each}" for each in end.get("left", ())]


def _require_user(desk: Desk, house: app.House) -> None:
    """Refuse inside an agent tree, and record it. A store that can not be asked keeps nobody from ending a daemon."""
    with suppress(errors.Unreachable):
        house.client.call("daemon.stop", {}, house.caller(names.PERSON, origin=desk.origin))


def ensure(desk: Desk) -> None:
    """Workers need someone who supervises: where nobody does, a daemon is started, and that is said."""
    if desk.house.remote is not None or not desk.house.settings["worker.start_daemon"]:
        return
    if is_up(desk):
        return
    _, whole = _scope(desk, None)
    reply = _detach(desk, {"port": "0", "workspace_root": None, "token": None, "token_file": None}, whole)
    if not desk.options.json:
        desk.call.emit(reply.out)


def is_up(desk: Desk) -> bool:
    """Whether a daemon of this home runs, for all of it or for the team."""
    return any(instance.holder(s)[0] for s in instance.scopes(desk.house.places.home, desk.house.team).values())


def _scope(desk: Desk, workspace: str | None) -> tuple[app.House, instance.Scope]:
    """A home, one team of it, or a folder of its own."""
    environ = {name: value for name, value in desk.call.environ.items() if name not in ELSEWHERE}
    team = desk.options.team
    if workspace is None:
        house = app.open_house(cwd=desk.call.cwd, environ=environ, team=team)
        mark = f"-{team}" if team else ""
        run = os.path.join(house.places.home, "run")
        places.prepare_home(house.places.home)
        log = os.path.join(house.places.home, "logs", f"daemon{mark}.log")
        return house, instance.Scope(
            os.path.join(run, f"daemon{mark}.lock"), os.path.join(run, f"runtime{mark}.json"), log
        )
    team = names.check_team(team) if team else desk.house.team
    home = os.path.join(desk.call.cwd, workspace, team)
    os.makedirs(os.path.dirname(home), 0o700, exist_ok=True)
    environ = {name: value for name, value in environ.items() if name != "ROOK_STORE"} | {"ROOK_HOME": home}
    house = app.open_house(cwd=desk.call.cwd, environ=environ, team=team, flags=BY_CONTRACT)
    source = "flag" if desk.options.team else desk.house.places.team_source  # a file's team is still only the file's
    # Artifacts where seed 002 has them: the home is one team's.
    house.places = house.places._replace(artifacts=("artifacts",), team_source=source)
    places.prepare_home(home)
    log = os.path.join(home, "logs", "daemon.log")
    lock, runtime = os.path.join(home, "run", "daemon.lock"), os.path.join(home, "runtime.json")
    return house, instance.Scope(lock, runtime, log, os.path.join(home, TEAMD_LOCK))


def logs_shown(desk: Desk, read: dict[str, Any]) -> Reply:
    """The end of the daemon's log; with -f what is added too, until interrupted."""
    from rookery.runtime import logs

    _, scope = _scope(desk, read["workspace_root"])
    count = _whole(read["lines"] or str(LINES))
    lines, end = logs.tail(scope.log, count)
    if desk.options.json and not read["follow"]:
        return Reply(document({"log": scope.log, "lines": lines}))
    if not read["follow"]:
        return Reply("".join(f"{plain(line)}\n" for line in lines))
    for line in chain(lines, logs.follow(scope.log, end)):
        desk.call.emit(document({"line": line}) if desk.options.json else f"{plain(line)}\n")
    return Reply()


def _whole(written: str) -> int:
    if not (written.isascii() and written.isdigit() and len(written) <= 7):
        raise errors.BadInput(f"-n {written!r} is no number of lines.", "For example -n 50.", code="USAGE")
    return int(written)


def _port(written: str) -> int:
    if not (written.isascii() and written.isdigit() and int(written) <= 65_535):
        raise errors.BadInput(f"--port {written!r} is no port.", "0 to 65535; 0 takes any free one.", code="USAGE")
    return int(written)


def _announced(desk: Desk, where: dict[str, Any]) -> str:
    if desk.options.json:
        return document(where)
    team = desk.options.team
    served = f"team {team}" if team else f"every team of this home; here {where['teamId']}"
    down = f"rook down --team {team}" if team else "rook down"
    moved = f"Port {where['busyPort']} is in use by another process.\n" if "busyPort" in where else ""
    return f"{moved}Up at {where['url']} for {served} (pid {where['pid']}). `{down}` stops it.\n"


def _detach(desk: Desk, read: dict[str, Any], scope: instance.Scope) -> Reply:
    """The same command in a process of its own, which says where it is before this one ends."""
    import json

    flags = [f"--{name.replace('_', '-')}={read[name]}" for name in ("port", "workspace_root") if read[name]]
    token = _token(desk, read)
    flags += [f"--token-file={STDIN}"] if token else []
    team = [f"--team={desk.options.team}"] if desk.options.team else []
    log = scope.log.removesuffix(".log") + ".err"  # what it says before or instead of its log
    environ = {name: value for name, value in desk.call.environ.items() if name not in A_WORKERS}
    try:
        said = children.detached(
            "rookery", "up", "--json", *team, *flags, environ=environ, cwd=desk.call.cwd, log=log, wait_s=START_S,
            given=token,
        )  # fmt: skip
    except errors.Refused as error:
        raise instance.already_running(scope) if instance.holder(scope)[0] else error from None
    told = json.loads(said)
    if "error" in told:
        raise errors.Refused(told["error"]["message"], told["error"].get("hint", ""), code=told["error"]["code"])
    return Reply(_announced(desk, told))
