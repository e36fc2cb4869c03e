"""Refusals name commands that are there."""

import re

import pytest
from rich.console import Console

from rookery.core import authority, daemon_token, tokens
from rookery.core.caller import Grant, Role
from rookery.front.cli.router import BY_NAME
from rookery.front.cli.show import SHOWS
from rookery.service import admission
from rookery.service.verbs import TABLE, Verb

MARKED = [verb for verb in TABLE if verb.who in (authority.USER, authority.LEADER, authority.JUDGE)]


def commands(text: str) -> list[str]:
    return re.findall(r"`rook ([a-z-]+(?: [a-z]+)?)", text)


def is_there(words: str) -> bool:
    return words in BY_NAME or words.partition(" ")[0] in BY_NAME


@pytest.mark.parametrize("verb", MARKED, ids=lambda verb: verb.name)
def test_what_only_some_may_do_is_called_by_its_command(verb: Verb) -> None:
    named = admission._command(verb)
    assert commands(named), named
    assert all(map(is_there, commands(named))), named


def test_every_hint_names_commands_that_are_there() -> None:
    grant = Grant("crew", "token-0001", Role.AGENT, 1, "ada", "run-1")
    said = [authority.by_agent("x", "ada"), authority.by_token("x"), authority.by_daemon_token("x"),
            authority.without_terminal("x"), authority.nameless_token("inbox"), authority.live_name("ada"),
            authority.no_name(), authority.second_name("ada", "bob"), tokens.outside_run(grant),
            tokens.not_you(grant, "x"), daemon_token.not_proven("inbox", "ada")]  # fmt: skip
    for each in said:
        assert all(map(is_there, commands(each.hint))), each.hint


def test_a_program_without_a_name_is_told_so() -> None:
    console = Console(width=100)
    with console.capture() as shown:
        console.print(SHOWS["inbox"]({"agent": "", "messages": [], "more": False, "next": None}))
    assert "for ." not in shown.get()
    assert "rook join NAME" in shown.get()
