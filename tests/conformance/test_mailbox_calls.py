"""The mailbox API beside the agent mailbox design: every answer is the design's, or listed in docs/mailbox.md."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from rookery import mailbox
from rookery.bridge.mailbox import HOME
from rookery.core import errors
from tests.support.stores import prepared_home

from .mailbox_calls import CASES, SAME, SET, Call, Case, Raises

PAGE = Path(__file__).parents[2] / "docs" / "mailbox.md"
HOURS = {"+1h": 1, "-1h": -1}


class Replay:
    """Makes the calls of a case, one after the other, on a manager of `api`."""

    def __init__(self, api: Any, folder: Path) -> None:
        self.api = api
        self.folder = folder
        self.manager = api.MailboxManager(folder)
        self.saved: dict[str, Any] = {}

    def answer(self, call: Call) -> Any:
        if call.method == "saved":
            return self.saved[call.args[0][1:]]
        if call.method == "reopen":
            getattr(self.manager, "close", lambda: None)()  # the design has no such method
            self.manager = self.api.MailboxManager(self.folder)
            return None
        try:
            return self._answer(call)
        except errors.RookError as error:
            return Raises(error.code)
        except TypeError:
            return Raises("TypeError")

    def _answer(self, call: Call) -> Any:
        args = [self._meant(each) for each in call.args]
        if call.method == "handoff":
            args[3] = self.api.HandoffContext(**args[3])
            args[4:5] = [self.api.MessagePriority[each] for each in args[4:5]]
        options = {name: self._option(name, value) for name, value in call.options.items()}
        found = getattr(self.manager, call.method)(*args, **options)
        if call.save:
            self.saved[call.save] = found
        return sorted(found, key=lambda each: each.to_agent) if call.method == "broadcast" else found

    def _option(self, name: str, value: Any) -> Any:
        if name == "expires_at":
            return datetime.now() + timedelta(hours=HOURS[value])
        if name in ("priority", "min_priority"):
            return self.api.MessagePriority[value]
        if name == "message_type":
            return self.api.MessageType(value)
        if name == "message_types":
            return [self.api.MessageType(each) for each in value]
        return self._meant(value)

    def _meant(self, value: Any) -> Any:
        is_id = isinstance(value, str) and value.startswith("@")
        return self.saved[value[1:]].id if is_id else value

    def agrees(self, found: Any, expected: Any) -> bool:
        if isinstance(found, list) and isinstance(expected, list):
            return len(found) == len(expected) and all(map(self.agrees, found, expected))
        if hasattr(found, "to_dict") and isinstance(expected, dict):
            return all(self._is(getattr(found, name), value) for name, value in expected.items())
        return bool(found == expected)

    def _is(self, found: Any, expected: Any) -> bool:
        if expected == SET:
            return isinstance(found, datetime)
        return bool((found.value if isinstance(found, Enum) else found) == self._meant(expected))


def shown(found: Any) -> Any:
    if isinstance(found, list):
        return [shown(each) for each in found]
    return found.to_dict() if hasattr(found, "to_dict") else found


@pytest.fixture
def replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Replay]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "boxes").mkdir()
    prepared_home(tmp_path / "boxes" / HOME)
    made = Replay(mailbox, tmp_path / "boxes")
    yield made
    made.manager.close()


def define_swarm(case: Case) -> None:
    folder = Path("swarms", "dev", "agents")
    folder.mkdir(parents=True)
    for name in case.members:
        (folder / f"{name}.md").write_text("an agent\n")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_the_answer_is_the_designs_or_a_listed_one(case: Case, replay: Replay) -> None:
    define_swarm(case)
    for number, call in enumerate(case.calls):
        found = replay.answer(call)
        expected = call.gives if call.here is SAME else call.here
        assert replay.agrees(found, expected), (number, call.method, call.args, shown(found), expected)
        if call.here is not SAME:
            assert not replay.agrees(found, call.gives), f"call {number} is no difference any more: {call}"


def listed_differences() -> set[str]:
    table = PAGE.read_text(encoding="utf-8").split("## Where it differs", 1)[1].split("\n## ", 1)[0]
    return set(re.findall(r"^\| \*\*(.+?)\*\* \|", table, re.MULTILINE))


def test_the_page_lists_every_difference_and_no_other() -> None:
    used = {call.because for case in CASES for call in case.calls if call.here is not SAME}
    assert "" not in used
    assert used == listed_differences()
