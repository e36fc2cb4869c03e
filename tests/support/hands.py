"""Agents that work on tasks in processes of their own: what the hazards of tasks are shown with."""

import os
import random
import time
from typing import Any

import rookery
from rookery.client.handles import Agent, Team
from rookery.core import errors, tasks
from rookery.store import queries
from tests.support.inside import environment, hear, say

TEAM = "crew"
# Leases of milliseconds, and as many attempts as it takes.
HASTY = environment(HOME="/x", ROOK_TASKS_TTL_LOW_S="0.001", ROOK_TASKS_ATTEMPTS="1000")


def house(home: str) -> Team:
    return rookery.connect(team=TEAM, home=home, cwd="/")


# --- racing -----------------------------------------------------------------------------------------------------------


def take_all(home: str, name: str, finish: bool) -> None:
    """Claim the next task until there is none; says which, each with its epoch, a few at a time."""
    with house(home) as team:
        me = team.join(name)
        say("ready")
        hear()
        taken: list[list[Any]] = []
        while (claimed := me.call("task.claim", next=True))["taskId"] is not None:
            taken.append([claimed["taskId"], claimed["lease"]["epoch"]])
            if finish:
                me.call("task.done", id=claimed["taskId"], epoch=claimed["lease"]["epoch"], summary=name)
            if len(taken) == 100:
                say(taken)
                taken = []
        say([*taken, None])
        hear()  # what the dead hold is free


def take_each(home: str, name: str, ids: list[str]) -> None:
    """Try to claim each of these, all in the same order; says which it got, and None at the end."""
    with house(home) as team:
        me = team.join(name)
        say("ready")
        hear()
        taken: list[list[Any]] = []
        for id in ids:
            epoch = attempt(me, id, "TASK_NOT_CLAIMABLE")
            taken += [[id, epoch]] if epoch else []
        say([*taken, None])
        hear()


def attempt(me: Agent, id: str, expected: str) -> int:
    """The epoch, or 0 when it is refused as expected."""
    try:
        return me.call("task.claim", id=id)["lease"]["epoch"]
    except errors.Refused as refusal:
        if refusal.code != expected:
            raise
    return 0


def make(home: str, name: str, count: int) -> None:
    """Add tasks; says their ids, and None at the end."""
    with house(home) as team:
        me = team.join(name)
        say("ready")
        hear()
        say([*(me.call("task.add", title=f"{name} {n}")["id"] for n in range(count)), None])


def work_alone(home: str, name: str, id: str, folder: str, rounds: int) -> None:
    """Claim a task whose paths others want too, and be alone in the folder while it is held. Says how often it was
    refused before it had its rounds."""
    with house(home) as team:
        me = team.join(name)
        say("ready")
        hear()
        refused = 0
        for _ in range(rounds):
            while not attempt(me, id, "RESOURCE_HELD"):
                refused += 1
            path = os.path.join(folder, "someone is here")
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))  # fails if anyone else is
            os.unlink(path)
            me.call("task.release", id=id)
        say(refused)
        hear()


# --- holding ----------------------------------------------------------------------------------------------------------


def hold_and_wait(home: str, name: str, id: str, ttl_ms: int) -> None:
    """Claim without any renewing, say when it was asked for, and do nothing until told or killed."""
    with house(home) as team:
        me = team.join(name)
        asked = time.monotonic_ns()
        claimed = me.call("task.claim", id=id, ttl_ms=ttl_ms)
        say([asked, claimed["lease"]["epoch"]])
        hear()


def work_in_a_block(home: str, name: str, id: str, ttl_ms: int) -> None:
    """`with me.claim()`: hold a task until told, then complete it. Says how the block ended."""
    with house(home) as team:
        me = team.join(name)
        try:
            with me.claim(id, ttl_ms=ttl_ms) as lease:
                say(lease.epoch)
                if hear() == "complete":
                    lease.complete("worked long")
            say(team.call("task.show", id=id)["status"])
        except rookery.LeaseLost as lost:
            say(["lost", lost.code])


def wake_as_a_zombie(home: str, name: str, id: str, ttl_ms: int) -> None:
    """Hold a task in a block. After the word (and whatever happened before it), try every write under the old epoch
    behind the lease's back, then through the lease; says what each was answered."""
    with house(home) as team:
        me = team.join(name)
        told: dict[str, Any] = {}
        try:
            with me.claim(id, ttl_ms=ttl_ms) as lease:
                say(lease.epoch)
                hear()
                told["raw"] = {verb: stale(me, verb, id, lease.epoch) for verb in WRITES}
                told["lease"] = through(lease)
                told["lost"] = lease.lost is not None
        except rookery.LeaseLost as lost:
            told["block"] = lost.code
        say(told)


WRITES: dict[str, dict[str, Any]] = {
    "task.renew": {},
    "task.progress": {"said": "still here"},
    "task.done": {"summary": "from the dead"},
    "task.fail": {"reason": "from the dead"},
    "task.block": {"reason": "from the dead"},
    "task.release": {},
}


def stale(me: Agent, verb: str, id: str, epoch: int) -> str:
    try:
        me.call(verb, id=id, epoch=epoch, **WRITES[verb])
    except rookery.LeaseLost as refusal:
        return refusal.code
    return "accepted"


def through(lease: Any) -> str:
    try:
        lease.complete("too late")
    except rookery.LeaseLost:
        return "LeaseLost"
    return "accepted"


# --- recording (tests/model/test_linearizable.py) ---------------------------------------------------------------------


def record(
    home: str, name: str, ids: list[str], ttl_ms: int, count: int, seed: int, spoil: list[list[str]], lawless: bool
) -> None:
    """Do things to tasks at random, and say all that was done: [task, op, epoch, called, returned, answer]."""
    _spoil(spoil, lawless)
    with house(home) as team:
        team.join(name).leave()  # known, but without a process that others would look at
        me, person = team.agent(name), team.agent("user")
        say("ready")
        hear()
        chance = random.Random(seed)
        epochs: dict[str, list[int]] = {id: [] for id in ids}
        said: list[list[Any]] = []
        for _ in range(count):
            id = chance.choice(ids)
            op = chance.choices(["claim", "renew", "done", "release", "reset"], [8, 8, 2, 2, 2])[0]
            known = epochs[id]
            if op in ("renew", "done", "release") and not known:
                op = "claim"
            epoch = None if op in ("claim", "reset") else chance.choice([known[-1], known[-1], chance.choice(known)])
            done = _timed(person if op == "reset" else me, op, id, epoch, ttl_ms)
            said.append([id, op, epoch, *done])
            if op == "claim" and isinstance(done[2], int):
                known.append(done[2])
        say(said)


def _timed(agent: Agent, op: str, id: str, epoch: int | None, ttl_ms: int) -> tuple[int, int, int | str]:
    args: dict[str, Any] = {"id": id} | ({"epoch": epoch} if epoch is not None else {})
    args |= {"ttl_ms": ttl_ms} if op in ("claim", "renew") else {}
    called = time.monotonic_ns()
    try:
        answer = agent.call(f"task.{op}", **args)
        told: int | str = answer["lease"]["epoch"] if op in ("claim", "renew") else answer["epoch"]
    except errors.Refused as refusal:
        told = refusal.code
    return called, time.monotonic_ns(), told


def _spoil(spoil: list[list[str]], lawless: bool) -> None:
    """A seeded bug: statements without their fence, and a law that lets every claim pass."""
    text = queries.load("sqlite")
    for query, old, new in spoil:
        assert old in text[query], "the fence was rewritten: spoil it another way"
        text[query] = text[query].replace(old, new)
    queries.load = lambda dialect: text  # type: ignore[assignment]
    if lawless:
        tasks.claim_refusal = lambda *args, **kwargs: None  # type: ignore[assignment]


# --- forking (tests/unit/test_client_leases.py) -----------------------------------------------------------------------


def fork_with_a_lease(home: str, mine: str, other: str) -> None:
    """Fork while a lease is held and renewed. The child's copy is dead; a lease of the child's own is renewed."""
    with house(home) as team:
        me = team.join("parent")
        with me.claim(mine, ttl_ms=1500) as lease:
            pid = os.fork()
            if pid == 0:
                say({"copy": _dead(lease)})
                with house(home) as again, again.join("child").claim(other, ttl_ms=1500) as own:
                    say({"renewed": _renewed(own)})
                    own.complete("by the child")
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
            say({"parent": _renewed(lease)})
            lease.complete("by the parent")


def _dead(lease: Any) -> str:
    try:
        lease.renew()
    except errors.RookError as error:
        return error.code
    return "alive"


def _renewed(lease: Any) -> bool:
    """Wait for the background to move its end, twice."""
    for _ in range(2):
        before = lease.trusted_until
        while lease.trusted_until == before:
            lease.check()
    return True
