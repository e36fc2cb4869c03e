"""Seed 004, section 7: its examples, unchanged but for the import, in processes that see each other's mail."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rookery

ARCHITECT = """
from rookery.mailbox import send_handoff, MessagePriority

# After completing design work
send_handoff(
    from_agent="swarm_dev/architect",
    to_agent="swarm_dev/implementer",
    subject="Implement Agent Mailbox System",
    work_completed="Complete design documented in MAILBOX_DESIGN.md",
    current_state="Design approved, ready for implementation",
    next_steps=[
        "Create shared/agent_mailbox.py with all classes",
        "Add to shared/__init__.py exports",
        "Create unit tests in tests/test_agent_mailbox.py",
        "Integrate with agent_executor_pool.py",
        "Update agent system prompts",
    ],
    files_modified=["workspace/MAILBOX_DESIGN.md"],
    blockers=[],
    swarm_name="swarm_dev",
    priority=MessagePriority.HIGH,
)
"""

COO = '''
from rookery.mailbox import broadcast_to_swarm, MessagePriority

# Announce priority change
broadcast_to_swarm(
    from_agent="coo",
    swarm_name="swarm_dev",
    subject="Priority Change: Mailbox system now P1",
    body="""
    The mailbox system has been elevated to P1 priority.

    All agents should:
    1. Pause non-critical work
    2. Check your mailbox for assigned tasks
    3. Report blockers immediately via escalation

    Expected completion: EOD today.
    """,
    priority=MessagePriority.URGENT,
)
'''

IMPLEMENTER = """
from rookery.mailbox import check_my_mailbox, get_mailbox_manager

# Check for pending work
messages = check_my_mailbox("swarm_dev/implementer")

print(f"You have {len(messages)} pending message(s)")

for msg in messages:
    print(f"\\n{'='*50}")
    print(msg.to_markdown())

    # Mark as read
    manager = get_mailbox_manager()
    manager.read_message(msg.id)

    # If it's a handoff, start processing
    if msg.type.value == "handoff":
        manager.mark_processing(msg.id)

        # ... do the work ...

        manager.mark_completed(msg.id, archive=True)
"""

CRITIC = '''
from rookery.mailbox import get_mailbox_manager, MessagePriority

manager = get_mailbox_manager()

# Reply to a message
manager.reply(
    original_message_id="MSG-abc123def456",
    from_agent="swarm_dev/critic",
    body="""
    ## Code Review Complete

    **Verdict:** NEEDS_CHANGES

    ### Issues Found:
    1. Line 145: Missing thread safety in _save_message
    2. Line 203: Should validate agent_name format
    3. Line 289: Add timeout to file operations

    Please address these issues before merging.
    """,
    payload={
        "verdict": "NEEDS_CHANGES",
        "issue_count": 3,
    },
)
'''


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    agents = tmp_path / "repo" / "swarms" / "swarm_dev" / "agents"
    agents.mkdir(parents=True)
    for name in ("architect", "implementer", "critic"):
        (agents / f"{name}.md").write_text(f"You are the {name}.\n")
    return tmp_path / "repo"


def python(repo: Path, *args: str) -> str:
    """What a process of its own says, in an environment made for it."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(repo.parent / "home"),
        "ROOK_HOME": str(repo.parent / "rook"),
        "PYTHONWARNINGS": "error",
    }
    run = subprocess.run([sys.executable, *args], cwd=repo, env=environ, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.slow
def test_the_examples_work_together(repo: Path) -> None:
    # One process sends: the architect's handoff (7.1) and the COO's announcement (7.2).
    python(repo, "-c", ARCHITECT + COO)
    with rookery.connect(cwd=str(repo)) as team:
        waiting = team.agent("swarm_dev/implementer").inbox()
        assert [(each.type, each.priority) for each in waiting] == [("notification", "urgent"), ("handoff", "high")]
        assert [each.subject for each in team.agent("critic").inbox()] == ["Priority Change: Mailbox system now P1"]
    handoff = waiting[1]

    # `rook` sees the same mail.
    seen = json.loads(python(repo, "-m", "rookery", "inbox", "--as", "swarm_dev/implementer", "--json"))
    assert [each["id"] for each in seen["messages"]] == [each.id for each in waiting]

    # Another process reads it (7.3).
    said = python(repo, "-c", IMPLEMENTER)
    assert said.startswith("You have 2 pending message(s)\n")
    assert said.index("## [URGENT] Priority Change") < said.index("## [HIGH] Implement Agent Mailbox System")
    assert "- Update agent system prompts" in said
    assert "- `workspace/MAILBOX_DESIGN.md`" in said
    assert python(repo, "-c", IMPLEMENTER) == "You have 0 pending message(s)\n"

    # And a third answers the message that was found (7.4).
    python(repo, "-c", CRITIC.replace("MSG-abc123def456", handoff.id))
    with rookery.connect(cwd=str(repo)) as team:
        (answer,) = team.agent("swarm_dev/architect").inbox(types=["response"])
        states = team.call("receipts", id=handoff.id)["recipients"]
    assert (answer.sender, answer.subject) == ("swarm_dev/critic", "Re: Implement Agent Mailbox System")
    assert (answer.thread, answer.reply_to, answer.priority) == (handoff.id, handoff.id, "high")
    assert (answer.type, answer.group) == ("response", "swarm_dev")
    assert answer.payload == {"verdict": "NEEDS_CHANGES", "issue_count": 3}
    assert [(each["name"], each["state"]) for each in states] == [("swarm_dev/implementer", "archived")]


@pytest.mark.slow
def test_a_reply_to_a_message_that_is_not_there_is_no_error(repo: Path) -> None:
    python(repo, "-c", CRITIC)
    with rookery.connect(cwd=str(repo)) as team:
        assert team.call("stats")["deliveries"] == {}
