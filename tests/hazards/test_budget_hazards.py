"""Budgets among processes: no report is lost, and no send slips past a limit that is spent."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rookery
from tests.support import ledger, spenders
from tests.support.procs import Child, children, environment, start_together

PROCESSES, LIMIT = 8, 40


def eight(deed: Callable[..., Any], home: Path, **args: Any) -> list[Child]:
    own = environment(HOME=str(home))
    return [Child(deed, own, home=str(home), name=f"w{number}", **args) for number in range(PROCESSES)]


@pytest.mark.slow
def test_eight_processes_reporting_lose_no_update(tmp_path: Path) -> None:
    home, count = tmp_path / "rook", 10
    with rookery.connect(team=spenders.TEAM, home=str(home), cwd="/") as team:
        with children(*eight(spenders.spend, home, count=count)) as reporting:
            start_together(reporting)
            assert [child.hear() for child in reporting] == ["done"] * PROCESSES
        each = count // 2 + 2 * (count - 1)  # every key was used twice; the meter rose to its last reading
        shown = team.call("budget")
        assert shown["tokens"] == PROCESSES * each
        assert {card["agent"]: card["tokens"] for card in shown["agents"]} == {
            f"w{number}": each for number in range(PROCESSES)
        }
        assert [card["tokens"] for card in shown["tasks"]] == [each] * PROCESSES
    assert ledger.faults(str(home / "rookery.db")) == []


@pytest.mark.slow
def test_no_send_slips_past_a_limit_that_is_spent(tmp_path: Path) -> None:
    """Each sends, then reports one token. At most eight are between the two when the last token goes; after that
    report, no message of theirs is in the log."""
    home = tmp_path / "rook"
    with rookery.connect(team=spenders.TEAM, home=str(home), cwd="/") as team:
        team.call("team.set", members=["boss:leader"], max_tokens=LIMIT)
        with children(*eight(spenders.try_to_send, home, count=LIMIT + 1)) as racing:
            start_together(racing)
            sent = sum(child.hear() for child in racing)
        assert team.call("budget")["tokens"] == sent
        assert LIMIT <= sent < LIMIT + PROCESSES
        events = team.call("events", limit=10_000)["events"]
        spent_at = [event["seq"] for event in events if event["type"] == "usage"][LIMIT - 1]
        messages = [event for event in events if event["type"] == "message" and event["actor"] != "system"]
        assert len(messages) == sent
        assert all(event["seq"] < spent_at for event in messages)
    assert ledger.faults(str(home / "rookery.db")) == []
