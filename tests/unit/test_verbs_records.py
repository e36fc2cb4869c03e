"""What is kept of a run: four artifacts, once, for a while."""

import json
from typing import Any

import pytest

from rookery.core import artifacts
from tests.support.stage import SECOND, Build, Stage

DAY = 86_400 * SECOND


@pytest.fixture
def stage(build: Build) -> Stage:
    return build()


def begun(stage: Stage) -> str:
    stage.call("spawn", stage.caller(tree="/work"), assignment="Parse the header")
    return stage.call("worker.begin", "system", id="w1", owner="here:1:t1")["worker"]["run"]


def record(stage: Stage, run: str, **more: Any) -> dict[str, Any]:
    said = {"prompt": "Read task.md", "output": "All done.", "events": '{"n": 1}\n', "meta": {"model": "m", "input": 7}}
    return stage.call("worker.record", "system", **{"id": "w1", "run": run, **said, **more})


def kept(stage: Stage) -> list[dict[str, Any]]:
    return stage.call("artifacts", kind="run")["artifacts"]


def test_prompt_output_events_and_metadata_are_artifacts_of_the_worker_and_its_task(stage: Stage) -> None:
    run = begun(stage)
    made = record(stage, run)
    assert (made["recorded"], len(made["artifacts"])) == (True, 4)
    cards = kept(stage)
    name = stage.call("worker.show", id="w1")["name"]
    assert {(card["by"], card["taskId"], card["kind"]) for card in cards} == {(name, "task-0001", "run")}
    shown = {card["name"].removeprefix(f"{run}-"): stage.call("artifacts.show", id=card["id"]) for card in cards}
    assert shown["prompt.md"]["content"] == "Read task.md"
    assert shown["events.ndjson"]["content"] == '{"n": 1}\n'
    assert json.loads(shown["meta.json"]["content"]) == {"model": "m", "input": 7}
    assert stage.call("worker.show", id="w1")["runs"][0]["tokens"]["input"] == 7
    assert stage.call("artifacts")["artifacts"] == [], "they are shown to whoever asks for them"


def test_a_run_is_recorded_once(stage: Stage) -> None:
    run = begun(stage)
    first = record(stage, run)
    again = record(stage, run, prompt="another")
    assert again == {**first, "recorded": False}
    assert len(kept(stage)) == 4
    nothing = stage.call("worker.record", "system", id="w1", run=run)
    assert nothing["recorded"] is False


def test_a_run_of_another_worker_is_refused_and_leaves_nothing(stage: Stage) -> None:
    run = begun(stage)
    stage.call("spawn", stage.caller(tree="/work"), assignment="Another")
    before = stage.rows()
    for args in ({"id": "w2", "run": run}, {"id": "w1", "run": "run-none"}):
        assert stage.refused("worker.record", "system", prompt="x", **args).code == "UNKNOWN_RUN"
    assert stage.refused("worker.record", "system", id="w1", run="../../escape", prompt="x").code == "BAD_NAME"
    assert stage.rows() == before


def test_what_is_old_goes_and_what_was_shared_stays(stage: Stage) -> None:
    run = begun(stage)
    record(stage, run)
    stage.join("ada")
    stage.call("artifacts.add", "ada", name="kept.txt", content="kept", kind="report")
    stage.clock.pass_time(13 * DAY)
    assert stage.call("sweep")["runs"] == 0
    stage.clock.pass_time(2 * DAY)
    assert stage.call("sweep")["runs"] == 4
    assert kept(stage) == []
    assert [card["name"] for card in stage.call("artifacts")["artifacts"]] == ["kept.txt"]


def test_a_long_output_keeps_its_beginning_and_its_end() -> None:
    text = "first é " + "x" * 10_000 + " é last"
    data = artifacts.shortened(text, 1_000)
    assert len(data) <= 1_000
    assert data.startswith("first é x".encode())
    assert data.endswith("x é last".encode())
    assert b"bytes and more are left out here" in data
    assert artifacts.shortened("short", 1_000) == b"short"
