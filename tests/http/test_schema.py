"""The description of the API is true: asked by a machine that believes it, and by hand where a rule can be told."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any, TypedDict, get_args, get_type_hints, is_typeddict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rookery.front.http import openapi, routes, shapes
from rookery.service import verbs
from tests.support import described, schema
from tests.support.doors import Door, Running, running

SECONDS = 60  # of each of the two long runs
ATTEMPTS = 4  # a busy machine may come to no link in that time
BROKEN_REQUEST = "Invalid HTTP request received."  # what the server says of bytes that are no HTTP; answered with 400
EVERY_METHOD = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


@pytest.fixture
def alone(tmp_path: Path) -> Generator[Running]:
    """A daemon that no other test talks to, and that has nothing to complain of in the end."""
    with running(tmp_path / "daemon") as started:
        yield started
        code, complaints = started.stop()
        assert code == 0
        assert not set(complaints.splitlines()) - {BROKEN_REQUEST}, complaints


def granted(door: Door, part: str) -> int:
    """How many requests to routes with this in their path were answered with what they asked for."""
    lines = door.get("/metrics").body.splitlines()
    counted = [line for line in lines if line.startswith("rook_requests_total") and 'status="20' in line]
    return sum(int(line.rsplit(" ", 1)[1]) for line in counted if part in line)


# -- by a machine ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_operation_keeps_to_its_description(alone: Running, tmp_path: Path):
    document = schema.description(alone)
    found = schema.run(
        alone, tmp_path / "st", document, SECONDS, "--phases", "coverage,fuzzing", "--exclude-checks", schema.LEFT_OUT
    )
    assert found.report["failures"] == [], found.output
    assert found.report["errors"] == [], found.output
    assert found.report["phases"]["coverage"]["status"] == "success", found.output
    assert found.report["test_cases"]["generated"] >= found.report["operations"]["selected"]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_one_answer_made_the_next_request_can_use(alone: Running, tmp_path: Path):
    """Statefully, along the links: tasks that were created are claimed, and held ones are ended under their epoch."""
    document = schema.narrowed(schema.description(alone))
    left_out = f"{schema.LEFT_OUT},negative_data_rejection"  # what a link fills in, the narrowed one does not know of
    for attempt in range(ATTEMPTS):
        found = schema.run(
            alone, tmp_path / f"st-{attempt}", document, SECONDS, "--phases", "stateful", "--mode", "positive",
            "--exclude-checks", left_out,
        )  # fmt: skip
        assert found.report["failures"] == [], found.output
        assert found.report["errors"] == [], found.output
        assert found.report["phases"]["stateful"]["status"] == "success", found.output
        if granted(alone.door, "/{id}"):
            break
    assert granted(alone.door, "/{id}"), "no link was followed: nobody guesses an id"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_description_that_is_wrong_is_found_out(alone: Running, tmp_path: Path):
    """A control: the same runner, told one thing that is not so."""
    document = schema.description(alone)
    document["components"]["schemas"]["TaskRecords"]["properties"]["tasks"] = {"type": "string"}
    found = schema.run(alone, tmp_path / "st", document, 99, "--phases", "coverage", "--include-path", "/v1/tasks")
    assert "JsonSchemaError" in found.kinds, found.output


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_status_that_is_not_described_is_found_out(alone: Running, tmp_path: Path):
    document = schema.description(alone)
    del document["paths"]["/v1/tasks/{id}"]["get"]["responses"]["404"]
    found = schema.run(alone, tmp_path / "st", document, 99, "--phases", "coverage", "--include-path", "/v1/tasks/{id}")
    assert "UndefinedStatusCode" in found.kinds, found.output


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_verb_that_breaks_is_found_out(tmp_path: Path):
    with running(tmp_path / "daemon", program="tests.support.broken") as started:
        document = schema.description(started)
        flags = ("--phases", "coverage", "--include-path-regex", "/v1/call/(stats|health)")
        found = schema.run(started, tmp_path / "st", document, 99, *flags)
        assert "ServerError" in found.kinds, found.output
        assert {name for each in found.report["failures"] for name in each["operations"]} == {"POST /v1/call/stats"}
        started.stop()
    (log,) = (tmp_path / "daemon").glob("**/daemon*.log")
    assert "ZeroDivisionError: planted" in log.read_text()


# -- by hand ---------------------------------------------------------------------------------------------------------


def test_every_verb_tells_the_shape_of_its_answer():
    """A verb without one would be described as an object that may hold anything, and nothing could be wrong with it."""
    assert set(shapes.RESULTS) == set(verbs.VERBS)


def test_no_two_shapes_have_one_name():
    """They are spoken of by name: of two, one would be described as the other."""
    seen: dict[str, Any] = {}

    def look(kind: Any) -> None:
        for inner in get_args(kind):
            look(inner)
        if is_typeddict(kind) and seen.setdefault(kind.__name__, kind) is not kind:
            raise AssertionError(f"{kind.__name__} in {kind.__module__} and in {seen[kind.__name__].__module__}")
        for each in get_type_hints(kind).values() if is_typeddict(kind) else ():
            look(each)

    for shape in (*shapes.RESULTS.values(), *(line.answer for line in routes.TABLE)):
        look(shape)
    with pytest.raises(AssertionError, match="Thread"):
        look(TypedDict("Thread", {"id": str}))


def test_an_answer_that_is_not_as_described_is_found_out():
    """A control of what every test of a verb does with every answer: see tests/support/described.py."""
    told = {"crews": []}
    assert not described.fault("crew.due", told)
    assert described.fault("crew.due", {})
    assert described.fault("crew.due", told | {"crews": [1]})
    assert described.fault("worker.begin", {"worker": {"id": "w1"}})


def test_whatever_the_description_speaks_of_is_there():
    document = openapi.document(routes.TABLE)
    named = {each["operationId"] for each in operations(document)}
    assert len(named) == len(list(operations(document)))
    for operation in operations(document):
        for status, answer in operation["responses"].items():
            (content, *_) = answer["content"].values()
            assert content["schema"], (operation["operationId"], status)
            assert {link["operationId"] for link in answer.get("links", {}).values()} <= named
    written = json.dumps(document)
    for name in set(written.split("#/components/schemas/")[1:]):
        assert name.partition('"')[0] in document["components"]["schemas"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["agents", "leader", "strict", "guard", "groups", "budget"])
def test_a_definition_of_another_kind_than_described_is_refused(door: Door, name: str):
    document = openapi.document(routes.TABLE)
    body = document["paths"]["/v1/teams"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    kinds = {each["type"] for each in body["properties"][name]["anyOf"][0]["anyOf"]}
    values = {"array": [], "object": {}, "string": "x", "boolean": True, "number": 1.5, "null": None}
    taken = {kind for kind, value in values.items() if door.operator.post("/v1/teams", **{name: value}).status < 300}
    refused_for_what_it_says = {"leader": {"string"}, "guard": {"string"}}
    assert taken == kinds - refused_for_what_it_says.get(name, set())


def operations(document: dict[str, Any]) -> Generator[dict[str, Any]]:
    for each in document["paths"].values():
        yield from each.values()


def leads_to(route: str, path: str) -> bool:
    mine, words = route.split("/"), path.split("/")
    return len(mine) == len(words) and all(one == word or one[:1] == "{" for one, word in zip(mine, words, strict=True))


@pytest.mark.parametrize("path", ["/healthz", "/v1/tasks", "/v1/tasks/task-0001/claim", "/v1/call/inbox", "/v1/events"])
def test_a_method_that_a_path_has_not_is_told_which_it_has(door: Door, path: str):
    known = {line.method for line in routes.TABLE if leads_to(line.path, path)}
    assert known
    for method in EVERY_METHOD:
        if method in known:
            continue
        answer = door.raw(method, path)
        assert answer.status == 405, method
        assert set(answer.headers["allow"].split(", ")) == known


@pytest.mark.parametrize("path", ["/v1/tasks/{}", "/v1/tasks/{id}", "/v1/tasks/{}/claim", "/v1/threads/{}/tail", "/{}"])
def test_a_word_of_a_path_is_only_ever_a_value(door: Door, path: str):
    assert door.raw("GET", path).status in (404, 405)


scalars = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text(max_size=20) | st.floats()
junk = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2))
callers = st.dictionaries(
    st.sampled_from(("agent", "session", "process", "lineage", "host", "boot", "cwd", "tree", "open_addresses", "x")),
    junk | st.lists(st.tuples(junk, junk), max_size=2),
    max_size=4,
)


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(told=callers)
def test_whatever_is_told_of_a_caller_breaks_nothing(door: Door, told: dict[str, Any]):
    for verb in ("inbox", "heartbeat", "join"):
        answer = door.raw("POST", f"/v1/call/{verb}", b"{}", {"X-Rook-Caller": json.dumps(told)})
        assert answer.status < 500, answer
