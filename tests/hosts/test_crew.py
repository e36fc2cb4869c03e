"""Mail goes from one real program to another, through Rookery's own tools (`rook mcp`)."""

import re
from pathlib import Path

import pytest

from tests.hosts.crew import RAVEN, Crew
from tests.hosts.model.script import say
from tests.hosts.programs import ALL, Program

pytestmark = pytest.mark.hosts
SPEAKING = [program for program in ALL.values() if program.speaks_mcp]
PAIRS = list(zip(SPEAKING, SPEAKING[1:] + SPEAKING[:1], strict=True))  # each sends once and reads once


@pytest.mark.parametrize(("sender", "reader"), PAIRS, ids=[f"{one.name}-{other.name}" for one, other in PAIRS])
def test_what_one_program_sends_another_reads(sender: Program, reader: Program, tmp_path: Path) -> None:
    with Crew(tmp_path, "BrightWren", "CalmOwl") as crew:
        wren, owl = crew.member(sender, "BrightWren"), crew.member(reader, "CalmOwl")
        wren.add_mcp()
        letter = {"to": ["CalmOwl", RAVEN], "subject": "The API stands", "body": "Start with the tasks."}
        sent = wren.play([*wren.mcp("join"), *wren.mcp("send", **letter), say("sent")])
        [id] = set(re.findall(r"MSG-\w+", sent.results[-1]))
        assert states(crew, id) == {"CalmOwl": "unread", RAVEN: "unread"}
        owl.add_mcp()
        read = owl.play([*owl.mcp("join"), *owl.mcp("inbox", id=id), say("read")])
        assert f"{id} from BrightWren" in read.results[-1]
        assert "Start with the tasks." in read.results[-1]
        assert states(crew, id) == {"CalmOwl": "read", RAVEN: "unread"}


def states(crew: Crew, id: str) -> dict[str, str]:
    return {each["name"]: each["state"] for each in crew.raven("receipts", id=id)["recipients"]}
