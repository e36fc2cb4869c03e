"""Whose command a process is: what can be seen of a caller, and which process above it a session is bound to."""

import os

from rookery.core import agent_programs
from rookery.core.caller import Origin
from rookery.core.record import NamedTuple

from . import agent_mark, process
from .process import Ancestor, Process

SHELLS = frozenset(("sh", "bash", "dash", "ash", "zsh", "fish", "ksh", "mksh"))
# Options that take the next word.
_SHELL_LONG_VALUES = ("--rcfile", "--init-file", "--init-command", "--features", "--debug")
_PYTHON_VALUES = "WX"
# Programs below which everything of the user runs: none is ever an agent program.
SERVERS = frozenset((
    "atd", "containerd-shim", "cron", "crond", "init", "launchd", "login", "runit", "screen", "sshd", "supervisord",
    "systemd", "tini", "tmux", "tmux: server", "dumb-init",
))  # fmt: skip
# Programs that run the command they are given and end with it.
WRAPPERS = frozenset((
    "busybox", "bwrap", "chrt", "doas", "env", "firejail", "flock", "ionice", "ltrace", "nice", "nohup", "npm", "npx",
    "nsenter", "parallel", "runuser", "script", "setpriv", "setsid", "stdbuf", "strace", "su", "sudo", "taskset",
    "time", "timeout", "uv", "uvx", "unshare", "watch", "xargs",
))  # fmt: skip


# --- who calls --------------------------------------------------------------------------------------------------------

RUN_MARKER = "ROOK_RUN"  # every process of a worker's run carries its id in its environment


class Sight(NamedTuple):
    """What this machine saw of a calling process at one time."""

    chain: list[Ancestor]
    origin: Origin


def origin(pid: int, chain: list[Ancestor], *, itself: bool = False) -> Origin:
    """What this machine sees of a calling process. `itself`: it may be an agent program too, as those above it may."""
    above = [identity for identity, _, _ in chain]
    me = process.identify(pid) if itself else None
    markers = (
        process.variables(each, (RUN_MARKER,)).get(RUN_MARKER, "") for each in (pid, *(each.pid for each in above))
    )
    return Origin(
        pid=pid,
        chain=tuple((each.pid, each.started) for each in ([me, *above] if me else above)),
        runs=tuple(dict.fromkeys(filter(None, markers))),
        terminal=process.has_terminal(pid),
        typed_at=not itself and _is_typed_at(chain),
        program=not itself and (bool(_program_above(chain)) or _runs_commands(chain)),
        whole=process.is_whole(pid, chain),
        marked=agent_mark.is_marked(pid),
        below=_program_above(chain) or (agent_programs.recognize("", process.command(pid)) if itself else ""),
    )


def mark_program(chain: list[Ancestor]) -> None:
    """Mark the nearest agent program that is known by name, and what stands between it and the caller.

    A program without hooks is met here for the first time; what it leaves in the background later is still its own."""
    for place, (_, name, argv) in enumerate(chain):
        if agent_programs.recognize(name, argv):
            for identity, _, _ in chain[: place + 1]:
                if process.identify(identity.pid) == identity:
                    agent_mark.mark(identity.pid)
            return


def _runs_commands(chain: list[Ancestor]) -> bool:
    """Does the process that a join binds run its commands through `sh -c`, as agent programs do?

    Not if that process is a shell at which somebody types. And a shell that leads the session of a terminal was started
    by a terminal program, tmux say, and not by an agent.
    """
    bound = binding(chain)
    if _is_typed_at(chain):
        return False
    shells: list[Process] = []
    for identity, name, argv in chain:
        if identity == bound:
            return bool(shells) and not any(_leads_terminal(each.pid) for each in shells)
        if runs_one_command(name, argv):
            shells.append(identity)
    return False


def _is_typed_at(chain: list[Ancestor]) -> bool:
    """Is the process that a join binds a shell that was given neither a command nor a script?"""
    bound = binding(chain)
    found = next(((name, argv) for each, name, argv in chain if each == bound), None)
    return found is not None and _is_shell(*found) and not _runs_script(found[1]) and not runs_one_command(*found)


def _runs_script(argv: list[str]) -> bool:
    """Was this shell given a file to run?"""
    words = iter(argv[1:])
    for word in words:
        if word[:1] not in ("-", "+") or word in ("-", "--"):
            return word not in ("-", "--") or next(words, None) is not None
        if word in _SHELL_LONG_VALUES or (not word.startswith("--") and word[-1] in "oO"):
            next(words, None)
    return False


def _leads_terminal(pid: int) -> bool:
    try:
        return process.has_terminal(pid) and os.getsid(pid) == pid
    except OSError:
        return False


# --- what a session is bound to ---------------------------------------------------------------------------------------


def binding(chain: list[Ancestor]) -> Process | None:
    """The process that `rook join` binds: the nearest ancestor that stays when this command is over.

    That is the nearest agent program, if Rookery knows it by name: everything below it was started by it. Otherwise it
    passes over rook itself (an interpreter or a wrapper around it), a shell that was given its command with `-c`, and
    programs such as `timeout`: they end with the command, and a session bound to one would be dead on arrival. A shell
    at a terminal or with a script stays, and is bound.
    """
    known = next((each for each, name, argv in chain if agent_programs.recognize(name, argv)), None)
    if known is not None:
        return known
    for identity, name, argv in chain:
        if _program(name, argv) in SERVERS or name in SERVERS:
            break
        if not (is_rook(name, argv) or _program(name, argv) in WRAPPERS or runs_one_command(name, argv)):
            return identity
    # Better a process that will end soon than none: `sh -c 'rook join x; rook send ...'` from init.
    return next((identity for identity, name, argv in chain if not is_rook(name, argv)), None)


def program_name(chain: list[Ancestor], wanted: Process | None) -> str:
    """What a process of the chain is called, an agent program by the name that Rookery knows it by."""
    found = next(((name, argv) for each, name, argv in chain if each == wanted), ("", []))
    return agent_programs.recognize(*found) or found[0]


def _program_above(chain: list[Ancestor]) -> str:
    """The nearest agent program that is known by name."""
    return next((found for _, name, argv in chain if (found := agent_programs.recognize(name, argv))), "")


def _is_shell(name: str, argv: list[str]) -> bool:
    return _program(name, argv) in SHELLS


def is_rook(name: str, argv: list[str]) -> bool:
    program = _program(name, argv)
    if program == "rook":
        return True
    if not program.startswith(("python", "pypy")):
        return False
    script, module = _python_runs(argv[1:])
    return os.path.basename(script) == "rook" or module.partition(".")[0] == "rookery"


def runs_one_command(name: str, argv: list[str]) -> bool:
    """Whether this is a shell with a `-c` option, alone or among others: `bash -lc`, `sh -e -c`, `fish --command`."""
    if not _is_shell(name, argv):
        return False
    words = iter(argv[1:])
    for word in words:
        if word in ("-", "--") or word[:1] not in ("-", "+"):
            return False  # the options are over, and what follows is a script
        if word.startswith("--"):
            if word == "--command" or word.startswith("--command="):
                return True
            if word in _SHELL_LONG_VALUES:
                next(words, None)
        elif word[0] == "-" and "c" in word:
            return True
        elif word[-1] in "oO":
            next(words, None)  # -o and -O take a word: bash -eo pipefail -c
    return False


def _program(name: str, argv: list[str]) -> str:
    """`bash` for `/usr/bin/bash`, and for `-bash`, as a login shell is called."""
    return os.path.basename(argv[0]).removeprefix("-") if argv and argv[0] else name


def _python_runs(words: list[str]) -> tuple[str, str]:
    """The script and the module that a Python interpreter was started with; empty if it was not."""
    rest = iter(words)
    for word in rest:
        if not word.startswith("-") or word == "-":
            return word, ""
        if word.startswith("--"):
            continue
        for place, letter in enumerate(word[1:], 2):
            if letter == "c":
                return "", ""
            if letter == "m":
                return "", word[place:] or next(rest, "")
            if letter in _PYTHON_VALUES:
                if not word[place:]:
                    next(rest, None)
                break
    return "", ""
