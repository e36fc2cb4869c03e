"""The edge of the `rook` command in a process of its own: the Call is made of this process, the Reply written by it."""

import os
import sys

from rookery import door

from .call import Call
from .router import follow_up, run


def main() -> int | None:
    return door.to_the_end(_main)


def _main() -> int:
    call = Call(
        argv=sys.argv[1:], cwd=_cwd(), environ=os.environ, read_stdin=_read_stdin, emit=door.emit, width=door.width(),
        terminal=door.terminal(), peer=os.getpid(), ask=_ask if _is_person() else None,
    )  # fmt: skip
    reply = run(call)
    door.show(reply.out, reply.err)
    if reply.later is not None:
        door.watch(reply.code)  # as in `door`
        follow_up(call, reply.later)
        door.in_time()
    return reply.code


def _cwd() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # the folder was removed under us
        return os.environ.get("PWD", "/")


def _read_stdin() -> str:
    return door.stdin().decode("utf-8", "surrogateescape")


def _is_person() -> bool:
    return bool(sys.stdin) and sys.stdin.isatty() and sys.stdout.isatty()


def _ask(question: str) -> str:
    door.emit(question)
    return sys.stdin.readline()


if __name__ == "__main__":
    sys.exit(main())
