"""A message as Python programs keep it: as a dictionary, copied, and pickled."""

import copy
import json
import pickle
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

import rookery
from tests.support.stores import prepared_home


@pytest.fixture
def message(tmp_path: Path) -> Iterator[rookery.Message]:
    prepared_home(tmp_path / "home")
    with rookery.connect(home=str(tmp_path / "home"), team="crew", cwd=str(tmp_path)) as team:
        reader = team.join("ada")
        team.join("bob").send("ada", "Look", "At it", payload={"files": ["a.py"]}, tags=["review"])
        (found,) = reader.inbox()
        yield found


def test_a_message_as_a_dictionary_has_its_data_and_no_handle(message: rookery.Message) -> None:
    told = asdict(message)
    assert "agent" not in told
    assert told | {"tags": list(told["tags"]), "attachments": []} == json.loads(json.dumps(told))
    assert (told["sender"], told["subject"], told["payload"]) == ("bob", "Look", {"files": ["a.py"]})
    told["payload"]["files"].append("b.py")
    assert message.payload == {"files": ["a.py"]}
    assert rookery.Message(**asdict(message)) == message


def test_a_pickled_message_keeps_its_data_and_has_no_handle(message: rookery.Message) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        back: rookery.Message = pickle.loads(pickle.dumps(message, protocol))
        assert back == message
        assert back.agent is None
        with pytest.raises(ValueError, match="agent"):
            back.ack()
    assert message.read().state == "read"


def test_a_copy_can_be_used_like_the_message(message: rookery.Message) -> None:
    deep, shallow = copy.deepcopy(message), copy.copy(message)
    assert deep == shallow == message
    assert deep.agent is shallow.agent is message.agent
    deep.payload["files"].clear()
    assert message.payload == {"files": ["a.py"]}
    assert [copy.deepcopy([message])[0].agent] == [message.agent]
    deep.ack()
    assert message.agent is not None
    assert message.agent.inbox() == []


def test_a_receipt_is_data_too(message: rookery.Message) -> None:
    receipt = message.reply("Fine")
    assert pickle.loads(pickle.dumps(receipt)) == copy.deepcopy(receipt) == receipt
    assert asdict(receipt)["recipients"][0]["name"] == "bob"
