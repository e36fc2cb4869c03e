"""Every command of corpus.toml: read as it is written there, and parsed as a second parser parses it."""

from collections.abc import Iterator
from typing import Any

import pytest

from rookery.core.shell import Reading, read, reading
from rookery.core.shell.tree import Block, Call, Declaration, Redirect
from rookery.runtime.shell import parse, writes
from tests.shell.corpus import CASES, CWD, HOME, Case, paths
from tests.support import shfmt

NOT_PARSED = (reading.BROKEN, reading.NESTED, reading.TOO_LARGE)


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 500
    assert sum(not case.opaque for case in CASES) >= 400
    assert len({case.command for case in CASES}) == len(CASES)


@pytest.mark.parametrize("group", sorted({case.group for case in CASES}))
def test_h26_a_command_is_read_as_written(group: str) -> None:
    wrong = [f"{case.command!r}: {problem}" for case in CASES if case.group == group for problem in problems(case)]
    assert wrong == []


def problems(case: Case) -> Iterator[str]:
    told = writes(case.command, CWD, home=HOME)
    if paths(told) != sorted(case.writes):
        yield f"writes {paths(told)}, not {sorted(case.writes)}"
    if bool(told.opaque) != case.opaque:
        yield f"opaque: {told.opaque}"
    for word in case.reasons:
        if not any(word in each.reason for each in told.opaque):
            yield f"no reason has {word!r}: {told.opaque}"


# --- the second parser ------------------------------------------------------------------------------------------------


def is_parsed(told: Reading) -> bool:
    return not any(each.reason in NOT_PARSED for each in told.opaque)


@pytest.mark.slow
def test_shfmt_sees_the_same_words_and_redirections() -> None:
    compared = 0
    for case, theirs in zip(CASES, shfmt.parsed([case.command for case in CASES]), strict=True):
        ours = parse(case.command)
        told_otherwise = "coproc" in case.command or "\\`" in case.command  # shfmt misplaces backticks within backticks
        if theirs is not None and is_parsed(read(case.command, CWD, parse)) and not told_otherwise:
            assert sorted(outline(ours)) == sorted(outline(theirs)), case.command
            compared += 1
    assert compared >= 500


@pytest.mark.slow
def test_shfmts_tree_gives_the_same_reading() -> None:
    compared = 0
    for case in CASES:
        ours = writes(case.command, CWD, home=HOME)
        if is_parsed(ours) and shfmt.parse(case.command) is not None:
            theirs = read(case.command, CWD, lambda text: shfmt.parse(text) or (), home=HOME)
            # `coproc` is a word like others to one of them, and so is not known; that is enough
            assert theirs.writes == ours.writes or ours.opaque, case.command
            assert bool(theirs.opaque) == bool(ours.opaque) or ours.opaque, case.command
            compared += 1
    assert compared >= 500


def outline(block: Block) -> Iterator[str]:
    """The words of every command and the target of every redirection, wherever they stand."""
    waiting: list[Any] = list(block)
    while waiting:
        node = waiting.pop()
        if isinstance(node, Call | Declaration):
            yield alike(" ".join(word.source.replace("\\\n", "") for word in node.words))
        elif isinstance(node, Redirect):
            yield node.operator + " " + ("" if node.operator.startswith("<<") else node.target.source)
        if isinstance(node, tuple):
            waiting += node


def alike(words: str) -> str:
    """`[ x ]` is read as `test x`; `time` is a word to one parser and not to the other."""
    if words.startswith("[ "):
        words = "test " + words[2:].removesuffix(" ]")
    return words.removeprefix("time ").removeprefix("-p ")


def test_the_comparison_can_fail() -> None:
    assert sorted(outline(parse("echo a > b"))) == sorted(["echo a", "> b"])
    assert sorted(outline(parse("echo a > b"))) != sorted(outline(parse("echo a >> b")))
