"""H42, H43: ways by which an agent got its own work landed or judged, or became another agent, in an attack."""

from pathlib import Path
from typing import Any

import pytest

from rookery.core import authority
from rookery.core.caller import Caller, Origin
from rookery.service.verbs import TABLE, parameters
from tests.support.reporting import Shop
from tests.support.stage import Build

TASKS = [{"key": "a", "title": "A"}, {"key": "b", "title": "B"}]

# Arguments that no help shows, of verbs that agents may call. Each is harmless from an agent, or checked by its verb.
HIDDEN = """
    join.branch join.resume join.terminal
    turn.start.terminal turn.start.ways
"""


@pytest.fixture
def shop(build: Build, tmp_path: Path) -> Shop:
    made = Shop(build(leader="boss"), tmp_path)
    made.stage.store.write("crew", lambda db: db.run("store_put_setting", name="authority.terminal", value="on"))
    return made


def below(shop: Shop, id: str, **more: Any) -> Caller:
    """From beneath the program of a worker, as a command of its shell is seen."""
    process = shop.processes[id]
    return shop.caller(id)._replace(agent=None, origin=Origin(pid=4711, chain=(process,)), **more)


def crew_of(shop: Shop, **more: Any) -> dict[str, Any]:
    plan = shop.stage.call("plan.new", goal="Any", tasks=TASKS)["id"]
    return shop.stage.call("crew.run", users(shop), plan=plan, **more)


def users(shop: Shop) -> Caller:
    return shop.stage.caller(tree=str(shop.root), origin=Origin(pid=1, terminal=True))


def test_nobody_says_which_crew_a_worker_belongs_to() -> None:
    names = {
        parameter.name for verb in TABLE if verb.name in ("spawn", "respawn") for parameter in parameters(verb.load())
    }
    assert not names & {"crew", "role", "extra", "judges"}


def test_a_task_of_a_crew_is_judged_by_its_reviewer(shop: Shop) -> None:
    crew = crew_of(shop)["id"]
    author = shop.worker("task-0001", crew=crew, role="work")
    shop.done(author)
    stranger = shop.worker("Something else")
    other = shop.worker("task-0001", crew="crew-0009", role="review")
    for id in (stranger, other):
        asked = below(shop, id)
        assert shop.stage.refused("task.review", asked, id="task-0001", verdict="SHIP").code == "NOT_REVIEWER"
    judge = shop.worker("task-0001", crew=crew, role="review")
    assert shop.stage.call("task.review", below(shop, judge), id="task-0001", verdict="SHIP")["review"] == "SHIP"


def test_a_reviewer_of_an_earlier_report_judges_no_later_one(shop: Shop) -> None:
    crew = crew_of(shop)["id"]
    author = shop.worker("task-0001", crew=crew, role="work")
    shop.done(author)
    judge = shop.worker("task-0001", crew=crew, role="review")
    shop.stage.call("task.review", below(shop, judge), id="task-0001", verdict="NEEDS_WORK", feedback="Look again.")
    shop.call(author, "task.claim", id="task-0001")
    shop.done(author)
    assert shop.stage.refused("task.review", below(shop, judge), id="task-0001", verdict="SHIP").code == "NOT_REVIEWER"


def test_a_worker_of_the_authors_own_crew_does_not_judge_it(shop: Shop) -> None:
    task = shop.stage.call("task.add", title="Parse", review=True)["id"]
    author = shop.worker(task)
    shop.done(author)
    plan = shop.stage.call("plan.new", below(shop, author), goal="Mine", tasks=TASKS)["id"]
    crew = shop.stage.call("crew.run", shop.caller(author), plan=plan)["id"]
    judge = shop.worker("Judge", crew=crew, role="work")
    assert shop.stage.refused("task.review", below(shop, judge), id=task, verdict="SHIP").code == "OWN_WORK"


def test_a_crew_reviews_a_plan_that_says_nothing_of_reviews(shop: Shop) -> None:
    crew_of(shop)
    assert {shop.stage.call("task.show", id=id)["review"] for id in ("task-0001", "task-0002")} == {"wanted"}


def test_without_reviews_a_crew_has_none(shop: Shop) -> None:
    crew_of(shop, no_review=True)
    assert shop.stage.call("task.show", id="task-0001")["review"] == ""


# -- another agent's name ----------------------------------------------------------------------------------------------


def left_behind(shop: Shop, run: str = "") -> Caller:
    """Two forks, `setsid`, and its run is over: nothing above it is known, and it carries the mark."""
    process = shop.stage.process()
    origin = Origin(pid=process[0], chain=(process,), marked=True, runs=(run,) if run else ())
    return shop.stage.caller(origin=origin, process=process)


@pytest.mark.parametrize("marker", [False, True], ids=["no marker", "marker of a run"])
def test_a_process_that_was_left_behind_is_nobody(shop: Shop, marker: bool) -> None:
    victim = shop.worker()
    ghost = left_behind(shop, shop.runs[victim] if marker else "")
    for name in (shop.names[victim], "ghost"):
        assert shop.stage.refused("join", ghost, name=name, takeover=True).code == "NOT_YOURS"
        assert shop.stage.refused("turn.start", ghost, host="claude", name=name).code == "NOT_YOURS"
    shop.stage.join("boss")
    shop.stage.call("send", "boss", to=[shop.names[victim]], subject="For the worker alone")
    assert shop.stage.call("inbox", ghost)["messages"] == []
    for verb, args in (("send", {"to": ["boss"], "subject": "s"}), ("reserve", {"paths": ["x"]})):
        assert shop.stage.refused(verb, ghost, **args).code == "WHO_ARE_YOU"


def test_a_program_inside_another_takes_only_a_new_name(shop: Shop) -> None:
    shop.stage.join("victim")
    shop.stage.call("leave", "victim")
    outer = shop.worker()
    inner = shop.stage.process()
    chain = (inner, shop.processes[outer])
    asked = shop.stage.caller(origin=Origin(pid=inner[0], chain=chain), process=inner)
    assert shop.stage.refused("turn.start", asked, host="claude", host_id="x", name="victim").code == "NOT_YOURS"
    unbound = asked._replace(process=None)
    assert shop.stage.refused("turn.start", unbound, host="claude", host_id="x", name="other").code == "NOT_YOURS"
    assert shop.stage.call("turn.start", asked, host="claude", host_id="x", name="fresh")["name"] == "fresh"


def test_an_agent_does_not_join_as_a_person(shop: Shop) -> None:
    id = shop.worker()
    asked = below(shop, id, process=shop.processes[id])
    assert shop.stage.refused("join", asked, name=shop.names[id], human=True).code == "NOT_YOURS"


# -- what the user set -------------------------------------------------------------------------------------------------


def test_who_is_in_a_team_already_keeps_role_and_budget(shop: Shop) -> None:
    id = shop.worker()
    shop.stage.call("team.new", users(shop), agents=[{"id": "bud", "role": "coder", "maxTokens": 100}])
    for said in ({"maxTokens": None}, {"maxTokens": 5}, {"role": "other"}):
        for asked in (below(shop, id), Caller(daemon_token=True)):
            refusal = shop.stage.refused("team.new", asked, agents=[{"id": "bud", **said}])
            assert refusal.code == "NOT_YOURS", said
    shop.stage.call("team.new", Caller(daemon_token=True), agents=[{"id": "bud", "role": "coder"}, {"id": "new"}])


def test_workers_of_an_agent_start_in_its_own_working_copy(shop: Shop) -> None:
    shop.stage.join("ada", cwd=str(shop.root))
    process = shop.stage._joined["ada"]
    shop.stage.call("turn.program", shop.stage.caller(process=process))
    asked = shop.stage.caller(origin=Origin(pid=9, chain=(process,)), tree=str(shop.root))
    for elsewhere in (asked._replace(tree="/elsewhere"), asked._replace(tree=str(shop.root.parent))):
        assert shop.stage.refused("spawn", elsewhere, assignment="x", host="script").code == "NOT_YOUR_TREE"
    refusal = shop.stage.refused("spawn", asked, assignment="x", host="script", root="/elsewhere")
    assert refusal.code == "NOT_YOUR_TREE"
    assert shop.stage.call("spawn", asked, assignment="x", host="claude")["id"]


def test_settings_of_another_home_only_narrow(build: Build) -> None:
    """Before the first worker of a store: the account says which file is the user's own."""
    from rookery.service.caller_tree import InsideWorld

    seen: list[bool] = []

    class Settings:
        def inside_agent(self, *, own_file: bool) -> None:
            seen.append(own_file)

    class World:
        host, boot, settings = "h", "b", Settings()
        account_file = "/home/me/.config/rookery/config.toml"
        user_file = "/tmp/fake/.config/rookery/config.toml"

    stage = build()
    stage.store.read("crew", lambda db: InsideWorld(World(), db))
    World.user_file = World.account_file
    stage.store.read("crew", lambda db: InsideWorld(World(), db))
    assert seen == [False, True]


def test_hidden_arguments_of_verbs_for_agents_are_known() -> None:
    """Pinned: what `spawn` took without a word of help let an agent join the user's crew."""
    found = {
        f"{verb.name}.{parameter.name}"
        for verb in TABLE
        if verb.who in (authority.ANYONE, authority.AGENT) and verb.name in ("join", "turn.start", "spawn", "crew.run")
        for parameter in parameters(verb.load())
        if parameter.arg.hidden
    }
    assert found == {*HIDDEN.split(), "spawn.root", "spawn.start", "crew.run.root"}
