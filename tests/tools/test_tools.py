"""The tools a model is given: few, small, drawn from the table of verbs."""

import asyncio

import pytest

from rookery.core import errors
from rookery.front.mcp import tools
from rookery.front.mcp.news import INBOX, TASKS, WHO, touched
from rookery.service import verbs

LIMIT_TOOLS = 14


def test_there_are_few_of_them() -> None:
    assert len(tools.TABLE) <= LIMIT_TOOLS


def test_they_have_the_names_that_agents_are_told_of() -> None:
    """All of interfaces.md's."""
    assert [tool.name for tool in tools.TABLE] == [
        "join", "who", "send", "inbox", "ack", "tasks", "claim", "progress", "done", "ask", "fail", "reserve",
        "release", "spawn",
    ]  # fmt: skip


@pytest.mark.parametrize("tool", tools.TABLE, ids=lambda tool: tool.name)
def test_every_argument_is_one_of_its_verb_or_explained(tool: tools.Tool) -> None:
    taken = [verbs.find(verb).load() for verb in (tool.verb, tool.other) if verb]
    known = {parameter.name for verb in taken for parameter in verbs.parameters(verb)}
    assert set(tool.takes) <= known | set(tool.says)
    assert {*tool.needs, *tool.spare, *tool.says} <= set(tool.takes)
    shape = tools.schema(tool.name)
    assert all(each["description"] for each in shape["properties"].values())
    assert set(shape.get("required", ())) <= set(shape["properties"])


@pytest.mark.parametrize(
    ("name", "args", "says"),
    [
        ("nope", {}, "There is no tool 'nope'."),
        ("send", {"form": "x"}, "send takes no 'form'."),
        ("ack", {}, "ack needs ids."),
        ("done", {"summary": None}, "done needs summary."),
        ("reserve", {}, "reserve needs paths."),
        ("reserve", {"paths": ["a"], "bound": True}, "reserve takes no 'bound'."),
        ("release", {"paths": ["a"], "force": True}, "release takes no 'force'."),
    ],
)
def test_a_wrong_call_is_refused_before_it_reaches_anyone(name: str, args: dict[str, object], says: str) -> None:
    with pytest.raises(errors.RookError, match=says.replace(".", r"\.")):
        asyncio.run(tools.call(None, name, args))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("kinds", "changed"),
    [
        (["message"], {INBOX}),
        (["mail.read", "escalation.closed"], {INBOX}),
        (["task.start", "plan.done"], {TASKS}),
        (["join", "leave", "status"], {WHO}),
        (["swept", "commit"], set()),
        ([], set()),
    ],
)
def test_what_changed(kinds: list[str], changed: set[str]) -> None:
    assert touched({"type": kind} for kind in kinds) == changed
