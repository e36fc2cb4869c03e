"""Writers that are killed, and the conductor who kills them: `tests/torture` says what must hold.

The conductor runs in a process of its own, single-threaded, so that it may fork: a forked writer begins within a
millisecond, and two hundred rounds of killing take seconds. Nobody forks with a store open.
"""

import os
import random
import selectors
import signal
import time
import traceback
from collections.abc import Callable
from itertools import count
from typing import Any

import rookery
from rookery.store import faults
from tests.support import ledger
from tests.support.inside import die, hear, say

TEAM = "torture"
_mouth: list[int] = []  # of this process, if it is a writer


def house(home: str) -> Any:
    return rookery.connect(team=TEAM, home=home, cwd="/")


# --- a writer ---------------------------------------------------------------------------------------------------------


def scribble(home: str, name: str, tell: Callable[[str, str], None]) -> None:
    """Send, acknowledge and broadcast for ever; tell of each only after it returned."""
    team = house(home)
    me = team.join(name, takeover=True)
    number = 0
    while True:
        number += 1
        receipt = me.send([name, "user"], f"{name} {number}", "body " * (number % 50), tags=["kill"])
        tell("sent", receipt.id)
        if number % 2 == 0:
            me.ack(receipt.id)
            tell("acked", receipt.id)
        if number % 5 == 0:
            tell("sent", me.reply(receipt.id, "To myself").id)
        if number % 7 == 0:
            tell("sent", me.escalate("Help")["id"])


def fork_writer(home: str, name: str) -> tuple[int, int]:
    """(pid, the end of the pipe from which its word is heard)."""
    ear, mouth = os.pipe()
    pid = os.fork()
    if pid:
        os.close(mouth)
        return pid, ear
    try:
        os.close(ear)
        _mouth[:] = [mouth]
        scribble(home, name, lambda what, id: (os.write(mouth, f"{what} {id}\n".encode()), None)[1])
    except BaseException:
        os.write(mouth, f"error {traceback.format_exc()!r}\n".encode())
    os._exit(1)


# --- the conductor ----------------------------------------------------------------------------------------------------


def conduct(home: str, cycles: int, writers: int, longest_ms: float, seed: int, new_home_every: int) -> None:
    """Round after round: start writers, kill all of them after a random while, look at what they left."""
    os.makedirs(home)
    _rehearse(f"{home}/rehearsal")
    chance = random.Random(seed)
    sent: set[str] = set()
    acked: set[str] = set()
    kills = told = 0
    here = home
    for cycle in range(cycles):
        if cycle % new_home_every == 0:  # so that some die while they make the database
            say(cycle)  # still at it
            here = f"{home}/{cycle}"
            sent.clear()
            acked.clear()
        words, problems = _round(here, writers, chance, longest_ms)
        # On a busy machine a writer needs longer to get anywhere: some must die early, and some in the midst of work.
        longest_ms = min(longest_ms * 1.25, 2_000) if len(words) < 3 * writers else max(longest_ms * 0.8, 10)
        kills += writers
        told += len(words)
        for what, id in words:
            {"sent": sent, "acked": acked, "error": set()}[what].add(id)
        problems += [id for what, id in words if what == "error"]
        path = f"{here}/rookery.db"
        if os.path.exists(path) and ledger.ask(path, "PRAGMA user_version") != [(0,)]:
            problems += ledger.faults(path, sent=sent, acked=acked)
        elif sent:
            problems.append("the database is gone")
        if problems:
            say({"cycle": cycle, "problems": problems})
            return
    say({"cycles": cycles, "kills": kills, "told": told, "problems": []})


def _rehearse(home: str) -> None:
    """Import everything before the first fork; nothing stays open."""
    with house(home) as team:
        me = team.join("w0")
        me.ack(me.send("w0", "x").id)
        me.escalate("x")


def _round(home: str, writers: int, chance: random.Random, longest_ms: float) -> tuple[list[list[str]], list[str]]:
    started = [fork_writer(home, f"w{number}") for number in range(writers)]
    heard = _listen([ear for _, ear in started], chance.uniform(0, longest_ms) / 1000)
    for pid, _ in started:
        os.kill(pid, signal.SIGKILL)
    problems: list[str] = []
    for pid, ear in started:
        _, status = os.waitpid(pid, 0)
        while more := os.read(ear, 1 << 16):
            heard[ear] += more
        os.close(ear)
        if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
            problems.append(f"a writer ended by itself: {os.waitstatus_to_exitcode(status)}")
    whole = b"".join(data.rpartition(b"\n")[0] + b"\n" for data in heard.values())
    return [line.decode().split(" ", 1) for line in whole.splitlines() if line], problems


def _listen(ears: list[int], seconds: float) -> dict[int, bytes]:
    heard = dict.fromkeys(ears, b"")
    end = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for ear in ears:
            selector.register(ear, selectors.EVENT_READ)
        while (left := end - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                heard[key.fd] += os.read(key.fd, 1 << 16)
                if not heard[key.fd]:
                    return heard
    return heard


def conduct_liars(home: str, cycles: int, writers: int, longest_ms: int, seed: int) -> None:
    """The same with writers that tell of a message before it is sent, as a queue in memory would."""
    real, numbers = rookery.Agent.send, count()

    def hasty(self: Any, to: Any, subject: str, body: str = "", **more: Any) -> Any:
        if not _mouth:
            return real(self, to, subject, body, **more)
        made = f"MSG-{os.getpid():08d}{next(numbers):04d}"
        os.write(_mouth[0], f"sent {made}\n".encode())
        return real(self, to, subject, body, id=made, **more)

    rookery.Agent.send = hasty  # type: ignore[method-assign]
    conduct(home, cycles, writers, longest_ms, seed, new_home_every=10)


# --- named fault points -----------------------------------------------------------------------------------------------


def do_one_thing(home: str, deed: str, point: str = "", id: str = "") -> None:
    """Join, then do one thing; with `point`, die there. What is said is what the caller would have been told."""
    team = house(home)
    me = team.join("ada", takeover=True) if deed != "join" else team.agent("ada")
    if point:
        faults.arm(point, die)
    if deed == "join":
        say(team.join("ada", takeover=True).joined["session"])
    elif deed == "send":
        say(me.send(["bob", "ada"], "Hello", "There").id)
    elif deed == "broadcast":
        say(me.broadcast("Hello").id)
    elif deed == "ack":
        me.ack(id)
        say("acked")
    faults.disarm()
    team.close()


def make_current_at(home: str, kill_after: int) -> None:
    """Die in the middle of making the database: after so many statements of the connection factory."""
    from rookery.store import opening

    real = opening.rows
    done = 0

    def counted(*args: Any) -> Any:
        nonlocal done
        if done == kill_after:
            die()
        done += 1
        return real(*args)

    opening.rows = counted
    house(home).join("ada")
    say(done)


def hold_the_lock(home: str) -> None:
    """Stop in the middle of a send, with the lock in hand, until told (or killed)."""
    team = house(home)
    me = team.join("eve", takeover=True)
    faults.arm("before_commit", lambda: (say("held"), hear(), None)[2])
    say(me.send("eve", "Late").id)
    team.close()
