"""What git may run when Rookery runs it: nothing that a repository or a tree brings along (ADR 0050).

    environment    built from a short list; no GIT_ variable of the caller is passed on
    always off     hooks, fsmonitor, pagers, editors, prompts, signatures, maintenance, recursion into submodules,
                   replaced objects and grafts, the commit-graph
    by name        filters, merge drivers, credential helpers, ssh commands, LFS agents and others: the value of the
                   user's own (global or system) configuration counts, or none. What only the repository's own
                   configuration says does not run

Attributes (`.gitattributes`) count: they name filters and drivers, and a name without a command does nothing. Nothing
is fetched but missing objects of a partial clone, by https or ssh.
"""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rookery.core.errors import Refused
from rookery.core.record import NamedTuple
from rookery.core.text import plain

from . import git

if TYPE_CHECKING:
    import subprocess

LIMIT_S = 60.0
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "XDG_CONFIG_HOME")
SURROUNDINGS = {
    "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "GIT_SEQUENCE_EDITOR": "true", "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "https:ssh", "LC_ALL": "C.UTF-8",
    "GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": os.devnull,  # a commit is what its id says, and has its parents
}  # fmt: skip
# The first five run programs; the others would move branches of the user or ask for a key.
ALWAYS = {
    "core.hooksPath": "/dev/null", "core.fsmonitor": "false", "core.askPass": "", "core.pager": "cat",
    "log.showSignature": "false", "commit.gpgSign": "false", "tag.gpgSign": "false", "merge.verifySignatures": "false",
    "gc.auto": "0", "maintenance.auto": "false", "submodule.recurse": "false", "diff.ignoreSubmodules": "dirty",
    "rebase.updateRefs": "false", "rebase.autoStash": "false", "rebase.autoSquash": "false",
    "core.commitGraph": "false",  # a file beside the objects that can say otherwise than they do
}  # fmt: skip
PLAIN_MERGE = "git merge-file -q --marker-size=%L %A %O %B"  # what git does where no driver is named
# (section, last name) of what runs a program, and the value that runs none. A subsection may stand between the two.
RUNS: Mapping[tuple[str, str], str] = {
    ("filter", "clean"): "", ("filter", "smudge"): "", ("filter", "process"): "", ("filter", "required"): "false",
    ("merge", "driver"): PLAIN_MERGE, ("diff", "external"): "", ("diff", "command"): "", ("diff", "textconv"): "",
    ("core", "sshcommand"): "ssh", ("core", "gitproxy"): "", ("core", "alternaterefscommand"): "",
    ("credential", "helper"): "", ("gpg", "program"): "false", ("gpg", "defaultkeycommand"): "false",
    ("hook", "command"): "", ("hook", "enabled"): "false", ("trailer", "command"): "", ("trailer", "cmd"): "",
    ("remote", "uploadpack"): "git-upload-pack", ("remote", "vcs"): "", ("uploadpack", "packobjectshook"): "",
    ("lfs", "standalonetransferagent"): "", ("lfs", "path"): "", ("lfs", "args"): "", ("lfs", "clean"): "",
    ("lfs", "smudge"): "",
}  # fmt: skip
OWN = ("system", "global", "command")  # scopes that no repository writes
INCLUDES = ("include.", "includeif.")
PROBE = "rookery.policy"  # shows whether git takes settings from its environment


class Entry(NamedTuple):
    scope: str
    key: str
    value: str


def run(
    where: str, words: Sequence[str], stdin: bytes = b"", more: Mapping[str, str] | None = None
) -> tuple[int, bytes, bytes]:
    """(exit code, output, complaints) of git in a folder, ended with all that it started if it takes too long."""
    return _run(command(where, words), stdin, environment(where, more))


def command(where: str, words: Sequence[str]) -> list[str]:
    return ["git", "-C", where, *words]


def read(where: str, words: Sequence[str], limit: int) -> bytes:
    """The first bytes that git prints, whatever it complains of; git is ended then, or when it takes too long."""
    import subprocess
    import threading

    argv = command(where, words)
    with _started(argv, environment(where), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        late = threading.Event()
        timer = threading.Timer(LIMIT_S, lambda: (late.set(), _end(running)))
        timer.daemon = True
        timer.start()
        assert running.stdout is not None
        data = running.stdout.read(limit)
        timer.cancel()
        timer.join()  # it never ends a process that was reaped
        if late.is_set():
            raise _too_long(argv)
        if len(data) == limit:
            _end(running)
    return data


def _started(argv: Sequence[str], environ: Mapping[str, str], *, stdin: int, stderr: int) -> "subprocess.Popen[bytes]":
    import subprocess

    try:
        return subprocess.Popen(
            argv, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, env=environ, start_new_session=True
        )
    except FileNotFoundError:
        raise Refused("git is not installed.", "Install it, or spawn with --no-worktree.", code="NO_GIT") from None


def _end(running: "subprocess.Popen[bytes]") -> None:
    """With all that it started: it leads the group, and is not reaped yet."""
    import signal

    os.killpg(running.pid, signal.SIGKILL)


def _too_long(argv: Sequence[str]) -> Refused:
    said = f"git {argv[3]} took longer than {LIMIT_S:.0f} s."
    return Refused(said, "Is a disk or the network busy?", code="GIT_FAILED")


def _run(argv: Sequence[str], stdin: bytes, environ: Mapping[str, str]) -> tuple[int, bytes, bytes]:
    import subprocess

    with _started(argv, environ, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        try:
            out, err = running.communicate(stdin, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            _end(running)
            raise _too_long(argv) from None
    return running.returncode, out, err


def environment(where: str, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """For a git that works in that folder."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    given = _given([*ALWAYS.items(), *_overrides(where, kept)])
    return {**kept, **SURROUNDINGS, **given, **(more or {})}


def _given(settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Settings as git takes them from its environment: those of the command line, which outrank all files."""
    found = {"GIT_CONFIG_COUNT": str(len(settings))}
    for n, (key, value) in enumerate(settings):
        found |= {f"GIT_CONFIG_KEY_{n}": key, f"GIT_CONFIG_VALUE_{n}": value}
    return found


# -- what a repository's own configuration would run -------------------------------------------------------------------

_known: dict[tuple[object, ...], list[tuple[str, str]]] = {}
KNOWN_LIMIT = 1_000


def _overrides(where: str, kept: Mapping[str, str]) -> list[tuple[str, str]]:
    """Asked of git once for each state of the files; where one includes others, each time."""
    state = _state(where, kept)
    if state in _known:
        return _known[state]
    entries = _entries(where, kept)
    found = overrides(entries)
    if state and not any(entry.key.startswith(INCLUDES) for entry in entries):
        if len(_known) >= KNOWN_LIMIT:
            _known.clear()
        _known[state] = found
    return found


def overrides(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """For each key of the repository's own configuration that runs a program: the user's own values, or none that does.

    A list such as that of credential helpers is emptied first by an empty value, as git has it.
    """
    found: list[tuple[str, str]] = []
    for key in dict.fromkeys(entry.key for entry in entries if entry.scope not in OWN):
        section, _, rest = key.partition(".")
        harmless = RUNS.get((section, rest.rpartition(".")[2]))
        if harmless is None:
            continue
        own = [entry.value for entry in entries if entry.key == key and entry.scope in OWN]
        is_list = section == "credential"
        found += [(key, value) for value in (["", *own] if is_list else own[-1:] or [harmless])]
    return found


def _entries(where: str, kept: Mapping[str, str]) -> list[Entry]:
    asked = command(where, ("config", "--list", "--show-scope", "-z"))
    code, out, err = _run(asked, b"", {**kept, **SURROUNDINGS, **_given([(PROBE, "on")])})
    if code:
        why = plain(err.decode("utf-8", "replace")).strip()[-300:]
        raise Refused(f"git config failed: {why}", "Run `git config --list` there to see more.", code="GIT_FAILED")
    if f"{PROBE}\n".encode() not in out:  # then none of the settings here would count either
        raise Refused("This git takes no settings from its environment.", "Install git 2.31 or newer.", code="OLD_GIT")
    parts = out.decode("utf-8", "surrogateescape").split("\0")
    return [Entry(scope, *_pair(said)) for scope, said in zip(parts[::2], parts[1::2], strict=False)]


def _pair(said: str) -> tuple[str, str]:
    """Section and last name come in lower case; a key without a value stands for true."""
    key, newline, value = said.partition("\n")
    return key, value if newline else "true"


def _state(where: str, kept: Mapping[str, str]) -> tuple[object, ...]:
    """How the files look that git takes its configuration from; nothing where they can not be told."""
    repository = git.find(where)
    if repository is None or not os.path.realpath(where).startswith(repository.top):
        return ()
    home = kept.get("HOME", "")
    files = (
        f"{repository.common}/config", f"{repository.folder}/config.worktree", f"{home}/.gitconfig",
        f"{kept.get('XDG_CONFIG_HOME') or f'{home}/.config'}/git/config", "/etc/gitconfig",
    )  # fmt: skip
    return (*files, *map(_seen, files))


def _seen(path: str) -> tuple[int, ...]:
    try:
        seen = os.stat(path)
    except (OSError, ValueError):
        return ()
    return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns
