"""Discussions and can-write on the command line."""

import pytest

from tests.cli.conftest import Terminal

ADA, BOB = ("--as", "architect"), ("--as", "implementer")


def test_a_discussion_from_beginning_to_end(rook: Terminal):
    rook.ok("task", "add", "Parse")
    assert "thread-0001" in rook.ok(*ADA, "thread", "new", "I/O spec", "--with", "implementer", "-m", "Please look")
    assert "to architect" in rook.ok(*BOB, "thread", "post", "thread-0001", "-m", "The header is wrong")
    rook.stdin = "from a pipe"
    rook.ok(*ADA, "thread", "post", "thread-0001", "-m", "-")
    shown = rook.ok("thread", "tail", "thread-0001")
    assert shown.index("Please look") < shown.index("The header is wrong") < shown.index("from a pipe")
    assert "Please look" not in rook.ok("thread", "tail", "thread-0001", "-n", "2")
    assert "task-0001" in rook.ok(*ADA, "thread", "link", "thread-0001", "task-0001")
    assert "I/O spec" in rook.ok("thread", "list", "--task", "task-0001")
    found = rook.json("thread", "search", "header")
    assert [message["from"] for message in found["messages"]] == ["implementer"]
    assert "header" in rook.ok("thread", "search", "header")


def test_a_mail_thread_is_shown_as_before(rook: Terminal):
    sent = rook.json(*ADA, "send", "implementer", "-s", "Hello", "-m", "there")["id"]
    rook.ok(*BOB, "reply", sent, "-m", "yes")
    assert len(rook.json(*ADA, "thread", sent)["messages"]) == 2
    rook.ok(*ADA, "thread", "new", "Talk", "--with", "implementer", "-m", "one")
    assert "one" in rook.ok(*BOB, "thread", "thread-0001")


@pytest.mark.parametrize("look", [["list"], ["search", "nothing"]])
def test_when_there_is_none(rook: Terminal, look: list[str]):
    assert rook.ok("thread", *look).strip()


@pytest.mark.parametrize(
    ("argv", "code", "word"),
    [
        (["thread", "post", "thread-0009", "-m", "x"], 1, "thread-0009"),
        (["thread", "post", "thread-0009"], 2, "-m"),
        (["thread", "new"], 2, "TITLE"),
        (["thread", "tail", "../etc/passwd"], 1, "passwd"),
        (["thread", "link", "thread-0009", "task-0001"], 1, "thread-0009"),
        (["can-write"], 2, "PATH"),
    ],
)
def test_refusals(rook: Terminal, argv: list[str], code: int, word: str):
    reply = rook(*argv)
    assert (reply.code, reply.out) == (code, "")
    assert word in reply.err


def test_can_write_says_so_by_its_exit_code(rook: Terminal):
    rook.ok("task", "add", "Parse", "--file", "src/io/")
    rook.ok(*ADA, "task", "claim", "task-0001")
    denied = rook(*BOB, "can-write", "README.md", "./src//io/x.py")
    assert denied.code == 1
    assert "src/io/x.py may not be written: held by architect until" in denied.out
    assert "README.md may be written" in denied.out
    assert rook(*ADA, "can-write", "src/io/x.py").code == 0
    assert rook(*BOB, "can-write", "README.md").code == 0
    outside = rook(*BOB, "can-write", "../x")
    told = " ".join(outside.out.split())  # where it is wrapped depends on how long the folder's name is
    assert (outside.code, "outside the workspace" in told) == (1, True)
    assert rook.json(*ADA, "can-write", "src/io/x.py")["allow"] is True
    assert '"allow": false' in rook(*BOB, "can-write", "src/io/x.py", "--json").out


def test_a_strict_team_lets_only_the_holder_write(rook: Terminal):
    rook.environ["ROOK_GUARD_STRICT"] = "1"
    rook.ok("task", "add", "Parse", "--file", "src/io/")
    rook.ok(*ADA, "task", "claim", "task-0001")
    assert rook(*ADA, "can-write", "src/io/x.py").code == 0
    assert "no lease of yours" in rook(*ADA, "can-write", "README.md").out
