"""Terminals that Rookery starts: in a tmux server of its own, on a socket in its home, apart from the user's.

    <home>/run/tmux    the socket; the server comes with its first window and goes with its last

Always: only what was started here is ever ended, one window at a time, by the id that tmux gave it (H14, H16). There is
no call that ends a server.
"""

import os
from collections.abc import Iterator, Mapping, Sequence

from rookery.core.errors import BadInput, NotYours, Refused, UnknownName
from rookery.core.record import NamedTuple
from rookery.door import PATH_LIMIT
from rookery.runtime import places, process, tmux

NAME = "tmux"
SIZE = (200, 50)
MARK, CAPTURE = "@rook_run", "@rook_capture"
CAPTURING = "exec cat >>#{q:@rook_capture}"  # fixed; tmux quotes the name
GIVEN = "#{pid} #{pane_id} #{pane_pid}"
LEAVING = ("server exited", "lost server")  # what it says if the server's last window closed at this moment
STARTS = 3
# What a program needs to run at all; everything else is given to each window by itself.
KEPT = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR")


class Window(NamedTuple):
    address: dict[str, str]
    process: process.Process  # the first in it


def place(home: str) -> str:
    socket = os.path.join(home, "run", NAME)
    if len(os.fsencode(socket)) > PATH_LIMIT:
        raise BadInput(
            f"{socket} is too long for a socket: {len(os.fsencode(socket))} bytes, and {PATH_LIMIT} are the most.",
            "Set ROOK_HOME to a shorter path.",
            code="PATH_TOO_LONG",
        )
    return socket


class Kept(NamedTuple):
    """What a window is besides its program: one with a mark stays when that has ended, and can be found by it."""

    mark: str = ""
    private: Mapping[str, str] = {}  # variables that nobody else on the machine may see, not even for a moment
    capture: str = ""  # a file to which all that it shows is added, raw


PLAIN = Kept()


def new_window(
    home: str, argv: Sequence[str], *, cwd: str, environ: Mapping[str, str], size: tuple[int, int] = SIZE,
    kept: Kept = PLAIN,
) -> Window:  # fmt: skip
    """Run a program in a terminal of its own. Its words are passed on as they are; no shell reads them.

    Known weakness: the variables are words of a command for a moment, and so other users of the machine can see them,
    but for those that are said to be private.
    """
    socket = place(home)
    places.private_folder(os.path.dirname(socket))
    kind = ["new-session", "-d", "-P", "-F", GIVEN, "-x", str(size[0]), "-y", str(size[1]), "-c", cwd]
    given = [word for name, value in environ.items() for word in ("-e", tmux.word(f"{name}={value}"))]
    own = {name: os.environ[name] for name in KEPT if name in os.environ}
    names = _taught(socket, kept.private, own) if kept.private else []
    # One word alone would be given to a shell; `env` takes it as it is.
    command = [*names, *kind, *given, "--", "env", *map(tmux.word, argv), *_marked(kept)]
    words, variables = ["-f", os.devnull, *command], {**own, **kept.private}
    said = tmux.run(socket, words, environ=variables)
    for _ in range(STARTS - 1):
        if any(each in said.err for each in LEAVING):
            said = tmux.run(socket, words, environ=variables)
    numbers = said.out.split()
    if said.code or len(numbers) != 3:
        raise Refused(f"No terminal could be opened: {said.err.strip()}.", "Is tmux installed?", code="NO_TERMINAL")
    where, first = tmux.address(socket, int(numbers[0]), numbers[1]), process.identify(int(numbers[2]))
    if where is None or (first is None and not kept.mark):
        raise Refused(f"{argv[0]} ended as soon as it was started.", "Run it by hand to see why.", code="NOT_STARTED")
    return Window(where, first or process.Process(int(numbers[2]), ""))


def _marked(kept: Kept) -> list[str]:
    """In one step with its beginning: what ends at once would be gone before it could be marked."""
    words: list[str] = []
    if kept.mark:
        words += [";", "set-option", "-p", MARK, kept.mark, ";", "set-option", "-w", "remain-on-exit", "on"]
    if kept.capture:
        words += [";", "set-option", "-p", CAPTURE, tmux.word(kept.capture), ";", "pipe-pane", CAPTURING]
    return words


def _taught(socket: str, private: Mapping[str, str], own: Mapping[str, str]) -> list[str]:
    """Have the server take these variables from whoever opens a window, over its socket. It must be there before: what
    starts it with them would give them to every window."""
    tmux.run(socket, ["-f", os.devnull, "start-server", ";", "set-option", "-s", "exit-empty", "off"], environ=own)
    names = " ".join(name for name in private if name.isidentifier())
    return ["set-option", "-s", "exit-empty", "on", ";", "set-option", "-g", "update-environment", names, ";"]


def find(home: str, mark: str) -> dict[str, str] | None:
    """The terminal that was opened with this mark, whether its program still runs or not."""
    return next((address for found, address, _ in _marks(home) if found == mark), None) if mark else None


def ended(home: str) -> dict[str, dict[str, str]]:
    """The terminals whose program is over, by the mark they were opened with."""
    return {mark: address for mark, address, over in _marks(home) if over}


def _marks(home: str) -> Iterator[tuple[str, dict[str, str], bool]]:
    socket = os.path.join(home, "run", NAME)
    if not os.path.exists(socket):  # nothing was opened, or nothing can be: its path is too long
        return
    said = tmux.run(socket, ["list-panes", "-a", "-F", f"#{{pid}} #{{pane_id}} #{{pane_dead}} #{{{MARK}}}"])
    for line in said.out.splitlines() if not said.code else []:
        server, pane, over, mark = (*line.split(" ", 3), "", "", "")[:4]
        address = tmux.address(socket, int(server), pane) if mark else None
        if address:
            yield mark, address, over == "1"


def end(home: str, address: Mapping[str, str]) -> None:
    """End what runs in one of our windows, and close it. Any other is refused, whatever the address says."""
    if address.get("socket") != place(home) or not tmux.is_pane(address.get("pane", "")):
        raise NotYours("That terminal was not started by Rookery.", "Close it where it was opened.")
    if not tmux.is_there(address):
        raise UnknownName(f"There is no terminal {address['pane']} any more.", code="NO_TERMINAL")
    tmux.run(address["socket"], ["kill-pane", "-t", address["pane"]])
