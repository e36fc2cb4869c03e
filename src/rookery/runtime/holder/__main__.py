"""How a holder comes to be: told what to run on standard input, it says one line on standard output and is alone."""

import json
import os
import signal
import socket
import sys
from collections.abc import Mapping
from typing import Any

from rookery.runtime import process
from rookery.runtime.holder.lines import LINES_LIMIT
from rookery.runtime.holder.loop import Holder
from rookery.runtime.ptys import KIND


def main() -> None:
    spec: dict[str, Any] = json.load(sys.stdin)
    if os.fork():
        os._exit(0)  # so that whoever started us has nobody to wait for
    os.setsid()
    os.chdir("/")
    try:
        holder = _prepared(spec, _wake_by_signals())
    except OSError as error:
        _say({"error": f"{error.filename or spec['argv'][0]}: {error.strerror or error}"})
        return
    except ValueError as error:  # a NUL in a word or a variable
        _say({"error": str(error)})
        return
    try:
        _complain_to(spec["log"])
        _say({"address": spec["address"], "process": holder.program.first})
        holder.run()
    finally:
        holder.leave()


def _prepared(spec: dict[str, Any], woken: int) -> Holder:
    me = process.identify(os.getpid())
    if me is None:
        raise OSError("no process can be looked at here")
    listener, path = _listening(spec["folder"])
    spec["address"] = {"kind": KIND, "socket": path, "holder": f"{me.pid} {me.started}"}
    try:
        return Holder(spec, path, listener, woken)
    except BaseException:
        os.unlink(path)
        raise


def _listening(folder: str) -> tuple[socket.socket, str]:
    path = os.path.join(folder, f"{os.getpid()}.{os.urandom(4).hex()}")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.fchmod(listener.fileno(), 0o600)  # what Linux makes the file with, if the umask lets it
    listener.bind(path)
    os.chmod(path, 0o600)
    listener.listen(LINES_LIMIT)
    listener.setblocking(False)
    return listener, path


def _wake_by_signals() -> int:
    """Whatever signal comes wakes the loop. None is ignored: the program would inherit that."""
    woken, waking = os.pipe()
    for end in (woken, waking):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, lambda *_: None)
    return woken


def _say(told: Mapping[str, Any]) -> None:
    """The one line that our starter waits for, and then no more of its pipes."""
    try:
        os.write(1, json.dumps(told).encode() + b"\n")
    finally:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.close(nothing)


def _complain_to(log: str) -> None:
    to = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    os.dup2(to, 2)
    os.close(to)


if __name__ == "__main__":
    main()
