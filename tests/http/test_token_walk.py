"""H30: every verb and every route, with an agent's token as another agent, with a reader's token, and with none.

A new verb or route is judged here without anyone thinking of it.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from rookery.core import tokens
from rookery.front.http.routes import CALL, TABLE, Line
from rookery.service.verbs import TABLE as VERB_TABLE
from rookery.service.verbs import Verb, parameters
from tests.support.doors import Answer, Door, Running
from tests.support.holders import Crew, assembled
from tests.support.panes import until

pytestmark = pytest.mark.slow  # several hundred requests
WORKER = "w1"  # one that is over: nothing moves by itself
ENDED, BUNDLE = "w1/x1", "bundle-0001"  # what is asked about its end, and what was saved of it
HAPPENED = [{"kind": "command", "ref": "walk:1", "title": "ls"}]
ASKS_NOBODY = ("/healthz", "/openapi.json")
AS_WHOM: tuple[dict[str, str], ...] = ({}, {"agentId": "bob"})


@pytest.fixture
def crew(door: Door) -> Crew:
    return assembled(door)


@pytest.fixture(scope="module")
def still(daemon: Running) -> Crew:
    """One for all tests that show that nothing changes."""
    door = daemon.door.of("still")
    here = {"X-Rook-Caller": json.dumps({"tree": "/"})}
    worked = door.post(
        "/v1/call/spawn", here, assignment="Say nothing", host="script", program=["false"], no_worktree=True
    )
    assert worked.body.get("id") == WORKER, worked
    until(lambda: door.get(f"/v1/workers/{WORKER}").body["state"] == "ended", lambda: door.get("/v1/workers").body, 120)
    until(lambda: door.get("/v1/docket").body["items"], lambda: door.get("/v1/docket").body, 120)
    door.post("/v1/call/evidence.take", found=[{"kind": "command", "ref": "walk:0", "title": "pwd"}])
    saved = door.post("/v1/call/bundle.save", refs=["walk:0"], title="What was done")
    assert saved.body.get("id") == BUNDLE, saved
    return assembled(door)


# -- what is sent ------------------------------------------------------------------------------------------------------


def arguments(verb: Verb, crew: Crew, text: str, *, everything: bool) -> dict[str, Any]:
    """Arguments of the right types: texts name the victim, ids what belongs to it."""
    ids = {"task": crew.task, "thread": crew.thread}.get(verb.name.partition(".")[0], crew.message)
    ids = crew.message if verb.name == "thread" else ids
    values: dict[Any, Any] = {str: text, int: 1, bool: True, list[str]: [text], list[dict[str, Any]]: [{"id": text}]}
    named = {"id": ids, "ids": [ids], "task": crew.task, "tasks": [crew.task]}
    found: dict[str, Any] = {}
    for p in parameters(verb.load()):
        if not (everything or p.required):
            continue
        if verb.name == "evidence.take" and p.name == "found":
            found[p.name] = HAPPENED
        elif p.name in named and p.type in (str, list[str]):
            found[p.name] = named[p.name]
        else:
            found[p.name] = values.get(p.type, values.get(next(iter(getattr(p.type, "__args__", ())), None)))
    return {name: value for name, value in found.items() if value is not None}


def places(door: Door, path: str, name: str, session: str, /, **body: Any) -> Iterator[tuple[str, Answer]]:
    """The same call, saying in each possible place that someone else makes it."""
    yield "body", door.post(path, **body, agentId=name)
    yield "query", door.post(f"{path}?agentId={name}", **body)
    yield "second of a query", door.post(f"{path}?agentId={name}&agentId=ada", **body, agentId="ada")
    yield "header", door.post(path, {"X-Rook-Agent": name}, **body)
    yield "header beside the right name", door.post(path, {"X-Rook-Agent": name}, **body, agentId="ada")
    for told in ({"agent": name}, {"session": session}, {"agent": name, "open_addresses": True}):
        yield f"caller {told}", door.post(path, {"X-Rook-Caller": json.dumps(told)}, **body)
    yield "body beside a caller", door.post(path, {"X-Rook-Caller": "{}"}, **body, agentId=name)


def sent(door: Door, line: Line, crew: Crew, headers: Mapping[str, str] = {}, /, **more: Any) -> Answer:
    """A request that this route would take, with `more` in its query or body."""
    id = crew.thread if "/threads/" in line.path else crew.task
    id = WORKER if "/workers/" in line.path else BUNDLE if "/bundles/" in line.path else id
    path = line.path.replace("{id}", crew.person._team if "/teams/" in line.path else id).replace("{verb}", "inbox")
    values = {
        "title": "t", "to": ["bob"], "subject": "s", "body": "b", "message": "b", "verdict": "SHIP", "epoch": 1,
        "reason": "r", "note": "n", "taskId": crew.task, "ttlMs": 60_000, "feedback": "f", "assignee": "cat",
        "action": "dismiss",
    }  # fmt: skip
    values |= {"subject": ENDED} if line.path == "/v1/verdicts" else {}
    if line.method == "POST":
        body = {name: values[name] for name in line.body if name in values}
        return door.post(path, headers, **{**body, **more})
    query = {"path": "x", "q": "x", "subject": ENDED}
    return door.get(path, **{name: query[name] for name in line.query if name in query}, **more)


@pytest.fixture(params=VERB_TABLE, ids=lambda verb: verb.name)
def verb(request: pytest.FixtureRequest) -> Verb:
    return request.param


@pytest.fixture(params=TABLE, ids=lambda line: f"{line.method} {line.path}")
def line(request: pytest.FixtureRequest) -> Line:
    return request.param


# -- as another agent --------------------------------------------------------------------------------------------------


def test_h30_no_verb_acts_as_another_agent(still: Crew, verb: Verb):
    path, body = f"/v1/call/{verb.name}", arguments(verb, still, "cat", everything=False)
    before, victim, names = still.newest(), still.victim(), still.names()
    others = [(name, still.ada.post(path, **body, agentId=name)) for name in ("user", "nobody-yet")]
    for place, answer in (*places(still.ada, path, "bob", still.session, **body), *others):
        assert (answer.status, answer.code) == (403, "NOT_YOURS"), (place, answer)
        assert answer.body["error"]["hint"], place
    assert (still.newest(), still.victim(), still.names()) == (before, victim, names)


def test_h30_no_argument_of_a_verb_makes_another_agent_of_it(crew: Crew, verb: Verb):
    """Whatever is answered, whatever was done was done as ada, and nothing of bob's moved."""
    crew.ada.post("/v1/call/join")
    before, victim, names = crew.newest(), crew.victim(), crew.names()
    own = {"ada", "system", *(["nobody-yet"] if verb.name == "rename" else [])}
    for text in ("bob", "nobody-yet"):
        for everything in (False, True):
            answer = crew.ada.post(f"/v1/call/{verb.name}", **arguments(verb, crew, text, everything=everything))
            assert answer.status < 500, answer
            assert {event["actor"] for event in crew.since(before)} <= own
            assert crew.victim() == victim
    assert crew.names() - names <= own | {"user"}, "nobody came of a name"


def test_the_walk_would_notice(crew: Crew):
    """The control: with the team's token the same calls act as bob, make agents and move what is bob's."""
    before, victim = crew.newest(), crew.victim()
    for _, answer in places(crew.person, "/v1/call/send", "bob", crew.session, to=["cat"], subject="s"):
        assert answer.status == 200, answer
    assert {event["actor"] for event in crew.since(before)} == {"bob", "user", "ada"}
    crew.person.post("/v1/call/send", agentId="nobody-yet", to=["cat"], subject="s")
    assert "nobody-yet" in crew.names()
    crew.person.post("/v1/call/join", name="bob", takeover=True)
    assert crew.victim() != victim


def test_h30_no_route_acts_as_another_agent(still: Crew, line: Line):
    before, victim = still.newest(), still.victim()
    answers = [sent(still.ada, line, still, agentId="bob"), sent(still.ada, line, still, agentId="user")]
    if line.method == "POST":
        answers += [sent(still.ada, line, still, {"X-Rook-Agent": "bob"}, agentId="ada")]
    for answer in answers:
        expected = 200 if line.path in ASKS_NOBODY else 403
        assert answer.status == expected, answer
    assert (still.newest(), still.victim()) == (before, victim)


def test_h30_no_route_leads_to_another_team(still: Crew, line: Line, daemon: Running):
    if daemon.door.get("/v1/teams/elsewhere").status == 404:
        daemon.door.of("elsewhere").task()
    for door, agent in ((still.ada, "ada"), (still.eyes, "bob")):
        answer = sent(door, line, still, teamId="elsewhere", agentId=agent)
        assert answer.status == (200 if line.path in (*ASKS_NOBODY, "/v1/teams/{id}") else 403), answer
        stranger = Door(door.url, door._token).get("/v1/teams/elsewhere")
        assert (stranger.status, stranger.code) == (403, "NOT_YOURS")
    assert [agent["id"] for agent in daemon.door.get("/v1/teams/elsewhere").body["agents"]] == []


# -- reading only ------------------------------------------------------------------------------------------------------


def test_h30_a_reader_changes_nothing_by_a_verb(still: Crew, verb: Verb):
    before, victim, names = still.newest(), still.victim(), still.names()
    for agent in AS_WHOM:
        for everything in (False, True):
            body = arguments(verb, still, "cat", everything=everything)
            answer = still.eyes.post(f"/v1/call/{verb.name}", **body, **agent)
            if verb.writes:
                assert (answer.status, answer.code) == (403, "READ_ONLY_TOKEN"), answer
            elif verb.who != "anyone":
                assert (answer.status, answer.code) == (403, "NOT_YOURS"), answer
            else:
                assert answer.status not in (401, 403, 500) or answer.code == "NOT_YOURS", answer
    assert still.eyes.post(f"/v1/call/{verb.name}", {"Content-Type": "text/plain"}, x=1).status in (403, 422)
    assert (still.newest(), still.victim(), still.names()) == (before, victim, names)


def test_h30_a_reader_changes_nothing_by_a_route(still: Crew, line: Line):
    before, victim = still.newest(), still.victim()
    for agent in AS_WHOM:
        answer = sent(still.eyes, line, still, **agent)
        if line.method == "GET" or line.path == CALL:
            assert answer.status == (422 if line.path in ("/v1/inbox", "/v1/can-write") and not agent else 200), answer
        else:
            assert answer.status == 403, answer
    assert (still.newest(), still.victim()) == (before, victim)


# -- without a token ---------------------------------------------------------------------------------------------------


def test_h30_no_route_answers_without_a_token(still: Crew, line: Line):
    before = still.newest()
    for token in (None, tokens.written(tokens.Kind.AGENT, 7), tokens.written(tokens.Kind.READ, 7)):
        answer = sent(Door(still.person.url, token, still.person._team), line, still)
        if line.path == "/healthz":
            assert answer.status == 200
        else:
            assert (answer.status, answer.code) == (401, "UNAUTHORIZED")
    assert still.newest() == before


def test_h30_no_verb_answers_without_a_token(still: Crew, verb: Verb):
    nobody = Door(still.person.url, None, still.person._team)
    answer = nobody.post(f"/v1/call/{verb.name}", **arguments(verb, still, "bob", everything=False))
    assert (answer.status, answer.code) == (401, "UNAUTHORIZED")
