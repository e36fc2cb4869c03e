"""Programs of workers, started so that they outlive whoever started them, and can be found again by the next.

    <home>/teams/<team>/workers/<id>/    task.md, token, pane-tail.txt, workspace/
        runs/<n>/                        begun, exit, output.log (or .ndjson), stderr.log, pane-tail.txt

Every program runs under the same fixed `sh` on every backend. It makes the file `begun`, which only one can make: it
begins, or whoever goes on for a starter that was killed makes the file first, and then it never will. So there is one
process a run, whatever was under way. In that file it says who it is, and in `exit` how the program ended; both are
there for whoever asks later, however that one came to be. No text is built: the program's words are `"$@"`.
"""

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from rookery.core import secrets
from rookery.core.errors import BadInput, Refused, RookError
from rookery.core.record import NamedTuple
from rookery.core.text import plain
from rookery.runtime import changesets, files, ourtmux, places, process, ptys, repository, runs, tmux
from rookery.runtime.process import Process

# `set -C`: a file is made once. Signals that are meant for the program do not end the one that waits for it; a terminal
# that is closed does.
SCRIPT = """\
line=$$
read -r line 2>/dev/null <"/proc/$$/stat"
set -C
printf '%s\\n' "$line" 2>/dev/null >"$1" || exit 125
set +C
exit=$2
shift 2
trap : INT QUIT TERM
"$@"
code=$?
printf '%s\\n' "$code" >"$exit"
exit "$code"
"""
NOT_BEGUN = 125
# The shell adopts whatever its program leaves behind (PR_SET_CHILD_SUBREAPER is kept by exec): a process that was
# detached with `setsid` and two forks, and without any variable, still stands below the run it came from.
ADOPT = """\
import posix, sys
try:
    import _ctypes as c
    c.call_function(c.dlsym(c.dlopen(None, 2), "prctl"), (36, 1, 0, 0, 0))
except Exception:
    pass
posix.execv(sys.argv[1], sys.argv[2:])
"""
# What a program needs to run at all. Whatever else it is given, the settings name.
KEPT = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "TERM", "COLORTERM")
KEPT_FAMILIES = ("LC_", "XDG_")
BEGUN_LIMIT, EXIT_LIMIT = 4096, 32
BEGIN_S, LOOK_S = 10.0, 0.005
TAIL_LINES, TAIL_BYTES = 200, 64_000
GIVEN_UP = b"given up\n"
REMOVALS = 5
DEAD_PANE = "Pane is dead"  # what tmux writes below the last line of a program that ended


class Place(NamedTuple):
    """The folder of a worker, and that of one of its runs."""

    folder: str
    run: str

    def of(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def of_run(self, name: str) -> str:
        return os.path.join(self.run, name)

    @property
    def tree(self) -> str:
        return self.of("workspace")


class Begun(NamedTuple):
    process: Process
    terminal: Mapping[str, str] = {}


def folder_of(home: str, team: str, worker: str) -> str:
    return os.path.join(home, "teams", team, "workers", worker)


def place(home: str, team: str, worker: str, n: int) -> Place:
    folder = folder_of(home, team, worker)
    return Place(folder, os.path.join(folder, "runs", str(n)))


def prepare(home: str, where: Place) -> None:
    """Its folders, private from the home down."""
    missing: list[str] = []
    path = where.run
    while path != home and len(path) > len(home):
        missing.append(path)
        path = os.path.dirname(path)
    for each in reversed(missing):
        places.private_folder(each)


def environment(given: Mapping[str, str], named: Sequence[str], own: Mapping[str, str]) -> dict[str, str]:
    """What a program is started with: what every program needs, what the settings name, and what says who it is."""
    wanted = {name for name in given if name in KEPT or name.startswith(KEPT_FAMILIES) or name in named}
    return {name: given[name] for name in sorted(wanted) if not name.startswith("ROOK_")} | dict(own)


# -- starting --------------------------------------------------------------------------------------------------------


class Starter:
    """Starts programs, and waits for those that are its children, so that none is left as a zombie."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._children: list[Any] = []

    def start(
        self, where: Place, backend: str, argv: Sequence[str], *, run: str, cwd: str, environ: Mapping[str, str],
        stdin: str = "", streams: bool = False, private: Sequence[str] = (), capture: bool = False,
    ) -> Begun:  # fmt: skip
        """It runs when this returns; a refusal if it does not."""
        if not argv:
            raise BadInput("There is no program to start.", "Host script takes it as --program.", code="NO_PROGRAM")
        words = [*_adopting(), "sh", "-c", SCRIPT, "sh", where.of_run("begun"), where.of_run("exit"), *argv]
        terminal: Mapping[str, str] = {}
        if backend == "tmux":
            kept = _kept(where, run, environ, private, capture)
            shown = {name: value for name, value in environ.items() if name not in kept.private}
            terminal = ourtmux.new_window(self._home, words, cwd=cwd, environ=shown, kept=kept).address
        elif backend == "pty":
            path = _captured(where) if capture else ""
            terminal = ptys.start(self._home, words, cwd=cwd, environ=environ, capture=path).address
        else:
            self._headless(where, words, cwd, environ, stdin, streams)
        return Begun(self._begun(where, argv[0]), terminal)

    def _headless(
        self, where: Place, words: Sequence[str], cwd: str, environ: Mapping[str, str], stdin: str, streams: bool
    ) -> None:
        import subprocess

        files.write_atomic(where.of_run("stdin"), stdin.encode())
        with (
            open(where.of_run("stdin"), "rb") as said,
            _private(where.of_run("output.ndjson" if streams else "output.log")) as out,
            _private(where.of_run("stderr.log")) as err,
        ):
            child = subprocess.Popen(
                list(words), stdin=said, stdout=out, stderr=err, env=dict(environ), cwd=cwd, start_new_session=True
            )
        self._children.append(child)

    def _begun(self, where: Place, program: str) -> Process:
        """Who it is, as its own shell said."""
        import time

        ends = time.monotonic() + BEGIN_S
        while (found := said_begun(where)) is None:
            if time.monotonic() > ends:
                raise Refused(f"{plain(program)} did not begin.", "Is the machine very busy?", code="NOT_STARTED")
            time.sleep(LOOK_S)
        return found

    def reap(self) -> None:
        self._children = [each for each in self._children if each.poll() is None]


def _adopting() -> list[str]:
    """What stands before the shell of a run. Only Linux can have a shell adopt the processes of its program."""
    return [sys.executable, "-I", "-S", "-c", ADOPT, "/bin/sh"] if process.LINUX and sys.executable else []


def _kept(
    where: Place, run: str, environ: Mapping[str, str], private: Sequence[str], capture: bool
) -> ourtmux.Kept:  # fmt: skip
    """Variables that the person named may be keys; those of the program's own are no secret."""
    path = _captured(where) if capture else ""
    return ourtmux.Kept(run, {name: environ[name] for name in private if name in environ}, path)


def _captured(where: Place) -> str:
    """The file for all that a terminal shows, private from the start."""
    path = where.of_run("terminal.log")
    _private(path).close()
    return path


def _private(path: str) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600), "wb")


# -- finding again ---------------------------------------------------------------------------------------------------


def said_begun(where: Place) -> Process | None:
    """The process of a run that began, running or not."""
    line, _ = files.read_from(where.of_run("begun"), 0, BEGUN_LIMIT)
    if not line.endswith(b"\n") or line == GIVEN_UP:
        return None
    return process.as_it_said(line)


def give_up(where: Place) -> bool:
    """Whether the run has not begun, and never will."""
    path = where.of_run("begun")
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        line, _ = files.read_from(path, 0, BEGUN_LIMIT)
        return line == GIVEN_UP
    except FileNotFoundError:
        return True  # not even its folder was made, and a program is started after that
    try:
        os.write(descriptor, GIVEN_UP)
    finally:
        os.close(descriptor)
    return True


def found_again(home: str, where: Place, backend: str, run: str) -> Begun | None:
    """What was started and not written down, if it did begin."""
    first = said_begun(where)
    if first is None:  # it may be about to say so, and carries its run already
        carried = runs.carriers(run)
        first = said_begun(where) or (carried[0] if carried else None)
    if first is None:
        return None
    return Begun(first, _terminal(home, backend, run, first))


def _terminal(home: str, backend: str, run: str, first: Process) -> Mapping[str, str]:
    if backend == "tmux":
        return ourtmux.find(home, run) or {}
    if backend == "pty":
        return ptys.address_of(process.variables(first.pid, (ptys.VARIABLE,))) or {}
    return {}


def exit_code(where: Place, terminal: Mapping[str, str]) -> int | None:
    """How the program ended: as its shell wrote down, else as its terminal saw that shell end."""
    written, _ = files.read_from(where.of_run("exit"), 0, EXIT_LIMIT)
    if written.strip().isdigit():
        return int(written)
    if terminal.get("kind") == tmux.KIND:
        return tmux.exit_status(terminal)
    return None


# -- when it is over -------------------------------------------------------------------------------------------------


def harvest(where: Place, terminal: Mapping[str, str]) -> str:
    """Its last lines, taken once: from its terminal, or from what it said without one. Told again from the file."""
    kept = where.of_run("pane-tail.txt")
    if not os.path.exists(kept):
        lines = _lines(where, terminal)
        shown, _ = secrets.redacted("".join(f"{line}\n" for line in lines))  # it is told to others, and kept
        files.write_atomic(kept, shown.encode("utf-8", "replace"))
    data, _ = files.read_from(kept, 0, TAIL_BYTES)
    files.write_atomic(where.of("pane-tail.txt"), data)
    return data.decode("utf-8", "replace")


def harvested(where: Place) -> list[str]:
    """What was kept of its last lines, if anything was yet."""
    data, _ = files.read_from(where.of_run("pane-tail.txt"), 0, TAIL_BYTES)
    return plain(data.decode("utf-8", "replace")).rstrip("\n").split("\n") if data else []


def _lines(where: Place, terminal: Mapping[str, str]) -> list[str]:
    with suppress(RookError):
        if terminal.get("kind") == tmux.KIND and tmux.is_there(terminal):
            lines = tmux.Pane(terminal).last_lines(TAIL_LINES)
            if lines and lines[-1].startswith(DEAD_PANE):
                lines.pop()
            return _trimmed(lines)
        if terminal.get("kind") == ptys.KIND:
            return _trimmed(ptys.Held(terminal).last_lines(TAIL_LINES))
    return output(where, TAIL_LINES)


def _trimmed(lines: Sequence[str]) -> list[str]:
    return "\n".join(lines).rstrip().split("\n")[-TAIL_LINES:] if lines else []


def output(where: Place, count: int) -> list[str]:
    """The last lines of what a program without a terminal said, its complaints after them."""
    lines: list[str] = []
    for name in ("output.log", "output.ndjson", "stderr.log"):
        path = where.of_run(name)
        with suppress(OSError):
            data, _ = files.read_from(path, max(0, os.stat(path).st_size - TAIL_BYTES), TAIL_BYTES)
            lines += plain(data.decode("utf-8", "replace")).rstrip("\n").split("\n") if data else []
    return lines[-count:]


def close(home: str, where: Place, terminal: Mapping[str, str], run: str) -> None:
    """Its terminal and its token are gone afterwards; what is gone already is no matter. One that nobody wrote down is
    found by its run."""
    files.remove_quietly(where.of("token"))
    with suppress(RookError):
        terminal = terminal or ourtmux.find(home, run) or {}
        if terminal.get("kind") == tmux.KIND:
            ourtmux.end(home, terminal)
        elif terminal.get("kind") == ptys.KIND:
            ptys.ended(terminal)


def windows_over(home: str) -> Mapping[str, Mapping[str, str]]:
    """Windows of ours whose program is over, by their run."""
    return ourtmux.ended(home)


def close_windows(home: str, over: Mapping[str, Mapping[str, str]], running: Collection[str] = ()) -> int:
    """Close those whose run nobody sees to any more: they came late, for a starter that was killed meanwhile."""
    left = [address for run, address in over.items() if run not in running]
    for address in left:
        with suppress(RookError):
            ourtmux.end(home, address)
    return len(left)


# -- long after ------------------------------------------------------------------------------------------------------


def teams_with_folders(home: str) -> list[str]:
    """Teams of which a worker has left something here."""
    return [name for name in _names(os.path.join(home, "teams")) if folders_in(home, name)]


def folders_in(home: str, team: str) -> list[str]:
    """The workers of a team that have a folder here."""
    return _names(os.path.join(home, "teams", team, "workers"))


def _names(folder: str) -> list[str]:
    try:
        return sorted(each.name for each in os.scandir(folder) if each.is_dir(follow_symlinks=False))
    except OSError:
        return []


def with_worktree(home: str, team: str) -> list[str]:
    """The workers of a team that have a worktree here."""
    folder = os.path.join(home, "teams", team, "workers")
    return [name for name in _names(folder) if os.path.lexists(os.path.join(folder, name, "workspace", ".git"))]


def reclaim(home: str, team: str, told: Mapping[str, Any]) -> str:
    """Take away a worktree, as `worker.reclaim` told; or what stands in the way."""
    tree = os.path.join(folder_of(home, team, told["id"]), "workspace")
    try:
        changesets.forget_others(tree, told["keep"], told["open"])
        held = changesets.set_free(tree, told["keep"], told["author"], told["landed"])
        if not held:
            repository.remove_worktree(repository.common_folder(tree), tree)
    except RookError as error:
        return f"a worktree that git can not read: {error.message}"
    return held


def put_away(home: str, team: str, worker: str) -> str:
    """Remove a worker's folder, with its worktree if everything in it is somewhere else too; otherwise what is not."""
    import shutil

    folder = folder_of(home, team, worker)
    tree = os.path.join(folder, "workspace")
    if os.path.lexists(os.path.join(tree, ".git")):
        try:
            held = repository.held_back(tree)
            if held:
                return held
            repository.remove_worktree(repository.common_folder(tree), tree)
        except RookError as error:
            return f"a worktree that git can not read: {error.message}"
    elif _names(tree) or os.path.isfile(tree):
        return "a workspace that is no worktree"
    for _ in range(REMOVALS):  # whoever tells how it is may write there at this very moment
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return ""
    return "files that can not be removed"
