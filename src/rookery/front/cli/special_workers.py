"""`rook spawn`, `rook workers`, `rook peek` and `rook attach`: workers, and what their terminals show."""

import sys
from typing import Any

from rookery.core import errors, workers
from rookery.core.text import plain
from rookery.runtime import children, ptys, starting, tmux

from .call import Desk, Reply
from .router import answer, call_verb, document
from .special_health import shown

LINES, MOST = 40, 2_000
IN_TMUX = "TMUX"


def spawn(desk: Desk, read: dict[str, Any]) -> Reply:
    """Written down, and begun by a daemon: where none runs, one is started."""
    made = call_verb(desk, "spawn", read)
    told = started_daemon(desk)
    reply = answer(desk, "spawn", made)
    return reply if desk.options.json else reply._replace(out=told + reply.out)


def started_daemon(desk: Desk) -> str:
    from . import daemon

    if desk.house.remote is not None or daemon.is_up(desk):
        return ""
    if not desk.house.settings["worker.start_daemon"]:
        return "No daemon runs: it waits until `rook up`.\n"

    free = {"detach": True, "port": None, "workspace_root": None, "token": None, "token_file": None}
    plainly = Desk(desk.call, desk.options._replace(json=False, team=None))
    try:
        return daemon.up(plainly, free).out
    except errors.Refused as error:
        if error.code == "ALREADY_RUNNING":  # another command was faster
            return ""
        if error.code != "PORT_TAKEN":
            raise
        return daemon.up(plainly, {**free, "port": "0"}).out


def listed(desk: Desk, read: dict[str, Any]) -> Reply:
    watch = read.pop("watch")
    return shown(desk, "workers", lambda: (call_verb(desk, "workers", read), 0), watch=watch)


# -- its terminal ----------------------------------------------------------------------------------------------------


def peek(desk: Desk, read: dict[str, Any]) -> Reply:
    """The last lines of what it shows, or showed. Nothing is typed, and nothing is attached."""
    card = _here(desk, read["id"])
    lines = _last_lines(desk, card, _count(read["lines"]))
    if desk.options.json:
        return Reply(document({"id": card["id"], "state": card["state"], "lines": lines}))
    return Reply("".join(f"{line}\n" for line in lines) or f"{card['id']} has shown nothing yet.\n")


def _here(desk: Desk, id: str) -> dict[str, Any]:
    card = desk.verb("worker.show", {"id": id})
    if desk.house.remote is not None or card["machine"] != desk.house.host:
        raise errors.Refused(
            f"{card['id']} runs on {card['machine']}.", "Look at it there.", code="ELSEWHERE"
        )  # its terminal is of that machine
    return card


def _count(written: str | None) -> int:
    if written is None:
        return LINES
    if not (written.isascii() and written.isdigit() and 0 < int(written) <= MOST):
        raise errors.BadInput(f"-n {plain(written)[:20]!r} is no number of lines.", f"1 to {MOST}.", code="USAGE")
    return int(written)


def _last_lines(desk: Desk, card: dict[str, Any], count: int) -> list[str]:
    terminal = card["terminal"] or {}
    if card["state"] in workers.ACTIVE and terminal:
        if terminal["kind"] == ptys.KIND:
            return ptys.Held(terminal).last_lines(count)
        return tmux.Pane(terminal).last_lines(count) if tmux.is_there(terminal) else []
    where = starting.place(desk.house.places.home, desk.house.team, card["id"], card["run_count"])
    return starting.harvested(where)[-count:] or starting.output(where, count)


def attach(desk: Desk, read: dict[str, Any]) -> Reply:
    """Its terminal in this one. Rookery's tmux is a server of its own: from inside another it is shown within it."""
    desk.house.client.call("worker.attach", {}, desk.as_user())  # what is typed there counts as the user's
    card = _here(desk, read["id"])
    terminal = card["terminal"] or {}
    if card["state"] not in workers.ACTIVE or not terminal:
        raise errors.Refused(
            f"{card['id']} is {card['state']}, and has no terminal." if not terminal else f"{card['id']} is over.",
            f"`rook peek {card['id']}` shows what it said.", code="NO_TERMINAL",
        )  # fmt: skip
    if terminal["kind"] == ptys.KIND:
        return Reply(f"{ptys.attach(terminal, sys.stdin, sys.stdout)}\n")
    if not tmux.is_there(terminal):
        raise errors.UnknownName("There is no such terminal any more.", code="NO_TERMINAL")
    command = [tmux.PROGRAM, "-u", "-S", terminal["socket"], "attach-session", "-t", terminal["pane"]]
    if desk.options.json or not desk.call.terminal:
        import shlex

        words = shlex.join(["env", "-u", IN_TMUX, *command])
        return Reply(document({"id": card["id"], "command": command}) if desk.options.json else f"{words}\n")
    environ = {name: value for name, value in desk.call.environ.items() if name != IN_TMUX}
    return Reply(code=children.Foreground(command, environ=environ, cwd=desk.call.cwd).finished())
