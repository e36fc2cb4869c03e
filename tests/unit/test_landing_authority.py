"""H43: a change lands by the user, by a rule or an option of theirs, or by the crew's reviewer, whatever verb asks."""

import inspect
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from rookery import config
from rookery.client.deed import Deed
from rookery.core.caller import Caller, Grant, Origin
from rookery.core.errors import RookError
from rookery.core.landing import Approval, Basis, is_approved
from rookery.front.cli.router import BY_NAME
from rookery.front.cli.show_crews import SHOWS
from rookery.service import crews, landing
from rookery.service.verbs import TABLE, Verb, parameters
from rookery.service.world import ReadFirst
from rookery.store.port import Transaction
from tests.support.reporting import SUMMARY, TEST, Shop
from tests.support.stage import Build, Stage


@pytest.fixture
def shop(build: Build, tmp_path: Path) -> Shop:
    return Shop(build(leader="boss"), tmp_path)


def inside(shop: Shop, id: str, **more: Any) -> Caller:
    """From beneath the program of a worker, as a command of its shell is seen."""
    process = shop.processes[id]
    return shop.caller(id)._replace(agent=None, origin=Origin(pid=4711, chain=(process,)), **more)


def landings(shop: Shop) -> list[str]:
    return [each["change"] for each in shop.stage.call("land.list")["landings"]]


def reported(shop: Shop, **more: Any) -> str:
    id = shop.worker(**more)
    shop.done(id)
    return id


# -- the one decision --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("approval", "lands"), [
    (Approval(Basis.VERDICT, by_user=True), True), (Approval(Basis.VERDICT), False),
    (Approval(Basis.VERDICT, by_reviewer=True, is_wanted=True), False),
    (Approval(Basis.RULE, has_rule=True), True), (Approval(Basis.RULE, by_user=True), False),
    (Approval(Basis.REVIEW, by_user=True, is_wanted=True), True), (Approval(Basis.REVIEW, by_user=True), False),
    (Approval(Basis.REVIEW, by_reviewer=True, is_wanted=True), True),
    (Approval(Basis.REVIEW, by_reviewer=True, is_wanted=True, is_own=True), False),
    (Approval(Basis.REVIEW, is_wanted=True), False),
    (Approval(Basis.OPTION, is_wanted=True), True), (Approval(Basis.OPTION, by_user=True), False),
])  # fmt: skip
def test_on_what_ground_a_change_lands(approval: Approval, lands: bool) -> None:
    assert is_approved(approval) is lands


def test_nothing_is_queued_outside_the_module_that_decides() -> None:
    """Only these write a row of the merge queue, and each asks first."""
    folder = Path(inspect.getfile(landing)).parent
    writers = [path.name for path in folder.glob("*.py") if any(
        f'"{query}"' in path.read_text() for query in ("new_landing", "requeue_landing"))]  # fmt: skip
    assert writers == ["landing.py"]
    source = inspect.getsource(landing)
    assert source.count("_enqueue(tx") == 3, "its definition, and two callers that ask `is_approved`"
    for caller in (landing.after_done, landing.put, landing.retry):
        assert any(word in inspect.getsource(caller) for word in ("is_approved", "_require_approval"))


# -- every verb, every caller but the user -----------------------------------------------------------------------------


def plausible(verb: Verb, known: dict[str, Any]) -> dict[str, Any]:
    """Arguments under which a verb would land what waits, if it could."""
    found: dict[str, Any] = {}
    for parameter in parameters(verb.load()):
        if parameter.name in known:
            found[parameter.name] = known[parameter.name]
        elif parameter.required:
            found[parameter.name] = {str: known["id"], int: 1, bool: True}.get(parameter.type, [known["id"]])
    return found


def callers(shop: Shop, author: str) -> Iterator[tuple[str, Caller]]:
    shop.stage.join("ada")
    made = shop.stage.call("token.new", agent="ada")
    row = shop.stage.store.read("crew", lambda db: db.one("agent_by_key", key="ada"))
    assert row is not None
    yield "author", inside(shop, author)
    yield "author as user", inside(shop, author)._replace(agent="user")
    yield "author by name", shop.caller(author)
    yield "another agent", shop.stage.caller("ada")
    yield "the leader", shop.stage.caller("boss", open_addresses=True)
    yield "an agent's token", Caller(grant=Grant("crew", made["id"], "agent", row["id"], "ada"))
    yield "the daemon's token", Caller(daemon_token=True)
    yield "the daemon's token as user", Caller(agent="user", daemon_token=True)
    yield "the daemon's token as leader", Caller(agent="boss", daemon_token=True, open_addresses=True)


class RolledBack(Exception):
    def __init__(self, landings: list[str]) -> None:
        self.landings = landings


def write_having_read(stage: Stage, work: Callable[[Transaction], None]) -> None:
    """As the clients do: kinds that a verb needs are read outside of its transaction."""
    while True:
        try:
            return stage.store.write(stage.team, work)
        except ReadFirst as wanted:
            wanted.read()


def queued_by(shop: Shop, verb: Verb, caller: Caller, args: dict[str, Any]) -> list[str]:
    """What a call would put in the merge queue; nothing of it is kept."""
    stage = shop.stage
    try:
        deed = Deed(verb.name, args, caller, stage, lambda work: stage.store.read(stage.team, work))

        def work(db: Transaction) -> None:
            deed.work(db)
            raise RolledBack([row["id"] for row in db.all("landings", state="", limit=10)])

        write_having_read(stage, work)
    except RolledBack as done:
        return done.landings
    except (RookError, AssertionError, TypeError, ValueError, AttributeError, KeyError):
        return []  # refused, or the arguments were of no use to it
    raise AssertionError("it was kept")


def attempts(shop: Shop, author: str, caller: Caller) -> Iterator[tuple[str, list[str]]]:
    (change,) = shop.stage.call("changes")["changes"]
    for subject in (change["id"], change["task"] or "task-0001", author, f"{author}/1", "land-0001"):
        known = {"id": subject, "change": change["id"], "subject": f"{author}/1", "action": "promote", "branch": "main",
                 "verdict": "SHIP", "approve": True, "worker": author, "force": True}  # fmt: skip
        yield from ((verb.name, queued_by(shop, verb, caller, plausible(verb, known))) for verb in TABLE if verb.writes)


@pytest.mark.parametrize("reviewed", [False, True])
def test_h43_no_verb_lands_work_for_anyone_but_the_user(shop: Shop, reviewed: bool, tmp_path: Path) -> None:
    """Also where the user lets reviewed work land: the review of just any agent is not enough."""
    file = tmp_path / "config.toml"
    file.write_text("land.auto = true\n" if reviewed else "")
    shop.stage.settings = config.load(environ={}, user_file=str(file), repo_file=None, flags={"leader": "boss"})
    task = shop.stage.call("task.add", title="work", review=reviewed)["id"]
    author = reported(shop, assignment=task) if reviewed else reported(shop)
    shop.stage.join("boss")
    for who, caller in callers(shop, author):
        landed = {verb for verb, found in attempts(shop, author, caller) if found}
        assert landed == set(), who
    landed = {verb for verb, found in attempts(shop, author, shop.stage.caller()) if found}
    assert landed == {"verdict", "land.add", *(["task.review"] if reviewed else [])}, "the control: the user lands it"


# -- options -----------------------------------------------------------------------------------------------------------


def test_h42_the_environment_of_an_agent_lands_nothing(shop: Shop) -> None:
    shop.stage.settings = config.load(environ={"ROOK_LAND_AUTO": "true"}, user_file=None, repo_file=None)
    id = shop.worker()
    shop.write(id)
    shop.stage.call("done", inside(shop, id), outcome="completed", summary=SUMMARY, tests=[TEST])
    assert landings(shop) == []
    assert [each["subject"] for each in shop.stage.call("docket")["items"]] == [f"{id}/1"]


def test_h42_a_file_of_settings_that_an_agent_chooses_lands_nothing(shop: Shop, tmp_path: Path) -> None:
    """HOME and XDG_CONFIG_HOME say where the user's file is; inside a worker they are the worker's to set."""
    file = tmp_path / "evil.toml"
    file.write_text("land.auto = true\nguard.strict = true\n")
    setattr(shop.stage, "user_file", "/home/user/.config/rookery/config.toml")  # noqa: B010
    id = shop.worker()
    shop.write(id)
    setattr(shop.stage, "user_file", str(file))  # noqa: B010
    shop.stage.settings = config.load(environ={}, user_file=str(file), repo_file=None)
    assert shop.stage.settings.inside_agent(own_file=False)["guard.strict"] is True, "it may narrow"
    shop.stage.call("done", inside(shop, id), outcome="completed", summary=SUMMARY, tests=[TEST])
    assert landings(shop) == []


def test_h42_a_chain_that_is_cut_off_is_nobodys(build: Build) -> None:
    stage = build()
    stage.join("ada")
    deep = stage.caller(origin=Origin(pid=9, chain=(stage.process(),), terminal=True, whole=False))
    assert stage.refused("rule.add", deep, name="mine").code == "NOT_YOURS"
    assert stage.refused("rule.add", deep._replace(agent="user"), name="mine").code == "NOT_YOURS"
    assert stage.refused("send", deep, to=["ada"], subject="x").code == "WHO_ARE_YOU"
    assert stage.refused("inbox", deep._replace(agent="user")).code == "NOT_YOURS"
    stage.send("ada", "user", subject="secret", body="hunter2")
    assert stage.call("search", deep, query=["hunter2"])["messages"] == []


def test_an_option_of_the_user_lands_and_the_log_names_it(shop: Shop, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("land.auto = true\n")
    shop.stage.settings = config.load(environ={}, user_file=str(file), repo_file=None)
    id = shop.worker()
    shop.write(id)
    shop.stage.call("done", inside(shop, id), outcome="completed", summary=SUMMARY, tests=[TEST])
    assert len(landings(shop)) == 1
    (decision,) = shop.stage.call("decisions")["decisions"]
    assert (decision["by"], decision["rule"]) == ("system", "option: land.auto")


@pytest.mark.parametrize(("who", "lands"), [("user", True), ("ada", False)])
def test_only_a_crew_that_the_user_started_lands_by_itself(shop: Shop, who: str, lands: bool) -> None:
    shop.stage.join("ada")
    plan = shop.stage.call("plan.new", goal="Parse")["id"]
    caller = shop.stage.caller(who, tree=str(shop.root))
    crew = shop.stage.call("crew.run", caller, plan=plan)
    terms = shop.stage.store.read("crew", lambda db: db.one("crew_terms", id=crew["id"]))
    assert terms is not None
    assert ('"land": true' in terms["terms"]) is lands
    assert bool(crew["warnings"]) is not lands, "a crew that lands nothing says so"


def test_h42_an_agent_does_not_take_the_reviews_from_a_plan_of_another(shop: Shop) -> None:
    """A worker whose task is reviewed could start a crew on its plan, without reviews, and stop that crew again."""
    shop.stage.join("ada")
    plan = shop.stage.call("plan.new", goal="Parse", review=True)["id"]
    task = shop.stage.call("task.add", title="Parse it", plan=plan)["id"]
    caller = shop.stage.caller("ada", tree=str(shop.root))
    assert shop.stage.refused("crew.run", caller, plan=plan, no_review=True).code == "NOT_YOURS"
    assert shop.stage.call("task.show", id=task)["review"]
    own = shop.stage.call("plan.new", "ada", goal="Its own")["id"]
    assert shop.stage.call("crew.run", caller, plan=own, no_review=True)["id"]


@pytest.mark.parametrize("how", [{"no_land": True}, {"no_worktree": True}])
def test_a_crew_that_was_not_to_land_warns_of_nothing(shop: Shop, how: dict[str, bool]) -> None:
    shop.stage.join("ada")
    plan = shop.stage.call("plan.new", goal="Parse")["id"]
    caller = shop.stage.caller("ada", tree=str(shop.root))
    assert shop.stage.call("crew.run", caller, plan=plan, **how)["warnings"] == []


def test_the_warning_is_shown_and_its_commands_are_there() -> None:
    (warning,) = crews._warnings("crew-0001", {"land": False}, no_land=False)
    words = set(re.findall(r"`rook ([a-z]+(?: [a-z]+)?)", warning))
    assert words <= set(BY_NAME), words
    counts = dict.fromkeys(("done", "canceled", "total"), 0)
    result = {"id": "crew-0001", "plan": "plan-0001", "state": "running", "why": "", "counts": counts, "left_ms": 0,
              "elapsed_ms": 0, "landings": {}, "workers": [], "waits": False, "warnings": [warning]}  # fmt: skip
    console = Console(width=400, record=True, file=io.StringIO())
    console.print(SHOWS["crew.run"](result))
    assert warning in console.export_text()


# -- reviews -----------------------------------------------------------------------------------------------------------


def completed(stage: Stage, author: str) -> str:
    id = stage.call("task.add", title="work", review=True)["id"]
    stage.call("task.claim", author, id=id)
    stage.call("task.done", author, id=id, summary="did it")
    return id


def test_h42_a_program_does_not_review_its_own_work_under_another_name(build: Build) -> None:
    stage = build()
    outer, inner, other = stage.process(), stage.process(), stage.process()
    for name, process, chain in (("ada", outer, (outer,)), ("nested", inner, (inner, outer)), ("bob", other, (other,))):
        origin = Origin(pid=9, chain=chain[1:], program=True)
        stage.call("turn.start", stage.caller(process=process, origin=origin), host="claude", host_id=name, name=name)

    def seen(*chain: tuple[int, str]) -> Caller:
        return stage.caller(origin=Origin(pid=9, chain=chain))

    task = stage.call("task.add", title="work", review=True)["id"]
    stage.call("task.claim", seen(outer), id=task)
    stage.call("task.done", seen(outer), id=task, summary="did it")
    refused: Callable[[Caller], str] = lambda caller: stage.refused(  # noqa: E731
        "task.review", caller, id=task, verdict="SHIP").code  # fmt: skip
    assert refused(seen(outer)) == "OWN_WORK"
    assert refused(seen(inner, outer)) == "OWN_WORK", "a program that it started"
    second = stage.call("task.add", title="more", review=True)["id"]
    stage.call("task.claim", seen(inner, outer), id=second)
    stage.call("task.done", seen(inner, outer), id=second, summary="did it")
    assert stage.refused("task.review", seen(outer), id=second, verdict="SHIP").code == "OWN_WORK", "what started it"
    assert stage.call("task.review", seen(other), id=task, verdict="SHIP")["review"] == "SHIP"


def test_h42_a_name_alone_judges_nothing_where_the_terminal_rule_holds(build: Build) -> None:
    stage = build()
    stage.join_all("ada", "bob")
    task = completed(stage, "ada")
    stage.store.write("crew", lambda db: db.run("store_put_setting", name="authority.terminal", value="on"))
    assert stage.refused("task.review", "bob", id=task, verdict="SHIP").code == "NO_TERMINAL"
    other = stage.caller("bob", origin=Origin(pid=9, chain=(stage.process(),)))
    assert stage.refused("task.review", other, id=task, verdict="SHIP").code == "NO_TERMINAL"
    run = stage.caller("bob", origin=Origin(pid=9, chain=(stage.process(),), runs=("run-unknown",)))
    assert stage.refused("task.review", run, id=task, verdict="SHIP").code == "NO_TERMINAL"
    mine = stage.caller("bob", origin=Origin(pid=9, chain=(stage._joined["bob"],)))
    assert stage.call("task.review", mine, id=task, verdict="SHIP")["review"] == "SHIP", "below the process that joined"


def test_h42_the_marker_of_a_run_makes_nobody_its_worker(shop: Shop) -> None:
    """A marker can be set by anyone: it keeps its bearer from being the user, and proves nothing."""
    shop.stage.store.write("crew", lambda db: db.run("store_put_setting", name="authority.terminal", value="on"))
    id = shop.worker()
    stranger = shop.stage.process()
    marked = shop.stage.caller(origin=Origin(pid=9, chain=(stranger,), runs=(shop.runs[id],)))
    shop.stage.join("ada")
    task = completed(shop.stage, "ada")
    assert shop.stage.refused("task.review", marked, id=task, verdict="SHIP").code == "NO_TERMINAL"
    assert shop.stage.refused("rule.add", marked, name="mine").code == "NOT_YOURS"
    assert shop.stage.refused("send", marked, to=["ada"], subject="as the worker").code == "WHO_ARE_YOU"
    assert shop.stage.call("inbox", marked)["messages"] == []
    shop.stage.call("turn.program", shop.stage.caller(process=stranger))
    assert shop.stage.refused("send", marked, to=["ada"], subject="as the worker").code == "WHO_ARE_YOU"
