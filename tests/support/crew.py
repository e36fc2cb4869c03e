"""Agents in processes of their own, through the Python API as a program uses it: the hazards are shown with them."""

import hashlib
import os
import random
import select
import sys
from typing import Any

import rookery
from rookery.app import open_house
from rookery.client.handles import Team
from rookery.runtime import process
from rookery.runtime.clock import SystemClock
from tests.support.inside import hear, say

TEAM = "crew"
DAY_MS = 86_400_000


def house(home: str) -> Team:
    return rookery.connect(team=TEAM, home=home, cwd="/")


def told() -> bool:
    """Whether the test has said something (or gone away)."""
    return bool(select.select([sys.stdin], [], [], 0)[0])


# --- mail -------------------------------------------------------------------------------------------------------------


def send_large(home: str, name: str, to: str, count: int, size: int) -> None:
    """Large messages whose subject is the digest of their body; each id is told after `send` returned."""
    with house(home) as team:
        me = team.join(name)
        say("ready")
        hear()
        for number in range(count):
            body = f"{name} {number} ".ljust(size, "abcdefg "[number % 8])
            say(me.send(to, hashlib.sha256(body.encode()).hexdigest(), body).id)


def read_until(home: str, name: str, last: str) -> None:
    """Wait, check each message against its digest, acknowledge; until the one with this subject."""
    with house(home) as team:
        me = team.join(name)
        say("ready")
        hear()
        over = False
        while not over:
            for message in me.wait(timeout=60):
                over = over or message.subject == last
                whole = message.subject == last or message.subject == hashlib.sha256(message.body.encode()).hexdigest()
                me.ack(message.id)
                say([message.id, whole])


def look_and_wait(home: str, name: str, step: str) -> None:
    """Take the mail up to a step (inbox, read, processing), then wait to be killed, or fail with what was taken."""
    with house(home) as team:
        me = team.join(name, takeover=True)
        (message,) = me.inbox()
        if step == "read":
            message.read()
        elif step == "processing":
            message.ack("processing")
        elif step == "raise":
            raise RuntimeError("a callback that throws")
        say(message.id)
        hear()


class JumpingClock(SystemClock):
    """A calendar that is somewhere else at every look."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._chance = random.Random(seed)

    def wall_ms(self) -> int:
        return super().wall_ms() + self._chance.randrange(-400 * DAY_MS, 400 * DAY_MS)


def send_numbered(home: str, name: str, to: str, count: int, seed: int) -> None:
    """Messages 0, 1, 2 ... under a calendar that jumps."""
    found = open_house(cwd="/", environ={"ROOK_HOME": home, "HOME": "/x"}, team=TEAM)
    found.clock = JumpingClock(seed)
    team = Team(found.client, found.caller(), another=lambda: found.client, process=process.identify(os.getpid()))
    me = team.join(name)
    say("ready")
    hear()
    for number in range(count):
        me.send(to, f"{name} {number}")
    team.close()


def follow(home: str, upto: int) -> None:
    """Every message that is told in the log, by cursor, until so many were seen."""
    with house(home) as team:
        say("ready")
        hear()
        seen: list[list[Any]] = []
        for event in team.follow():
            if event["type"] == "message":
                seen.append([event["seq"], event["preview"]])
                if len(seen) == upto:
                    break
        say(seen)


def stream(home: str, to: str, most: int) -> None:
    """A steady stream until the test says so; how many it were."""
    with house(home) as team:
        me = team.join("stream")
        say("ready")
        hear()
        sent = 0
        while sent < most and not told():
            me.send(to, str(sent))
            sent += 1
        say(sent)


def wait_for_the_first(home: str, name: str) -> None:
    """Say what had been sent by the time the first message was in hand."""
    with house(home) as team:
        me = team.join(name)
        say("ready")
        hear()
        (first, *_) = me.wait(timeout=60)
        say([first.subject, team.call("events")["newest"] - first.seq])


def ack_all(home: str, name: str, ids: list[str]) -> None:
    """Acknowledge the same messages as someone else does at this moment; which of them this one changed."""
    with house(home) as team:
        me = team.agent(name)
        say("ready")
        hear()
        say([id for id in ids if me.call("ack", ids=[id])["messages"][0]["changed"]])


def be(home: str, name: str, how: str) -> None:
    """Be an agent that lives, waits, or has left; until told."""
    with house(home) as team:
        me = team.join(name)
        if how == "left":
            me.leave()
        if how == "waiting":
            with team.client.listen(name):
                say("ready")
                hear()
            return
        say("ready")
        hear()


def write_home(home: str, name: str, count: int) -> None:
    with house(home) as team:
        me = team.join(name)
        say("ready")
        hear()
        for number in range(count):
            say(me.send("reader", f"{name} {number}").id)


# --- names ------------------------------------------------------------------------------------------------------------


def race(home: str) -> None:
    """For each name that is heard: join it at once, say how that went, and when asked, whether it can still speak."""
    with house(home) as team:
        say("ready")
        while words := hear().split():
            name, takeover = words[0], len(words) > 1
            me = None
            try:
                me = team.join(name, takeover=takeover)
                say({"joined": me.joined["epoch"]})
            except rookery.RookError as error:
                say({"refused": error.code})
            hear()
            try:
                say({"spoke": me.send(name, "Mine").id} if me else {"silent": True})
            except rookery.RookError as error:
                say({"refused": error.code})


def sleep_as(uid: int | None) -> None:
    """A process of another user that does nothing."""
    if uid is not None:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    say("ready")
    hear()


def leave_a_zombie() -> None:
    """A child that has ended and that nobody asks for its exit code."""
    pid = os.fork()
    if pid == 0:
        os.read(0, 1)
        os._exit(0)
    say(pid)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    say("zombie")
    sys.stdin.buffer.raw.read(1)  # type: ignore[attr-defined]
