"""Agents that reserve and wait in processes of their own: what the hazards of the guard are shown with."""

import os
import time
from typing import Any

import rookery
from tests.support.hands import house
from tests.support.inside import environment, hear, say

HASTY = environment(HOME="/x", ROOK_GUARD_TTL_LOW_S="0.001")
# No look beneath the bell for an hour: whoever is granted anything was rung.
DEEP_SLEEP = HASTY | {"ROOK_POLL_S": "3600", "ROOK_GUARD_WAITER_S": "3600"}


def be_alone(home: str, name: str, paths: list[str], folder: str, rounds: int, wait: float) -> None:
    """Reserve what others want too, and be alone in the folder meanwhile. Says how often it was refused."""
    with house(home) as team:
        me = team.join(name)
        say("ready")
        hear()
        refused = 0
        for _ in range(rounds):
            while True:
                try:
                    hold = me.reserve(*paths, wait=wait)
                    break
                except rookery.Refused as refusal:
                    if refusal.code != "RESERVED":
                        raise
                    refused += 1
            with hold:
                path = os.path.join(folder, "someone is here")
                os.close(os.open(path, os.O_CREAT | os.O_EXCL))  # fails if anyone else is
                os.unlink(path)
        say(refused)
        hear()


def hold(home: str, name: str, paths: list[str], ttl_ms: int) -> None:
    """Reserve without any renewing, say when it was asked for, and do nothing until told or killed."""
    with house(home) as team:
        me = team.join(name)
        asked = time.monotonic_ns()
        granted = me.call("reserve", paths=paths, ttl_ms=ttl_ms)
        say([asked, granted["id"]])
        hear()


def hold_in_a_block(home: str, name: str, paths: list[str], ttl_ms: int) -> None:
    """`with me.reserve()`, until told. Says how the block ended."""
    with house(home) as team:
        me = team.join(name)
        try:
            with me.reserve(*paths, ttl_ms=ttl_ms):
                say("held")
                hear()
            say("given back")
        except rookery.LeaseLost as lost:
            say(["lost", lost.code])
        hear()


def stand_in_line(home: str, name: str, paths: list[str], wait: float) -> None:
    """Wait for paths; say that they were granted, and hold them until told."""
    with house(home) as team:
        me = team.join(name)
        say("ready")
        with me.reserve(*paths, wait=wait) as granted:
            say({"waiting": list(granted.waiting)})
            hear()
        say("given back")
        hear()


def use_slot(home: str, name: str, slot: str, folder: str, capacity: int, rounds: int) -> None:
    """Take a slot again and again, never with more than there are. Says the most it saw at once."""
    with house(home) as team:
        me = team.join(name)
        say("ready")
        hear()
        most = 0
        for n in range(rounds):
            with me.slot(slot, wait=60):
                mine = os.path.join(folder, f"{name}-{n}")
                os.close(os.open(mine, os.O_CREAT | os.O_EXCL))
                seen = len(os.listdir(folder))
                assert seen <= capacity, f"{seen} at once"
                most = max(most, seen)
                os.unlink(mine)
        say(most)
        hear()


def lawless(deed: str, **args: Any) -> None:
    """The control: everything is granted to everyone."""
    from rookery.service import holding

    holding.in_the_way = lambda *args, **kwargs: []
    globals()[deed](**args)
