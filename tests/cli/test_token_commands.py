"""`rook token` on the machine of the store: nothing has to run for it."""

import pytest

from rookery.core import tokens
from tests.cli.conftest import Terminal


@pytest.mark.parametrize("width", [20, 100])
@pytest.mark.parametrize("argv", [["--agent", "architect", "--ttl", "30d"], ["--read-only"]])
def test_a_new_token_can_be_copied_whole(rook: Terminal, argv: list[str], width: int):
    said = rook.ok("token", "new", *argv, width=width)
    assert [tokens.is_token(line) for line in said.splitlines()].count(True) == 1


def test_tokens_are_listed_and_revoked(rook: Terminal):
    assert "No token is good" in rook.ok("token", "list")
    made = rook.json("token", "new", "--agent", "architect", "-m", "the sandbox")
    assert made["token"].startswith("rookagent_")
    shown = rook.ok("token", "list")
    assert "the sandbox" in shown
    assert made["token"] not in shown
    assert "is revoked" in rook.ok("token", "revoke", made["id"])
    assert "was revoked already" in rook.ok("token", "revoke", made["id"])
    assert "revoked" in rook.ok("token", "list", "--all")


@pytest.mark.parametrize("argv", [
    ["new"], ["new", "--agent", "a", "--read-only"], ["new", "--agent", "user"],
    ["new", "--agent", "a", "--ttl", "soon"], ["new", "--agent", "a", "--ttl", "0"], ["revoke"], [],
], ids=" ".join)  # fmt: skip
def test_wrong_usage_is_told(rook: Terminal, argv: list[str]):
    reply = rook("token", *argv)
    assert (reply.code, reply.out) == (2, "")
    assert len(reply.err.splitlines()) == 2, "a sentence and what to do next"


def test_an_agent_makes_no_tokens(rook: Terminal):
    reply = rook("token", "new", "--agent", "architect", "--as", "implementer")
    assert reply.code == 1
    assert "Only the user" in reply.err


def test_each_role_is_called_what_it_is(rook: Terminal):
    """A token that acts as the user is not announced as one that only reads."""
    said = {role: rook.ok("token", "new", "--role", role) for role in ("operator", "viewer")}
    assert "to act as you" in said["operator"]
    assert "to read" in said["viewer"]
    shown = rook.ok("token", "list")
    assert shown.count("operator") == 1
