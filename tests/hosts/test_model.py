"""The scripted model over real HTTP: on every wire, a client that sends back what it was told is led to the end."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.model.script import OVER, Answer, Asked, Move, call, call_with_text, expect, meanwhile, next_move, say
from tests.hosts.model.server import Model

SCRIPT = [call("knock", times=3), expect("a rook"), say("The door is open.")]
Body = dict[str, Any]
Reply = list[Body]


class Anthropic:
    path = "/v1/messages"

    def __init__(self, stream: bool = True) -> None:
        self.body: Body = {"model": "m", "stream": stream, "tools": [{"name": "knock"}], "system": "Be kind."}
        self.body["messages"] = [{"role": "user", "content": "Who is there?"}]

    def heard(self, reply: Reply) -> str:
        return "".join(event["delta"]["text"] for event in reply if event["type"] == "content_block_delta")

    def called(self, reply: Reply) -> tuple[str, Body]:
        block = next(event["content_block"] for event in reply if event["type"] == "content_block_start")
        args = "".join(event["delta"]["partial_json"] for event in reply if event["type"] == "content_block_delta")
        use = block | {"input": json.loads(args)}
        answered = {"type": "tool_result", "tool_use_id": block["id"], "content": [{"type": "text", "text": "a rook"}]}
        self.body["messages"] += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [answered]}]
        return block["name"], use["input"]


class Responses:
    path = "/v1/responses"

    def __init__(self) -> None:
        self.body: Body = {"model": "m", "tools": [{"type": "function", "name": "knock"}], "instructions": "Be kind."}
        said = [{"type": "input_text", "text": "Who is there?"}]
        self.body["input"] = [{"type": "message", "role": "user", "content": said}]

    def item(self, reply: Reply) -> Body:
        assert reply[-1]["type"] == "response.completed"
        return next(event["item"] for event in reply if event["type"] == "response.output_item.done")

    def heard(self, reply: Reply) -> str:
        return self.item(reply)["content"][0]["text"]

    def called(self, reply: Reply) -> tuple[str, Body]:
        item = self.item(reply)
        self.body["input"] += [item, {"type": "function_call_output", "call_id": item["call_id"], "output": "a rook"}]
        return item["name"], json.loads(item["arguments"])


class Gemini:
    path = "/v1beta/models/m:streamGenerateContent?alt=sse"

    def __init__(self) -> None:
        self.body: Body = {"tools": [{"functionDeclarations": [{"name": "knock"}]}]}
        self.body["contents"] = [{"role": "user", "parts": [{"text": "Who is there?"}]}]

    def part(self, reply: Reply) -> Body:
        return reply[0]["candidates"][0]["content"]["parts"][0]

    def heard(self, reply: Reply) -> str:
        return self.part(reply)["text"]

    def called(self, reply: Reply) -> tuple[str, Body]:
        part = self.part(reply)
        answered = {"functionResponse": {"name": "knock", "response": {"output": "a rook"}}}
        self.body["contents"] += [{"role": "model", "parts": [part]}, {"role": "user", "parts": [answered]}]
        return part["functionCall"]["name"], part["functionCall"]["args"]


class Chat:
    path = "/v1/chat/completions"

    def __init__(self) -> None:
        self.body: Body = {"model": "m", "stream": True}
        self.body["tools"] = [{"type": "function", "function": {"name": "knock"}}]
        self.body["messages"] = [{"role": "user", "content": "Who is there?"}]

    def heard(self, reply: Reply) -> str:
        return reply[0]["choices"][0]["delta"]["content"]

    def called(self, reply: Reply) -> tuple[str, Body]:
        message = reply[0]["choices"][0]["delta"]
        answered = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "a rook"}
        self.body["messages"] += [message, answered]
        function = message["tool_calls"][0]["function"]
        return function["name"], json.loads(function["arguments"])


WIRES: list[Callable[[], Any]] = [Anthropic, Responses, Gemini, Chat]


@contextmanager
def model(folder: Path, moves: list[Move]) -> Generator[Callable[[str, Body], Reply]]:
    (folder / "script.json").write_text(json.dumps(moves))
    with Model(folder / "script.json", folder / "log.jsonl", 0) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        try:
            yield lambda path, body: ask(server.server_address[1], path, body)
        finally:
            server.shutdown()
            serving.join()


def ask(port: int, path: str, body: Body) -> Reply:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", path, json.dumps(body))
        response = connection.getresponse()
        assert response.status == 200
        text = response.read().decode()
    finally:
        connection.close()
    if response.getheader("Content-Type") == "application/json":
        return [json.loads(text)]
    data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in data if line != "[DONE]"]


@pytest.mark.parametrize("wire", WIRES)
def test_a_client_is_led_through_the_script(wire: Callable[[], Any], tmp_path: Path) -> None:
    client = wire()
    with model(tmp_path, SCRIPT) as asking:
        first, again = asking(client.path, client.body), asking(client.path, client.body)
        assert client.called(again) == ("knock", {"times": 3})
        assert [event.get("type") for event in first] == [event.get("type") for event in again]
        assert client.heard(asking(client.path, client.body)) == "The door is open."
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["asked"]["turns"] for line in log] == [0, 0, 1]
    assert log[-1]["asked"]["results"] == ["a rook"]
    assert "Who is there?" in log[-1]["asked"]["texts"]


@pytest.mark.parametrize("wire", WIRES)
def test_a_request_without_tools_moves_nothing(wire: Callable[[], Any], tmp_path: Path) -> None:
    client = wire()
    del client.body["tools"]
    with model(tmp_path, SCRIPT) as asking:
        assert client.heard(asking(client.path, client.body)) == "ok"


def test_an_unknown_path_is_refused_and_written_down(tmp_path: Path) -> None:
    with model(tmp_path, SCRIPT) as asking, pytest.raises(AssertionError):
        asking("/v9/telepathy", {"hello": 1})
    assert json.loads((tmp_path / "log.jsonl").read_text()) == {
        "path": "/v9/telepathy",
        "body": {"hello": 1},
        "status": 404,
    }


def test_tokens_are_counted_and_answers_come_whole_where_asked(tmp_path: Path) -> None:
    with model(tmp_path, [say("Whole.")]) as asking:
        assert asking("/v1/messages/count_tokens", {"messages": []}) == [{"input_tokens": 10}]
        assert asking("/v1beta/models/m:countTokens", {"contents": []}) == [{"totalTokens": 10}]
        [whole] = asking("/v1/messages", Anthropic(stream=False).body)
        assert whole["content"] == [{"type": "text", "text": "Whole."}]
        [plain] = asking("/v1/chat/completions", Chat().body | {"stream": False})
        assert plain["choices"][0]["message"]["content"] == "Whole."


def test_free_text_and_namespaces_on_the_wire_that_has_them(tmp_path: Path) -> None:
    hidden: list[Move] = [{"call": "knock", "args": {}, "namespace": "mcp__rig"}]
    with model(tmp_path, [call_with_text("exec", "text(1)"), *hidden]) as asking:
        client = Responses()
        item = client.item(asking(client.path, client.body))
        assert (item["type"], item["input"]) == ("custom_tool_call", "text(1)")
        client.body["input"].append(item)
        assert client.item(asking(client.path, client.body))["namespace"] == "mcp__rig"


def test_what_happens_meanwhile_happens_once_and_before_the_answer(tmp_path: Path) -> None:
    note = meanwhile(["sh", "-c", "echo $WHO >> news"], {"WHO": "wren"}, str(tmp_path))
    with model(tmp_path, [SCRIPT[0], note, say("done")]) as asking:
        client = Chat()
        client.called(asking(client.path, client.body))
        asking(client.path, {key: value for key, value in client.body.items() if key != "tools"})  # for a title
        assert not (tmp_path / "news").exists()
        for _ in range(2):
            assert client.heard(asking(client.path, client.body)) == "done"
            assert (tmp_path / "news").read_text() == "wren\n"


def test_what_fails_meanwhile_is_told(tmp_path: Path) -> None:
    with model(tmp_path, [meanwhile(["sh", "-c", "echo no; exit 3"], {}, str(tmp_path)), say("done")]) as asking:
        client = Chat()
        assert "failed: no" in client.heard(asking(client.path, client.body))
    assert "failed: no" in json.loads((tmp_path / "log.jsonl").read_text())["answer"]["unmet"]


def test_the_script_stops_where_it_is_not_followed() -> None:
    asked = Asked(turns=1, tools=["knock"], results=["nobody"], texts=[])
    stopped = next_move(SCRIPT, asked)
    assert stopped.unmet == "a rook"
    assert "I was not told" in stopped.move["say"]
    assert next_move(SCRIPT, asked._replace(results=["a rook"])).unmet == ""
    assert next_move(SCRIPT, asked._replace(turns=2)) == Answer(say(OVER), over=True)
