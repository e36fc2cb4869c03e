"""H42 over a local connection: the process at its other end says who calls, whatever token it brings."""

import json
import socket
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from rookery.core import authority
from rookery.service.verbs import TABLE
from tests.support import attacks
from tests.support.panes import until
from tests.support.supervised import Site, site

pytestmark = pytest.mark.slow
REVIEW = {"verb": "task.review", "args": {"id": "task-0001", "verdict": "SHIP"}}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "kind.add": {"written": "x"}, "kind.drop": {"name": "x"}, "rule.add": {"name": "x"}, "rule.remove": {"name": "x"},
    "land.add": {"change": "x"}, "land.retry": {"id": "x"}, "land.undo": {"id": "x"}, "land.drop": {"id": "x"},
    "token.new": {"role": "operator"}, "token.revoke": {"id": "x"}, "trust.accept": {"accepted": {}},
    "config.set": {"name": "authority.terminal", "value": "off"}, "import_mail": {"letters": []},
    "budget.set": {"max_tokens": 5}, "team.set": {"leader": "leader"},
}  # fmt: skip


@pytest.fixture
def here() -> Generator[Site]:
    """w1 reviews and waits; its token lies in a file, which every process of the user can read."""
    with site() as made, made.up():
        made.call("task.add", "user", title="work", review=True)
        made.spawn()
        made.begun()
        yield made
        made.finish()


def token_of(here: Site, worker: str) -> str:
    return str(here.files(worker) / "token")


def send(here: Site, calls: list[dict[str, Any]], name: str, wrap: str = "{}") -> list[Any]:
    """From inside a worker of its own. Only the variables that lead to the daemon are left."""
    written, out = here.folder / f"{name}.json", here.folder / f"{name}.out"
    written.write_text(json.dumps(calls))
    names = ("PATH", "HOME", "ROOK_HOME", "PYTHONPATH")
    kept = {key: value for key, value in here.house.environ.items() if key in names}
    bare = " ".join(f"'{key}={value}'" for key, value in {**kept, "ROOK_TEAM": here.team}.items())
    command = wrap.format(f"env -i {bare} {' '.join(attacks.ME)} http {written} {out}")
    here.spawn(program=[here.program(name, more=f"({command}) >{here.folder}/{name}.err 2>&1")])
    return attacks.wait_for(str(out))


@pytest.mark.parametrize("wrap", ["{}", "setsid -w {}", "(({}) &); true"])
def test_h42_a_worker_is_nobody_else_with_the_token_of_another_run(here: Site, wrap: str) -> None:
    here.call("send", "user", to=[here.card("w1")["name"]], subject="for w1", body="secret")
    own = here.card("w1")["name"]
    calls = [{**REVIEW, "token": token_of(here, "w1")}, {"verb": "inbox", "args": {}, "token": token_of(here, "w1")},
             {"verb": "inbox", "args": {}, "as": own}, {**REVIEW, "as": own},
             {"verb": "send", "args": {"to": ["bob"], "subject": "x"}, "as": own}]  # fmt: skip
    told = send(here, calls, "thief", wrap)
    assert [tuple(each[1:]) for each in told] == [(403, "NOT_YOURS")] * len(calls), told
    until(lambda: len(here.events("authority.refused")) >= 3, lambda: here.events("authority.refused"))
    refused = here.events("authority.refused")
    assert {each["actor"] for each in refused} == {here.card("w2")["name"]}, "the record names who really called"
    assert all(each["caller"]["pid"] and each["caller"]["run"] for each in refused)
    assert here.call("task.show", id="task-0001")["review"] != "SHIP"


def own_address() -> str:
    """An address of this machine outside 127.*; "" if it has none. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))
        except OSError:
            return ""
        found = probe.getsockname()[0]
    return "" if found.startswith("127.") else found


def test_h42_the_address_that_a_worker_calls_from_changes_nothing(here: Site) -> None:
    """A client chooses its source address: any of this machine reaches the loopback. `tests/unit/test_peers.py` holds
    the lookup where the machine has no such address."""
    if not (address := own_address()):
        pytest.skip("this machine has no address outside 127.*")
    operators = here.folder / "found"
    operators.write_text(here.call("token.new", "user", role="operator")["token"])
    own = here.card("w1")["name"]
    calls = [{**REVIEW, "token": token_of(here, "w1")}, {"verb": "inbox", "args": {}, "token": token_of(here, "w1")},
             {"verb": "inbox", "args": {}, "as": own},
             {"verb": "send", "args": {"to": ["x"], "subject": "x"}, "as": own},
             {"verb": "rule.add", "args": {"name": "x"}, "token": str(operators)}]  # fmt: skip
    told = send(here, [{**each, "from": address} for each in calls], "elsewhere")
    assert [tuple(each[1:]) for each in told] == [(403, "NOT_YOURS")] * len(calls), told
    assert posted(here, {**calls[1], "from": address}) == (403, "NOT_YOURS"), "nor from outside every run"


def test_h42_a_process_outside_a_run_does_not_use_its_token(here: Site) -> None:
    """This very test, in no agent's tree."""
    told = posted(here, {"verb": "inbox", "args": {}, "token": token_of(here, "w1")})
    assert told == (403, "NOT_YOURS")
    until(lambda: here.events("authority.refused"), lambda: here.events(""))  # it is written after the answer


def posted(here: Site, call: dict[str, Any]) -> tuple[int, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROOK_HOME", str(here.home))
        patch.setenv("ROOK_TEAM", here.team)
        return attacks._posted(call)


def test_a_worker_uses_its_own_token_and_is_itself_with_the_daemons(here: Site) -> None:
    mine = {"token": token_of(here, "w2")}
    calls = [{"verb": "inbox", "args": {}, **mine}, {"verb": "inbox", "args": {}},
             {"verb": "progress", "args": {"steps": ["look"]}, **mine},
             {"verb": "status", "args": {"note": "here"}}]  # fmt: skip
    told = send(here, calls, "honest")
    assert [each[1] for each in told] == [200] * len(calls), told
    assert [each["actor"] for each in here.events("progress")] in ([], [here.card("w2")["name"]])


def test_h42_an_operators_token_that_a_worker_found_decides_nothing(here: Site) -> None:
    path = here.folder / "found"
    path.write_text(here.call("token.new", "user", role="operator")["token"])
    deciding = [verb.name for verb in TABLE if verb.who == authority.USER]
    calls = [{"verb": verb, "args": ARGUMENTS.get(verb, {}), "token": str(path)} for verb in deciding]
    told = send(here, calls, "finder")
    assert [each for each in told if each[1:] != [403, "NOT_YOURS"]] == []
    assert posted(here, calls[deciding.index("rule.add")])[0] != 403, "the control: outside every tree it decides"


def test_h42_a_process_that_leaves_at_once_is_not_heard(here: Site) -> None:
    """Its words are there, and nobody is left who could be asked whose they are."""
    calls = [{"verb": "send", "args": {"to": ["leader"], "subject": f"left {n}"}, "as": here.card("w1")["name"],
              "leaves": True} for n in range(20)]  # fmt: skip
    here.call("join", name="leader")
    send(here, [*calls, {"verb": "task.add", "args": {"title": "the last"}}], "leaver")
    until(lambda: len(here.events("task.created")) == 4, lambda: here.events(""))
    assert [each["actor"] for each in here.events("message") if each["target"] == "leader"] == []


def test_the_file_of_a_token_can_be_read_by_every_process_of_the_user(here: Site) -> None:
    """Why a token alone proves nothing here."""
    assert Path(token_of(here, "w1")).read_text().startswith("rookagent_")


def test_h42_test_runs_that_are_told_with_a_token_are_no_checks(here: Site) -> None:
    """What a worker says of its tests is its word; a check is what the daemon saw."""
    found = [{"kind": "test", "ref": "t:1", "title": "pytest", "data": {"command": "pytest", "passed": 3}}]
    say = {"verb": "evidence.take", "args": {"found": found}}
    told = send(here, [say, {**say, "token": token_of(here, "w2")}], "boaster")
    assert [each[1] for each in told] == [200, 200], told
    assert posted(here, {**say, "as": "eve"})[0] == 200, "and from outside every tree, for a guest"
    assert posted(here, {**say, "as": here.card("w2")["name"]})[0] == 403
    assert checks(here, "w2") == []
    here.call("evidence.take", "user", worker="w2", found=[{**found[0], "ref": "t:2"}])
    assert checks(here, "w2") == ["t:2"], "the control: what the user takes in counts"


def checks(here: Site, worker: str) -> list[str]:
    """The recorded test runs that a deliverable would rest on."""
    run = here.starts(worker)[-1][0]
    rows = here.house.store.read(here.team, lambda db: db.all("test_runs_of", worker=worker, run=run, limit=9))
    return [here.call("show", ref=row["id"])["ref"] for row in rows]
