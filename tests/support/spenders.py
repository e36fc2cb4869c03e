"""Agents that report what they use, in processes of their own."""

import rookery
from tests.support.inside import hear, say

TEAM = "crew"


def spend(home: str, name: str, count: int) -> None:
    """Report one token at a time for an own task, every second one twice under one key, and a meter that rises."""
    with rookery.connect(team=TEAM, home=home, cwd="/") as team:
        me = team.join(name)
        task = me.call("task.add", title=f"Work of {name}")["id"]
        say("ready")
        hear()
        for turn in range(count):
            me.call("usage_report", input=1, task=task, key=f"k{turn // 2}")
            me.call("usage_report", input=2 * turn, task=task, meter="m")
        say("done")


def try_to_send(home: str, name: str, count: int) -> None:
    """Report and send in turn until the budget refuses; says how many were sent."""
    with rookery.connect(team=TEAM, home=home, cwd="/") as team:
        me = team.join(name)
        say("ready")
        hear()
        sent = 0
        for _ in range(count):
            try:
                me.send("boss", "s")
            except rookery.BudgetSpent:
                break
            sent += 1
            me.call("usage_report", input=1)
        say(sent)
