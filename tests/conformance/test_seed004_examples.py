"""Seed 004, section 7: programs like its four examples, each in a process of its own, see each other's mail.

The programs are ours; they call the same functions with the same arguments as the examples there.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rookery

# 7.1: a structured handoff within a swarm.
HAND_OVER = """
from rookery.mailbox import MessagePriority, send_handoff

send_handoff(
    from_agent="web/designer",
    to_agent="web/builder",
    subject="Search box for the shop",
    work_completed="Sketches and the list of queries",
    current_state="Signed off by the shop owner",
    next_steps=["Index the product names", "Show ten results", "Measure the first paint"],
    files_modified=["sketches/search.svg"],
    blockers=[],
    swarm_name="web",
    priority=MessagePriority.HIGH,
)
"""

# 7.2: an announcement to the swarm by somebody who is not in it.
ANNOUNCE = """
import textwrap
from rookery.mailbox import MessagePriority, broadcast_to_swarm

broadcast_to_swarm(
    from_agent="manager",
    swarm_name="web",
    subject="The shop is down",
    body=textwrap.dedent('''
        Payments fail since nine o'clock.

        - Stop every deployment.
        - Write to me what you changed today.
    '''),
    priority=MessagePriority.URGENT,
)
"""

# 7.3: an agent that starts reads its mail, and takes up the work that was handed over.
WORK_OFF = """
from rookery.mailbox import MessageType, check_my_mailbox, get_mailbox_manager

boxes = get_mailbox_manager()
waiting = check_my_mailbox("web/builder")
print("waiting:", len(waiting))
for message in waiting:
    print(message.to_markdown(), end="\\n=====\\n")
    boxes.read_message(message.id)
    if message.type is MessageType.HANDOFF:
        boxes.mark_processing(message.id)
        boxes.mark_completed(message.id, archive=True)
"""

# 7.4: somebody else answers a message that is known by its id.
ANSWER = """
import sys
from rookery.mailbox import get_mailbox_manager

get_mailbox_manager().reply(
    original_message_id=sys.argv[1],
    from_agent="web/tester",
    body="Two queries find nothing.\\n\\nSee the table in the payload.",
    payload={"passed": False, "queries": ["socks", "size 9"]},
)
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    agents = tmp_path / "repo" / "swarms" / "web" / "agents"
    agents.mkdir(parents=True)
    for name in ("designer", "builder", "tester"):
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
    python(repo, "-c", HAND_OVER + ANNOUNCE)
    with rookery.connect(cwd=str(repo)) as team:
        waiting = team.agent("web/builder").inbox()
        assert [(each.type, each.priority) for each in waiting] == [("notification", "urgent"), ("handoff", "high")]
        assert [each.subject for each in team.agent("tester").inbox()] == ["The shop is down"]
    handoff = waiting[1]

    # `rook` sees the same mail.
    seen = json.loads(python(repo, "-m", "rookery", "inbox", "--as", "web/builder", "--json"))
    assert [each["id"] for each in seen["messages"]] == [each.id for each in waiting]

    said = python(repo, "-c", WORK_OFF)
    assert said.startswith("waiting: 2\n")
    assert said.index("## [URGENT] The shop is down") < said.index("## [HIGH] Search box for the shop")
    assert "- Measure the first paint" in said
    assert "- `sketches/search.svg`" in said
    assert python(repo, "-c", WORK_OFF) == "waiting: 0\n"

    python(repo, "-c", ANSWER, handoff.id)
    with rookery.connect(cwd=str(repo)) as team:
        (answer,) = team.agent("web/designer").inbox(types=["response"])
        states = team.call("receipts", id=handoff.id)["recipients"]
    assert (answer.sender, answer.subject) == ("web/tester", "Re: Search box for the shop")
    assert (answer.thread, answer.reply_to, answer.priority) == (handoff.id, handoff.id, "high")
    assert (answer.type, answer.group) == ("response", "web")
    assert answer.payload == {"passed": False, "queries": ["socks", "size 9"]}
    assert [(each["name"], each["state"]) for each in states] == [("web/builder", "archived")]


@pytest.mark.slow
def test_a_reply_to_a_message_that_is_not_there_is_no_error(repo: Path) -> None:
    python(repo, "-c", ANSWER, "MSG-abc123def456")
    with rookery.connect(cwd=str(repo)) as team:
        assert team.call("stats")["deliveries"] == {}
