"""The fast door, from outside: a command's words go to the resident process, its output comes back.

    us                                     the resident process
    connect                          ──►   looks at who we are; closes the door on whoever is not served here
                                     ◄──   its version and its home: if they are not ours, we leave
    words, folder, variables, width  ──►   runs the command. From here on nothing is done a second time
                                     ◄──   `?` it wants standard input, `.` it is still at work, `=` the reply
    standard input, if asked for     ──►
    `!` it was shown                 ──►   only after a `+` reply: writes down that it was
                                     ◄──   done

Every arrow is a frame: four bytes that say how long it is, then that much. Until the words are sent, anything that is
not as it should be means that the command runs in its own process instead, with the same answer.

Imported on every command, so it imports nothing that the interpreter has not loaded already, except `_socket`:
`socket`, `json` or `typing` alone would double the start of a command.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from _thread import LockType
    from collections.abc import Callable, Mapping

    Policy = Callable[[list[str], bytes | None, Exception], tuple[int, str, str]]

FOLDER, NAME = "run", "door"
PATH_LIMIT = 103  # sun_path holds 108 bytes on Linux, 104 elsewhere

# What waits, shows things as they happen, starts or stops processes, or opens files of its caller.
ALONE = frozenset((
    "up", "down", "demo", "init", "doctor", "wait", "backup", "export", "import", "plan import", "attach", "mcp",
    "slot take", "logs", "team set", "artifacts add", "kinds add", "maildrop", "health", "crew run", "spawn", "peek",
    "bundle save", "verdict", "decisions", "trust",
))  # fmt: skip
NOT_HERE = ("ROOK_URL", "ROOK_STORE")  # the ledger is somewhere else
PASSED_ON = ("HOME", "XDG_CONFIG_HOME", "TMUX", "TMUX_PANE", "COPILOT_HOME")  # and all that begins with ROOK_

HEAD = 4
REQUEST_LIMIT = 4 << 20  # the kernel passes a command no more than 2 MiB of words and variables
STDIN_LIMIT = 16 << 20
WANTS_STDIN, AT_WORK, REPLY = b"?", b".", b"="
REPLY_THEN, SHOWN = b"+", b"!"  # a reply of which it is recorded that it was shown, and that it was

GREETING_S = 1.0  # nothing is sent yet: whoever keeps us waiting longer is done without
SILENCE_S = 30.0  # a resident process that works says so far more often

INTERRUPTED, BROKEN_PIPE, UNREACHABLE = 130, 141, 3

HOOK = "hook"
HOOK_GREETING_S = 0.3  # so that there is time to do without
HOOK_S = 1.5  # an agent program waits for its hook, and its user for the program
LAST_S = 0.3  # after that, to find out what a hook without an answer means; the programs' own patience is 2 s
REFUSED = 2  # what every agent program takes for a no
CLOSED = "--closed"
LATE = b"rook: no answer in time; the tool is refused, as its hook was set up.\n"
UNCHECKED = b"rook: the hook had no answer in time; the tool runs unchecked.\n"
WAITER = "idle"  # a hook that stays until there is something to say


# --- this process: what a command takes from it, and how it ends -----------------------------------------------------


def terminal() -> bool:
    """Does a person look at this?"""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and "NO_COLOR" not in os.environ


def width() -> int:
    try:
        return max(40, os.get_terminal_size(1).columns)
    except OSError:
        return 100


def stdin() -> bytes:
    data = sys.stdin.buffer.read() if sys.stdin else b""
    _given[:] = [data]
    return data


def to_the_end(work: "Callable[[], int | None]") -> int | None:
    """Run a command; the exit code it ends with, also when it is interrupted or nobody reads on. A hook that breaks is
    answered by policy, whatever broke: an agent program takes any exit code but 2 for a yes."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that lacks a character must not end the command
            stream.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue]
    is_closed = is_hook(sys.argv[1:]) and CLOSED in sys.argv
    try:
        return work()
    except KeyboardInterrupt:
        return REFUSED if is_closed else INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; that is their right. The interpreter must not complain at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return REFUSED if is_closed else BROKEN_PIPE
    except Exception as error:
        if not is_hook(sys.argv[1:]):
            if isinstance(error, OSError):
                return _failed(error)
            raise
        code, out, err = without_answer(error)
        try:  # noqa: SIM105 (contextlib is not loaded yet)
            show(out, err)
        except Exception:
            pass  # nothing can be shown; the exit code stands
        return code


def _failed(error: OSError) -> int:
    """What the system refused, in a line: the disk under the output is full, no more files may be opened ..."""
    import errno

    where = f": {ascii(error.filename)[1:-1]}" if error.filename else ""
    hint = {
        errno.ENOSPC: "Make room on that disk, or send the output elsewhere.",
        errno.EMFILE: "Raise the limit of open files for this shell: ulimit -n 256",
        errno.ENFILE: "This machine has no more files to open: end some programs.",
    }.get(error.errno or 0, "`rook doctor` looks at the store and its folder.")
    try:  # noqa: SIM105 (contextlib is not loaded yet)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left unwritten must not fail again at exit
    except OSError:
        pass  # then nothing more is written at all
    try:
        os.write(2, f"rook: {error.strerror or error}{where}.\n      {hint}\n".encode())
    except OSError:
        os._exit(UNREACHABLE)
    return UNREACHABLE


# --- a hook without an answer ----------------------------------------------------------------------------------------

_watched: "list[LockType]" = []
_given: list[bytes] = []  # standard input, once it was read
_policy: "list[Policy]" = []  # says what a hook without an answer means; set by whoever starts this process


class HookFailed(Exception):
    """No decision, and why; `failure` is a word of `core.hook_failures.Failure`."""

    def __init__(self, message: str, failure: str) -> None:
        super().__init__(message)
        self.failure = failure


def is_hook(argv: "list[str]") -> bool:
    """Does an agent program wait for the answer?"""
    return _command(argv)[:1] == [HOOK] and not _is_waiter(argv)


def without_answer(error: Exception) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of a hook whose decision failed. If even the policy can not be read, the command line
    decides: it is all that is left."""
    argv = sys.argv[1:]
    try:
        return _policy[0](argv, _given[0] if _given else None, error)
    except Exception:
        is_closed = CLOSED in argv or _is_strict(os.environ)
        return REFUSED if is_closed else 0, "", decoded(LATE) if is_closed else "rook: the hook failed.\n"


def watch(code: int, complaint: bytes = b"", *, by_policy: bool = False) -> None:
    """End this process with that code unless it speaks in time, whatever it is doing: waiting for a lock, for standard
    input, for a disk. A thread of its own can do that where a signal would wait for the interpreter's turn.
    `by_policy`: what the policy says instead, if that can be found out in the time that is left."""
    import _thread

    lock = _thread.allocate_lock()
    lock.acquire()
    _watched[:] = [lock]

    def end(code: int, out: bytes, err: bytes) -> None:
        try:
            for stream, text in ((1, out), (2, err)):
                if text:
                    os.write(stream, text)
        finally:
            os._exit(code)

    def last() -> None:
        if not lock.acquire(timeout=LAST_S):
            end(code, b"", complaint)

    def look() -> None:
        if lock.acquire(timeout=HOOK_S):
            return
        if by_policy:
            _thread.start_new_thread(last, ())
            told = without_answer(HookFailed("no answer in time", "late"))
            if not lock.acquire(blocking=False):  # else the answer came after all
                end(told[0], *(text.encode("utf-8", "backslashreplace") for text in told[1:]))
            return
        end(code, b"", complaint)

    _thread.start_new_thread(look, ())


def in_time() -> None:
    """The watch is over."""
    while _watched:
        _watched.pop().release()


def emit(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def show(out: str, err: str) -> None:
    in_time()
    if out:
        emit(out)
    if err:
        sys.stderr.write(err)
        sys.stderr.flush()


# --- the way in ------------------------------------------------------------------------------------------------------


def ask(policy: "Policy | None" = None) -> int | None:
    """This process's command at the door: its exit code, all of its output written; None if it has to run here."""
    _policy[:] = [policy] if policy else []
    return to_the_end(_ask)


def _ask() -> int | None:
    argv = sys.argv[1:]
    if is_hook(argv):
        if CLOSED in argv:
            watch(REFUSED, LATE)
        else:
            watch(*((REFUSED, LATE) if _is_strict(os.environ) else (0, UNCHECKED)), by_policy=True)
    if runs_alone(argv) or sys.getfilesystemencoding() != "utf-8":
        return None
    try:
        cwd = os.getcwd()
    except OSError:  # the folder was removed under us
        return None
    told = through(argv, cwd, os.environ, width(), terminal(), stdin)
    if told is None:
        return None
    code, out, err = told
    show(out, err)
    return code


def _is_strict(environ: "Mapping[str, str]") -> bool:
    """Does the environment alone say that a hook without an answer refuses?"""
    is_strict = environ.get("ROOK_GUARD_STRICT", "").lower() in ("true", "1", "yes", "on")
    return is_strict or environ.get("ROOK_GUARD_OPAQUE", "").lower() == "deny"


def runs_alone(argv: "list[str]") -> bool:
    """Is this a command for a process of its own? If in doubt, yes: that is always right, only slower."""
    if any(_takes_long(word) for word in argv) or _is_waiter(argv):
        return True
    words = _command(argv)
    return " ".join(words[:1]) in ALONE or " ".join(words) in ALONE


def _takes_long(word: str) -> bool:
    """An option with which a command follows what happens (-f, -nf ...) or waits for its turn."""
    return (
        word in ("--follow", "--wait", "--watch")
        or word[:7] == "--wait="
        or (word[:1] == "-" != word[1:2] and "f" in word)
    )


def _is_waiter(argv: "list[str]") -> bool:
    return HOOK in argv and WAITER in argv[argv.index(HOOK) + 2 :]


def _command(argv: "list[str]") -> "list[str]":
    """The command, one word or two: what follows the options that may stand before it."""
    start = 0
    while argv[start : start + 1] in (["--json"], ["--team"], ["--as"]):
        start += 1 if argv[start] == "--json" else 2
    return argv[start : start + 2]


def through(
    argv: "list[str]", cwd: str, environ: "Mapping[str, str]", width: int, terminal: bool, stdin: "Callable[[], bytes]",
    shown: "Callable[[str, str], None]" = show,
) -> "tuple[int, str, str] | None":  # fmt: skip
    """(exit code, stdout, stderr) from the resident process of this home; None if there is none to ask.

    What has to be shown before the resident process writes that down is passed to `shown`, and is not in the result.
    """
    home = home_of(cwd, environ)
    words = request(argv, cwd, environ, width, terminal)
    if not home or not os.path.exists(place(home)) or len(words) > REQUEST_LIMIT:
        return None
    import _socket

    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        return _exchange(line, words, stdin, shown, argv) if _welcomes(line, home) else None
    finally:
        line.close()


def home_of(cwd: str, environ: "Mapping[str, str]") -> str:
    """The home as `runtime.places` finds it; empty where it takes more to find, or where the ledger is elsewhere."""
    if any(map(environ.get, NOT_HERE)):
        return ""
    given = environ.get("ROOK_HOME") or "~/.rookery"
    if given == "~" or given.startswith("~/"):
        person = environ.get("HOME")
        if not person:
            return ""
        given = person + given[1:]
    return os.path.normpath(os.path.join(cwd, given))


def request(argv: "list[str]", cwd: str, environ: "Mapping[str, str]", width: int, terminal: bool) -> bytes:
    passed = [f"{name}={environ[name]}" for name in environ if name.startswith("ROOK_") or name in PASSED_ON]
    return encoded("\0".join([cwd, str(width), "1" if terminal else "", str(len(argv)), *argv, *passed]))


def _welcomes(line: "socket", home: str) -> bool:
    """Is it ours, of our version, for our home? Nothing is sent to find out."""
    try:
        line.settimeout(HOOK_GREETING_S if _watched else GREETING_S)
        connect(line, home)
        from rookery.version import VERSION  # while the other side looks at us

        return peer_of(line)[1] == os.geteuid() and receive(line) == greeting(VERSION, home)
    except OSError:
        return False


def _exchange(
    line: "socket", words: bytes, stdin: "Callable[[], bytes]", shown: "Callable[[str, str], None]", argv: "list[str]"
) -> tuple[int, str, str]:
    line.settimeout(SILENCE_S)
    said = _answer(line, words)
    if said == WANTS_STDIN:
        data = stdin()
        if len(data) > STDIN_LIMIT:
            if is_hook(argv):
                raise HookFailed("the event is too large", "event")
            return _refusal(argv, 2, "TOO_LARGE", f"Standard input has more than {STDIN_LIMIT:,} bytes.",
                            "Put it in a file and name that.")  # fmt: skip
        said = _answer(line, data)
    if said[:1] == REPLY_THEN:
        code, out, err = unpacked(said)
        shown(out, err)
        watch(code)  # it was said; whoever called need not wait for long because of the record
        _answer(line, SHOWN)
        in_time()
        return code, "", ""
    if said[:1] == REPLY:
        return unpacked(said)
    if is_hook(argv):
        raise HookFailed("the daemon went away", "store")
    return _refusal(
        argv, UNREACHABLE, "UNREACHABLE",
        f"The daemon went away; whether `rook {' '.join(_command(argv))}` was done is not known.",
        "Look before you repeat it: `rook feed` tells what happened lately.",
    )  # fmt: skip


def _answer(line: "socket", data: bytes) -> bytes:
    """What comes back for a frame; nothing if the connection was lost or fell silent."""
    try:  # noqa: SIM105 (contextlib is not loaded yet)
        send(line, data)
    except OSError:
        pass  # what it said before it went away can still be read
    try:
        while (said := receive(line)) == AT_WORK:
            pass
        return said
    except OSError:
        return b""


def _refusal(argv: "list[str]", code: int, name: str, message: str, hint: str) -> tuple[int, str, str]:
    """As the command line tells every refusal; made here, where nothing is left that could be asked."""
    out = ""
    if "--json" in argv:
        import json

        out = json.dumps({"error": {"code": name, "message": message, "hint": hint}}) + "\n"
    return code, out, f"rook: {message}\n      {hint}\n"


# --- what both sides know --------------------------------------------------------------------------------------------


def place(home: str) -> str:
    return os.path.join(home, FOLDER, NAME)


def reachable(home: str) -> tuple[str, int]:
    """An address for the socket, and a descriptor to be closed after its use: a long path is cut short by one."""
    at = place(home)
    if len(os.fsencode(at)) <= PATH_LIMIT:
        return at, -1
    folder = os.open(os.path.dirname(at), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    return f"/proc/self/fd/{folder}/{NAME}", folder


def connect(line: "socket", home: str) -> None:
    at, folder = reachable(home)
    try:
        line.connect(at)
    finally:
        if folder >= 0:
            os.close(folder)


def peer_of(line: "socket") -> tuple[int, int]:
    """(pid, uid) of the process at the other end, as the kernel has it. Linux."""
    from _socket import SO_PEERCRED, SOL_SOCKET

    told = line.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)
    return int.from_bytes(told[:4], sys.byteorder), int.from_bytes(told[4:8], sys.byteorder)


def greeting(version: str, home: str) -> bytes:
    return encoded(f"rook {version}\0{home}")


def reply(code: int, out: str, err: str, then: bool = False) -> bytes:
    text = encoded(out)
    return (REPLY_THEN if then else REPLY) + bytes((code,)) + len(text).to_bytes(HEAD, "big") + text + encoded(err)


def unpacked(said: bytes) -> tuple[int, str, str]:
    start = 2 + HEAD
    end = start + int.from_bytes(said[2:start], "big")
    return said[1], decoded(said[start:end]), decoded(said[end:])


def encoded(text: str) -> bytes:
    """Every string there is: words that are no UTF-8 reach Python as lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(HEAD, "big") + data


def send(line: "socket", data: bytes) -> None:
    line.sendall(framed(data))


def receive(line: "socket") -> bytes:
    return _exactly(line, int.from_bytes(_exactly(line, HEAD), "big"))


def _exactly(line: "socket", count: int) -> bytes:
    parts = b""
    while len(parts) < count:
        part = line.recv(min(count - len(parts), 1 << 20))
        if not part:
            raise ConnectionResetError("the other side has gone")
        parts += part
    return parts
