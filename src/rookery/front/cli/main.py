"""The edge of the `rook` command: the only module of this door that touches sys and os."""

import io
import os
import sys

from .call import Call, Reply
from .router import run


def main() -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a character must not end the command
            stream.reconfigure(errors="backslashreplace")
    try:
        return _write(run(_call()))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone; that is their right. The interpreter must not complain at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _call() -> Call:
    terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    return Call(
        argv=sys.argv[1:], cwd=_cwd(), environ=os.environ, read_stdin=_read_stdin, emit=_emit, width=_width(),
        terminal=terminal and "NO_COLOR" not in os.environ, peer=os.getpid(),
    )  # fmt: skip


def _cwd() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # the folder was removed under us
        return os.environ.get("PWD", "/")


def _width() -> int:
    try:
        return max(40, os.get_terminal_size(1).columns)
    except OSError:
        return 100


def _read_stdin() -> str:
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")


def _emit(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _write(reply: Reply) -> int:
    if reply.out:
        _emit(reply.out)
    if reply.err:
        sys.stderr.write(reply.err)
    return reply.code


if __name__ == "__main__":
    sys.exit(main())
