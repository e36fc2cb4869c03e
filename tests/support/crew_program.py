"""The program of scripted workers in a crew that is killed: small work in its worktree, or a verdict on another's.

Run by its path, as the word after the interpreter: `crew_program.py FOLDER`. What it is at is told in the file `steps`
of that folder, a line of `run pid step` each, so that whoever kills may choose a moment. What a task makes is decided
by its title alone, so that any number of attempts make the same; nothing here repairs what a kill broke.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path
from zlib import crc32

import rookery.worker
from rookery.worker import Worker

CHAINS = 5  # a task builds on the one so many before it
PAUSE_S = 0.03
STEPS = ("awake", "written", "committed", "reporting", "judging")


def mark(folder: str, step: str) -> None:
    line = f"{os.environ['ROOK_RUN']} {os.getpid()} {step}\n"
    descriptor = os.open(f"{folder}/steps", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, line.encode())
    os.close(descriptor)
    threading.Event().wait(PAUSE_S)  # real work takes a while, and this is when whoever kills may strike


def made(number: int, before: bytes) -> bytes:
    """The file of a task, by its number and the file it builds on."""
    return f"task {number} after {crc32(before):08x}\n".encode() * (1 + number % 3)


def lines(chain: bytes, number: int) -> bytes:
    """The file of a chain with the line of this task, once."""
    line = f"task {number}\n".encode()
    return chain if line in chain.splitlines(keepends=True) else chain + line


def work(me: Worker, folder: str, number: int) -> None:
    place, chain = Path(f"work/{number}.txt"), Path(f"chains/{number % CHAINS}.txt")
    before = Path(f"work/{number - CHAINS}.txt").read_bytes() if number > CHAINS else b""
    for path, data in (
        (place, made(number, before)),
        (chain, lines(chain.read_bytes() if chain.exists() else b"", number)),
    ):
        path.parent.mkdir(exist_ok=True)
        whole = Path(folder, os.environ["ROOK_RUN"])  # a file that is torn by a kill would be this program's own fault
        whole.write_bytes(data)
        whole.replace(path)
    mark(folder, "written")
    if number % 2:  # the others leave that to the report
        subprocess.run(["git", "add", "--all"], check=True)
        who = ["-c", "user.name=w", "-c", "user.email=w@localhost"]
        subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", f"Task {number}"], check=True)
    mark(folder, "committed")
    mark(folder, "reporting")
    me.done("completed", f"Wrote {place} and added its line to {chain}, as the task says.", [str(place), str(chain)])


def judge(me: Worker, folder: str, number: int) -> None:
    """What is in the change is looked at; every sixth task is sent back once."""
    task = me.agent.call("task.show", id=me.task)
    mark(folder, "judging")
    if number % 6 == 0 and not task["reviews"]:
        me.agent.call("task.review", id=me.task, verdict="NEEDS_WORK", feedback="Look at it once more.")
    else:
        me.agent.call("task.review", id=me.task, verdict="SHIP", feedback="Its file and its line are there.")


def main() -> None:
    folder = sys.argv[1]
    with rookery.worker.here() as me:
        mark(folder, "awake")
        own = me.agent.call("worker.self")["worker"]
        number = int(own["title"].split()[1])
        (judge if own["role"] == "review" else work)(me, folder, number)


if __name__ == "__main__":
    main()
