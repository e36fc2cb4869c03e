"""What comes in and what goes out of a command."""

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from rookery import app
from rookery.core import names
from rookery.core.caller import Caller, Origin
from rookery.core.record import NamedTuple
from rookery.runtime import lineage, process


class Call(NamedTuple):
    argv: list[str]
    cwd: str
    environ: Mapping[str, str]
    read_stdin: Callable[[], str]  # before anything is done: where it has to be waited for, the command starts over
    emit: Callable[[str], None]  # for commands that follow: text that is shown at once
    width: int = 80
    terminal: bool = False  # a person looks: colours, tables with lines
    peer: int = 0  # the process that asks; its ancestors tell who it is
    open_house: Callable[..., app.House] = app.open_house
    ask: Callable[[str], str] | None = None  # a person who can be asked: the question, and the line they type
    sight: lineage.Sight | None = None  # what was seen of the peer, where it may end before the command does


class Options(NamedTuple):
    """What every command takes."""

    team: str | None = None
    agent: str | None = None
    json: bool = False


class Extra(NamedTuple):
    """An argument that no verb has: what a command does besides its call."""

    names: tuple[str, ...]  # flags, or one positional name
    help: str
    metavar: str = ""  # a flag without one takes no value
    choices: tuple[str, ...] = ()
    may_lack: bool = False
    rest: bool = False  # everything after `--`
    repeats: bool = False  # a flag that may be given several times


class Later(NamedTuple):
    """A verb to be called once the reply was written: what happened is recorded after it did."""

    verb: str
    args: Mapping[str, Any]
    cwd: str
    options: Options


class Reply(NamedTuple):
    out: str = ""
    err: str = ""
    code: int = 0
    later: Later | None = None


def terminal_of(environ: Mapping[str, str], peer: int) -> dict[str, str] | None:
    """The terminal that a command's program is shown in, where that is a pane of tmux or one that Rookery holds.

    Variables are inherited, by what runs in another terminal by now too: the process that asks must live in the second.
    """
    if "ROOK_TERMINAL" in environ:
        from rookery.runtime import ptys

        if (held := ptys.address_of(environ)) and ptys.lives_in(held, peer):
            return held
    if "TMUX_PANE" not in environ:
        return None
    from rookery.runtime import tmux  # few commands need it

    return tmux.address_of(environ)


class Desk:
    """One command's place to work: the call, the shared options, and the house they lead to."""

    def __init__(self, call: Call, options: Options) -> None:
        self.call = call
        self.options = options

    @cached_property
    def house(self) -> app.House:
        return self.call.open_house(cwd=self.call.cwd, environ=self.call.environ, team=self.options.team)

    @cached_property
    def chain(self) -> list[process.Ancestor]:
        if not self.call.peer:
            return []
        return self.call.sight.chain if self.call.sight else process.ancestors(self.call.peer)

    @cached_property
    def origin(self) -> Origin | None:
        """The process that asks, as this machine sees it."""
        if not self.call.peer:
            return None
        lineage.mark_program(self.chain)
        return self.call.sight.origin if self.call.sight else lineage.origin(self.call.peer, self.chain)

    def caller(self, **more: Any) -> Caller:
        """Who calls: by name, else by the processes above this one."""
        name = self.options.agent or self.call.environ.get("ROOK_AGENT") or None
        lineage = tuple((each[0].pid, each[0].started) for each in self.chain)
        return self.house.caller(name, lineage=lineage, origin=self.origin, **more)

    def as_user(self) -> Caller:
        """For commands that are the user's whoever was joined from their shell."""
        return self.house.caller(names.PERSON, origin=self.origin)

    def joining(self, **more: Any) -> Caller:
        """Who joins: the process that stays when this command is over."""
        bound = lineage.binding(self.chain)
        return self.house.caller(None, process=tuple(bound) if bound else None, origin=self.origin, **more)

    @property
    def joins_by_itself(self) -> bool:
        """Whether a session that starts here joins: that of a worker, which has its name; or all of them, or those of
        folders like this one."""
        from fnmatch import fnmatchcase

        if self.call.environ.get("ROOK_WORKER"):
            return True

        settings, here, home = self.house.settings, os.path.abspath(self.call.cwd), self.call.environ.get("HOME", "~")
        wanted = [os.path.join(home, p[2:]) if p.startswith("~/") else p for p in settings["mesh.auto_join_paths"]]
        return settings["mesh.auto_join"] or any(
            fnmatchcase(here, each.rstrip("/")) or fnmatchcase(here, f"{each.rstrip('/')}/*") for each in wanted
        )

    def verb(self, name: str, args: Mapping[str, Any], **more: Any) -> Any:
        return self.house.client.call(name, args, self.caller(**more))

    def close(self) -> None:
        if "house" in self.__dict__:
            self.house.close()
