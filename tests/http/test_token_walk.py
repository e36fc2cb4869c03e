"""H30: every verb and every route, with an agent's token as another agent, with a reader's token, and with none.

A new verb or route is judged here without anyone thinking of it.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import rookery
from rookery import app
from rookery.core import authority, tokens
from rookery.core.caller import Role
from rookery.front.http.routes import CALL, TABLE, Line
from rookery.runtime import process
from rookery.runtime.clock import SystemClock
from rookery.service.verbs import TABLE as VERB_TABLE
from rookery.service.verbs import Verb, parameters
from tests.support.doors import Answer, Door, Running
from tests.support.holders import Crew, assembled
from tests.support.hostile import TRAPS, Yard
from tests.support.panes import until
from tests.unit.gitrepo import git

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
    with rookery.connect(home=daemon.environ["ROOK_HOME"], team="still", cwd="/") as team:
        script = {"host": "script", "program": ["false"], "no_worktree": True}
        assert team.call("spawn", assignment="Say nothing", **script)["id"] == WORKER
    until(lambda: door.get(f"/v1/workers/{WORKER}").body["state"] == "ended", lambda: door.get("/v1/workers").body, 120)
    until(lambda: door.get("/v1/docket").body["items"], lambda: door.get("/v1/docket").body, 120)
    door.operator.post("/v1/call/evidence.take", found=[{"kind": "command", "ref": "walk:0", "title": "pwd"}])
    saved = door.operator.post("/v1/call/bundle.save", refs=["walk:0"], title="What was done")
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
    """The control: with the team's token the same calls act as bob and make agents; an operator moves what is bob's."""
    before, victim = crew.newest(), crew.victim()
    for _, answer in places(crew.person, "/v1/call/send", "bob", crew.session, to=["cat"], subject="s"):
        assert answer.status == 200, answer
    assert {event["actor"] for event in crew.since(before)} == {"bob", "system", "ada"}
    crew.person.post("/v1/call/send", agentId="nobody-yet", to=["cat"], subject="s")
    assert "nobody-yet" in crew.names()
    crew.person.operator.post("/v1/call/join", name="bob", takeover=True)
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
    assert [agent["id"] for agent in daemon.door.get("/v1/teams/elsewhere").body["team"]["agents"]] == []


# -- from another place ------------------------------------------------------------------------------------------------


class Elsewhere(NamedTuple):
    """The repository of another team on this machine, which is set up to run something."""

    root: Path
    yard: Yard
    door: Door

    def header(self) -> dict[str, str]:
        own = process.identify(os.getpid())
        here, machine = str(self.root), {"host": process.host_name(), "boot": SystemClock().boot()}
        said = {"tree": here, "cwd": here, "process": own, "lineage": [own], **machine}
        return {"X-Rook-Caller": json.dumps(said)}

    def look(self) -> tuple[Any, ...]:
        """All that another team must not be able to change, or have run."""
        files = sorted(str(path) for path in self.root.rglob("*") if ".git/objects" not in str(path))
        newest = self.door.get("/v1/events", after=0, limit=1).body["newest"]
        names = [each["name"] for each in self.door.get("/v1/agents").body["agents"]]
        return files, git("for-each-ref", cwd=self.root), newest, names, self.yard.is_marked


@pytest.fixture(scope="module")
def elsewhere(daemon: Running, tmp_path_factory: pytest.TempPathFactory) -> Elsewhere:
    yard = Yard(tmp_path_factory.mktemp("elsewhere"))
    for trap in ("hooks", "clean", "smudge"):
        TRAPS[trap].plant(yard)
    yard.mark.unlink(missing_ok=True)
    with rookery.connect(home=daemon.environ["ROOK_HOME"], team="foreign", cwd=str(yard.root)) as team:
        team.join("eve")
        team.add_task("theirs")
    return Elsewhere(yard.root, yard, daemon.door.of("foreign"))


def planted(verb: Verb, crew: Crew, text: str) -> dict[str, Any]:
    """Every text is the same one, ids too: a path of the other repository, its team, or an option of git."""
    values: dict[Any, Any] = {str: text, int: 1, bool: True, list[str]: [text], dict[str, Any]: {"path": text}}
    kinds = {p.name: (p.type, *getattr(p.type, "__args__", ())) for p in parameters(verb.load())}
    known = {"id": crew.task, "task": crew.task} if not verb.name.startswith(("spawn", "crew")) else {}
    found = {name: next((values[each] for each in kind if each in values), None) for name, kind in kinds.items()}
    return {name: value for name, value in {**found, **known}.items() if value is not None and name in kinds}


def test_h47_no_verb_reaches_the_place_of_another_team(crew: Crew, elsewhere: Elsewhere, verb: Verb):
    """With the place in the header, in each text at once, and in each text alone."""
    crew.ada.post("/v1/call/join")
    before = elsewhere.look()
    path = f"/v1/call/{verb.name}"
    for text in (str(elsewhere.root), str(elsewhere.root / "a.txt"), "foreign", "--upload-pack=touch x"):
        everything = planted(verb, crew, text)
        needed = arguments(verb, crew, "cat", everything=False)
        for body in (everything, *({**needed, name: value} for name, value in everything.items())):
            for headers in ({}, elsewhere.header()):
                assert crew.ada.post(path, headers, **body).status < 500, body
    assert elsewhere.look() == before
    roots = [crew.person.get(f"/v1/workers/{each['id']}").body["root"] for each in workers(crew)]
    assert not [root for root in roots if root.startswith(str(elsewhere.root))]
    told = [json.dumps(crew.person.post("/v1/call/whois", name=name).body) for name in ("ada", "bob")]
    assert not [each for each in told if f'"cwd": "{elsewhere.root}' in each]
    assert transcripts(crew) == []


def transcripts(crew: Crew) -> list[Any]:
    """As the daemon's own service sees them."""
    house = app.open_house(cwd="/", environ={"ROOK_HOME": crew.person.home}, team=crew.person._team)
    try:
        return house.client.call("transcripts.due", {}, house.caller("system", open_addresses=True))["transcripts"]
    finally:
        house.close()


def workers(crew: Crew) -> list[dict[str, Any]]:
    return crew.person.post("/v1/call/workers", all=True).body["workers"]


def test_the_walk_from_another_place_would_notice(daemon: Running, elsewhere: Elsewhere):
    """The control: a process that stands there is believed, and starts a worker there."""
    with rookery.connect(home=daemon.environ["ROOK_HOME"], team="control", cwd=str(elsewhere.root)) as team:
        made = team.call("spawn", assignment="Look", host="script", program=["true"], no_worktree=True)
    assert made["root"] == str(elsewhere.root)


# -- reading only ------------------------------------------------------------------------------------------------------


def test_h30_a_reader_changes_nothing_by_a_verb(still: Crew, verb: Verb):
    before, victim, names = still.newest(), still.victim(), still.names()
    for agent in AS_WHOM:
        for everything in (False, True):
            body = arguments(verb, still, "cat", everything=everything)
            answer = still.eyes.post(f"/v1/call/{verb.name}", **body, **agent)
            if verb.who in (authority.USER, authority.DAEMON):
                assert (answer.status, answer.code) == (403, "NOT_YOURS"), answer
            elif verb.writes:
                assert (answer.status, answer.code) == (403, "READ_ONLY_TOKEN"), answer
            elif not verb.by_token or verb.who == authority.LEADER:
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
            assert answer.status == (400 if line.path == "/v1/inbox" and not agent else 200), answer
        else:
            assert answer.status == 403, answer
    assert (still.newest(), still.victim()) == (before, victim)


# -- without a token ---------------------------------------------------------------------------------------------------


def test_h30_no_route_answers_without_a_token(still: Crew, line: Line):
    before = still.newest()
    for token in (None, tokens.written(Role.AGENT, 7), tokens.written(Role.VIEWER, 7)):
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
