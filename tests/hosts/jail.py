"""Where a program under test lives: a network of its own with loopback only, and nothing that outlives it.

`unshare -n python -m tests.hosts.jail SPEC` raises loopback, starts the scripted model on it, runs one program to its
end or its deadline, and ends what the program left behind. Every descendant belongs to this process, for it is their
subreaper, so each is ended by its own id and none is missed. It ends too when the test that started it does.

It runs inside the namespace and imports only the standard library and the model, so that nothing of the test leaks in.
"""

import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from tests.hosts.model.server import Model

PORT = 8080
"""Nothing else can hold it: the network is this program's own."""

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 1


def main(spec: Mapping[str, Any]) -> None:
    signal.signal(signal.SIGTERM, leave)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    raise_loopback()
    folder = Path(spec["folder"])
    model = Model(folder / "script.json", folder / "requests.jsonl", PORT)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    try:
        outcome = run(spec, folder)
    finally:
        left = end_children()
    (folder / "outcome.json").write_text(json.dumps(outcome | {"left_behind": left}))


def run(spec: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    started = time.monotonic()
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        program = subprocess.Popen(
            spec["command"], cwd=spec["cwd"], env=spec["env"], stdin=subprocess.DEVNULL, stdout=out, stderr=err
        )
        try:
            code = program.wait(spec["deadline_s"])
        except subprocess.TimeoutExpired:
            code = None
    return {"code": code, "seconds": round(time.monotonic() - started, 2)}


def end_children() -> list[str]:
    """End everything below this process, orphans among it, and say what it was."""
    left: list[str] = []
    while children := mine():
        for pid in children:
            with suppress(OSError):
                left.append(Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip())
            os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):  # what the model let happen meanwhile has a thread that waits for it
                os.waitpid(pid, 0)
    return [command for command in left if command]


def mine() -> list[int]:
    """The children of every thread. They are not reaped by anyone else, so that their ids cannot be taken anew."""
    tasks = Path("/proc/self/task").glob("*/children")
    return [int(pid) for task in tasks for pid in task.read_text().split()]


def raise_loopback() -> None:
    """`ip link set lo up`, without the need of iproute2."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack_from("16sh", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def leave(*_: object) -> NoReturn:
    sys.exit(1)


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
