"""What a statement costs grows with what it touches: no plan walks a team's mail to find one message."""

import re
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from rookery.store import queries
from rookery.store.opening import Patience, open_connection, rows

STATEMENTS = queries.load("sqlite")
# Statements that are about the whole team, by their purpose: statistics, upkeep, lists of agents.
WHOLE_TEAM = {
    "agent_names", "agent_roles", "agents_expected", "agents_that_used", "busiest_senders", "candidates_for_role",
    "all_dead_letters", "changes", "counted_dead", "landings", "plan_lands", "dead_letters", "count_mail",
    "hosts_heard", "reachable", "store_is_new", "store_teams", "store_teams_with", "sweep_attempts",
    "debt_counted", "debts", "decisions_counted", "deliverables", "docket_counted", "docket_open", "count_types",
    "escalations", "new_agent", "oldest_waiting", "present", "recent_activity", "silent_sessions",
    "retrying", "spec_claims", "store_teams_untold", "store_teams_watched", "stuck_candidates", "vitals_shown",
    "watched", "newest_sessions",  # along the primary key, up to its limit
    "team_agents", "thread_people", "tokens_of_team", "workers_all", "workers_listed",
}  # fmt: skip
LARGE = {
    "debt", "decisions", "deliverables",
    "deliveries", "events", "holds", "messages", "receipts", "reservations", "review_items", "sessions", "spec_claims",
    "task_deps", "task_log", "tasks", "tokens", "usage", "usage_meters",
}  # fmt: skip
WALK = re.compile(r"^(SCAN \w+|SEARCH \w+ .*\(team=\?\))")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[apsw.Connection]:
    path: Path = tmp_path_factory.mktemp("plans") / "rookery.db"
    connection = open_connection(str(path), Patience(), 10)
    yield connection
    connection.close()


def walks(ledger: apsw.Connection, name: str) -> list[str]:
    """Tables that a statement goes through from end to end."""
    statement = STATEMENTS[name]
    if not LARGE & set(re.findall(r"\w+", statement)):
        return []
    params = dict.fromkeys(re.findall(r":(\w+)", statement), 1)
    plan = [row[3] for row in rows(ledger, f"EXPLAIN QUERY PLAN {statement}", params)]
    parts = {line.split()[1] for line in plan if line.startswith(("CO-ROUTINE", "MATERIALIZE"))}  # judged by themselves
    harmless = ("CONSTANT ROW", "VIRTUAL", *(f"SCAN {name}" for name in parts))
    return [line for line in plan if WALK.match(line) and not any(each in line for each in harmless)]


def test_a_statement_finds_its_rows_by_an_index(ledger: apsw.Connection) -> None:
    found = {name: walks(ledger, name) for name in sorted(STATEMENTS.keys() - WHOLE_TEAM)}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_every_exception_is_a_statement_and_one_that_walks_is_found(ledger: apsw.Connection) -> None:
    assert STATEMENTS.keys() >= WHOLE_TEAM
    assert any(walks(ledger, name) for name in WHOLE_TEAM)
