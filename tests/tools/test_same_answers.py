"""The same calls through a pipe and through the daemon are answered in the same words."""

import re
from pathlib import Path
from typing import Any

import pytest

import rookery
from tests.support.doors import running
from tests.tools.conftest import TEAM, Hall, Model, Seats

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("inbox", {}),
    ("send", {"to": ["user"], "subject": "too early"}),
    ("tasks", {}),
    ("join", {"name": "ada", "role": "architect"}),
    ("join", {"name": "bob"}),
    ("join", {"name": "ada"}),
    ("who", {}),
    ("send", {"to": ["nobody"], "subject": "x"}),
    ("send", {"to": ["ada", "user"], "subject": "To myself", "body": "one\ntwo", "priority": "high"}),
    ("inbox", {}),
    ("inbox", {"id": "no-such"}),
    ("ack", {"ids": ["no-such"]}),
    ("claim", {"id": "task-0002"}),
    ("claim", {}),
    ("progress", {"said": "half of it"}),
    ("tasks", {"id": "task-0001"}),
    ("reserve", {"paths": ["src/*.py", "./docs/../docs/"], "reason": "the parser"}),
    ("reserve", {"paths": ["../elsewhere"]}),
    ("release", {"paths": ["src/x.py"]}),
    ("release", {"all": True}),
    ("done", {}),
    ("done", {"summary": "It parses", "tests": ["make test"]}),
    ("fail", {"reason": "nothing left"}),
    ("ask", {"title": "May I?", "body": "I tried"}),
    ("send", {"form": "x"}),
    ("send", {"to": "ada", "subject": 7}),
    ("nope", {}),
)
VARYING = re.compile(r"\b(?:msg|MSG|esc|ESC|art|ses)-[\w-]+|\b\d{4}-\d\d-\d\dT[\d:.]+Z|team \S+\b|workspace is /\S+")
# Of a model far away the folder is not known.
FOLDER = re.compile(r"^\| First message from this sender: .*\n", re.MULTILINE)


def _bare(text: str) -> str:
    return FOLDER.sub("", VARYING.sub("*", text))


async def said(model: Model) -> list[tuple[str, bool, str]]:
    found: list[tuple[str, bool, str]] = []
    for tool, args in CALLS:
        answer = await model.session.call_tool(tool, args)
        text = answer.content[0].text  # pyright: ignore[reportAttributeAccessIssue]
        found.append((f"{tool} {args}", bool(answer.is_error), _bare(text)))
    return found


async def listed(model: Model) -> list[Any]:
    tools, resources = await model.session.list_tools(), await model.session.list_resources()
    shown = [await model.session.read_resource(str(each.uri)) for each in resources.resources]
    texts = [_bare(each.contents[0].text) for each in shown]  # pyright: ignore[reportAttributeAccessIssue]
    return [[tool.model_dump() for tool in tools.tools], [each.model_dump() for each in resources.resources], texts]


async def test_a_pipe_and_the_daemon_answer_alike(seats: Seats, home: Any, tmp_path: Path) -> None:
    with rookery.connect(home=str(home), team=TEAM, cwd=str(home.parent)) as team:
        team.add_task("Parse the header", description="As in RFC 9110")
    with running(tmp_path / "far") as daemon:
        hall = Hall(daemon, daemon.told["teamId"])  # its own team: there it knows where paths are
        hall.door.task("Parse the header", description="As in RFC 9110")
        async with seats() as model:
            near, near_lists = await said(model), await listed(model)
        async with hall.seat() as model:
            far, far_lists = await said(model), await listed(model)
    for one, other in zip(near, far, strict=True):
        assert one == other
    assert near_lists == far_lists
    assert {refused for _, refused, _ in near} == {True, False}
