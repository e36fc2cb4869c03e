"""A child's side of `tests.support.procs`: imported by every one that is started, so it takes little time to import."""

import json
import os
import signal
import sys
from importlib import import_module
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def environment(**more: str) -> dict[str, str]:
    """What a child sees: the way to programs and to this repository, and nothing of the person who runs the tests."""
    here = os.pathsep.join((os.path.join(ROOT, "src"), ROOT))  # this tree, wherever the package is installed from
    return {"PATH": os.environ["PATH"], "PYTHONPATH": here, "PYTHONWARNINGS": "error", **more}


def say(word: Any) -> None:
    """One line, in one write: a child killed in the middle has said it or not."""
    os.write(1, json.dumps(word).encode() + b"\n")


def hear() -> str:
    """The next line; "" when the test has gone."""
    return sys.stdin.readline().rstrip("\n")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    module, _, function = sys.argv[1].partition(":")
    getattr(import_module(module), function)(**json.loads(sys.argv[2]))


if __name__ == "__main__":
    main()
