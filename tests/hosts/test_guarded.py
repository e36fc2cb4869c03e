"""What Rookery promises in every real program, with its hooks and tools as `rook init` installs them.

Each script is followed to its last move and not beyond, so that an end which is held without need, or twice, fails the
test. What counts is what the model was told, and what is on the disk.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.crew import RAVEN, Crew, Member, install_hooks
from tests.hosts.model.script import say
from tests.hosts.programs import ALL, Program

pytestmark = pytest.mark.hosts
each_program = pytest.mark.parametrize("program", ALL.values(), ids=ALL)
SPEAKING = [program for program in ALL.values() if program.speaks_mcp]
PAIRS = list(zip(SPEAKING, SPEAKING[1:] + SPEAKING[:1], strict=True))  # each sends once and reads once

WREN, OWL = "BrightWren", "CalmOwl"
REASON = "mending the roof"
MAIL = "The roof leaks over the nest."


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[Crew]:
    with Crew(tmp_path, WREN, OWL) as crew:
        yield crew


def hooked(crew: Crew, program: Program, name: str = WREN) -> Member:
    member = crew.member(program, name)
    install_hooks(program.executable, crew.repo, member.environ)
    return member


@each_program
def test_an_edit_of_a_held_file_is_denied_and_the_model_is_told_by_whom(program: Program, crew: Crew) -> None:
    wren = hooked(crew, program)
    crew.raven("reserve", paths=["held.txt"], reason=REASON)
    held, free = crew.repo / "held.txt", crew.repo / "free.txt"
    run = wren.play([program.edit(held, "as it was", "spoilt"), program.write(free, "mine\n"), say("done")])
    assert held.read_text() == "as it was\n"
    assert free.read_text() == "mine\n"
    assert [RAVEN in result for result in run.results] == [True, False]
    assert REASON in run.results[0]


@each_program
def test_a_command_that_writes_a_held_file_is_denied_until_it_is_released(program: Program, crew: Crew) -> None:
    """Each appends, so that the file tells how often one was let through: once, at the end."""
    wren = hooked(crew, program)
    crew.raven("reserve", paths=["held.txt"], reason=REASON)
    append = program.bash("echo more >> held.txt")
    moves = [append, program.bash("cd . && printf 'more\\n' | tee -a ./held.txt"), program.bash("echo mine > free.txt")]
    run = wren.play([*moves, crew.meanwhile("release", "held.txt"), append, say("done")])
    assert (crew.repo / "held.txt").read_text() == "as it was\nmore\n"
    assert (crew.repo / "free.txt").read_text() == "mine\n"
    assert [RAVEN in result for result in run.results] == [True, True, False, False]
    assert all(REASON in result for result in run.results[:2])


@each_program
def test_mail_sent_during_a_turn_arrives_in_that_turn(program: Program, crew: Crew) -> None:
    wren = hooked(crew, program)
    news = crew.meanwhile("send", WREN, "-s", "News", "-m", MAIL, "-t", "notification", "--no-asks")
    run = wren.play([program.bash("echo one"), news, program.bash("echo two"), say("done")])
    assert [MAIL in heard for heard in run.heard] == [False, False, True]
    assert RAVEN in run.heard[-1]


@each_program
def test_mail_that_waits_at_the_end_keeps_the_agent_going_once(program: Program, crew: Crew) -> None:
    """It is not acknowledged, and the second end is not held for it."""
    wren = hooked(crew, program)
    news = crew.meanwhile("send", WREN, "-s", "News", "-m", MAIL, "-p", "urgent")
    run = wren.play([news, say("I am done."), program.bash("echo read > deed.txt"), say("Now I am.")])
    assert [MAIL in heard for heard in run.heard] == [False, True, True]
    assert (crew.repo / "deed.txt").read_text() == "read\n"


@pytest.mark.parametrize(("sender", "reader"), PAIRS, ids=[f"{one.name}-{other.name}" for one, other in PAIRS])
def test_what_one_program_sends_another_reads(sender: Program, reader: Program, crew: Crew) -> None:
    """Nobody says who they are: a server belongs to the session of the program above it. The letter asks for an answer,
    so that the reader's turn would not end if it were not acknowledged."""
    wren = hooked(crew, sender)
    letter = {"to": [OWL, RAVEN], "subject": "News", "body": MAIL, "priority": "low"}
    sent = wren.play([*wren.mcp("send", **letter), say("sent")])
    [id] = set(re.findall(r"MSG-\w+", sent.results[-1]))
    assert states(crew, id) == {OWL: "unread", RAVEN: "unread"}
    owl = hooked(crew, reader, OWL)
    read = owl.play([*owl.mcp("inbox", id=id), *owl.mcp("ack", ids=[id]), say("read")])
    letter_read = next(result for result in read.results if f"{id} from {WREN}" in result)
    assert MAIL in letter_read
    assert states(crew, id) == {OWL: "completed", RAVEN: "unread"}


def states(crew: Crew, id: str) -> dict[str, str]:
    return {each["name"]: each["state"] for each in crew.raven("receipts", id=id)["recipients"]}


def test_claude_code_asks_the_daemon_by_http(crew: Crew) -> None:
    """No process is started for a hook but the first; the token is in the environment and in no file."""
    claude = ALL["claude"]
    wren = crew.member(claude, WREN)
    install_hooks("claude", crew.repo, wren.environ, "--http")
    crew.raven("reserve", paths=["held.txt"], reason=REASON)
    token = crew.person("token", "new", "--agent", WREN, "--json")["token"]
    assert token not in (crew.repo / ".claude" / "settings.json").read_text()
    held = crew.repo / "held.txt"
    news = crew.meanwhile("send", WREN, "-s", "News", "-m", MAIL, "-t", "notification", "--no-asks")
    append = claude.bash("echo more >> held.txt")
    moves = [claude.edit(held, "as it was", "spoilt"), append, news, claude.bash("echo on"), say("done")]
    run = wren.play_beside_daemon(moves, {"ROOK_TOKEN": token})
    assert held.read_text() == "as it was\n"
    assert [RAVEN in result for result in run.results[:2]] == [True, True]
    assert MAIL in run.heard[-1]
    asked = "".join(log.read_text() for log in (crew.home / "logs").glob("daemon*.log"))
    assert asked.count("POST /v1/hook/{host} 200") >= 7, "before and after three tools, and at the end"
