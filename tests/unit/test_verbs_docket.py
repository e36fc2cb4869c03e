"""The docket as verbs: what is asked, in which order, and what a verdict does, or does not do."""

import json
from pathlib import Path
from typing import Any

import pytest

from rookery.core import briefs
from tests.support import ledger
from tests.support.reporting import SUMMARY, TEST, Shop
from tests.support.stage import MINUTE, Build


@pytest.fixture
def shop(build: Build, tmp_path: Path) -> Shop:
    return Shop(build(), tmp_path)


def queue(shop: Shop, as_: str | None = None, **more: Any) -> list[str]:
    return [each["subject"] for each in shop.stage.call("docket", as_, **more)["items"]]


def card(shop: Shop, subject: str, as_: str | None = None) -> Any:
    return shop.stage.call("card", as_, subject=subject)


def judge(shop: Shop, subject: str, action: str, said: str = "", as_: str | None = None, **more: Any) -> Any:
    return shop.stage.call("verdict", as_, subject=subject, action=action, said=said, **more)


def decided(shop: Shop) -> list[tuple[str, str, str]]:
    found = shop.stage.call("decisions")["decisions"]
    return [(each["subject"], each["verb"], each["by"]) for each in reversed(found)]


def deliverable(shop: Shop, subject: str) -> Any:
    return shop.stage.call("deliverables", subject=subject)["deliverables"][0]


def findings(shop: Shop, id: str, **more: Any) -> Any:
    """A result without a change set."""
    return shop.call(id, "done", **{"outcome": "findings", "summary": SUMMARY, "tests": [TEST], **more})


# --- what is asked, and in which order --------------------------------------------------------------------------------


@pytest.mark.slow
def test_only_a_report_earns_ready(shop: Shop) -> None:
    silent, told = shop.worker("The silent one"), shop.worker("The one that tells")
    shop.write(silent)
    assert queue(shop) == [], "whoever works asks nothing"
    shop.over(silent)
    assert queue(shop) == ["w1/x1"], "a program that ended well, without a word, has failed"
    assert shop.stage.call("deliverables")["deliverables"] == []
    shop.done(told)
    assert queue(shop) == ["w1/x1", "w2/1"]
    assert [each["rank"] for each in shop.stage.call("docket")["items"]] == ["failed", "change"]


@pytest.mark.slow
def test_what_comes_first_is_first_and_each_says_what_happens_otherwise(shop: Shop) -> None:
    ready, change, failed, asking = (shop.worker(f"Task {n}") for n in range(4))
    findings(shop, ready)
    shop.done(change)
    shop.call(failed, "fail", reason="The header has no grammar that could be parsed.")
    shop.call(asking, "ask", question="Which format?")
    found = shop.stage.call("docket")
    assert [each["subject"] for each in found["items"]] == ["w4/q1", "w3/x1", "w2/1", "w1/1"]
    assert [each["rank"] for each in found["items"]] == ["needs_input", "failed", "change", "ready"]
    assert all(each["otherwise"] for each in found["items"])
    assert (found["waiting"], found["counts"]) == (4, {"needs_input": 1, "failed": 1, "change": 1, "ready": 1})
    shop.stage.call("docket.pin", subject="w1/1")
    assert queue(shop) == ["w1/1", "w4/q1", "w3/x1", "w2/1"]
    assert queue(shop, limit=2) == ["w1/1", "w4/q1"]


def test_within_a_rank_the_higher_risk_is_first_and_then_the_older(shop: Shop) -> None:
    first, second, third = (shop.worker(f"Task {n}") for n in range(3))
    shop.call(first, "ask", question="Which format?", risk="low")
    shop.stage.clock.pass_time(MINUTE)
    shop.call(second, "ask", question="May I drop the table?", risk="high")
    shop.stage.clock.pass_time(MINUTE)
    shop.call(third, "ask", question="Which colour?", risk="low")
    assert queue(shop) == ["w2/q1", "w1/q1", "w3/q1"]


def test_a_docket_is_of_whoever_is_asked(shop: Shop) -> None:
    shop.stage.join("ada")
    mine, hers = shop.worker("Mine"), shop.worker("Hers", as_="ada")
    shop.call(mine, "ask", question="Which format?")
    shop.call(hers, "ask", question="Which format?")
    assert queue(shop) == ["w1/q1"]
    assert queue(shop, "ada") == ["w2/q1"]
    assert queue(shop, all=True) == ["w1/q1", "w2/q1"]
    assert shop.stage.call("docket")["others"] == 1


# --- questions --------------------------------------------------------------------------------------------------------


def test_the_oldest_question_is_answered_first(shop: Shop) -> None:
    id = shop.worker()
    shop.call(id, "ask", question="Which format?", options=["JSON", "YAML"])
    shop.stage.clock.pass_time(MINUTE)
    shop.call(id, "ask", question="Which colour?", options=["red", "blue"])
    shown = card(shop, "w1")
    assert (shown["subject"], shown["question"]["question"]) == ("w1/q1", "Which format?")
    judge(shop, shown["subject"], "answer", option=2)
    answered = shop.stage.call("questions", worker=id)["questions"]
    assert [(each["question"], each["state"], each["choice"]) for each in answered] == [
        ("Which colour?", "open", None), ("Which format?", "answered", 2),
    ]  # fmt: skip
    assert card(shop, "w1")["subject"] == "w1/q2"


def test_a_workers_name_is_good_to_look_by_and_never_to_decide_by(shop: Shop) -> None:
    id = shop.worker()
    shop.call(id, "ask", question="Which format?")
    for named in ("w1", shop.names[id]):
        refusal = shop.stage.refused("verdict", subject=named, action="answer", said="JSON")
        assert (refusal.code, refusal.facts["card"]["subject"]) == ("SAY_WHICH", "w1/q1")
    assert shop.stage.inbox(shop.names[id]) == []
    judge(shop, f"{shop.names[id]}/q1", "answer", "JSON")
    assert decided(shop) == [("w1/q1", "answer", "user")]


def test_a_plan_is_approved_or_sent_back(shop: Shop) -> None:
    id = shop.worker()
    shop.call(id, "ask", question="I will rewrite the parser.", plan=True)
    assert card(shop, "w1")["matter"] == "plan"
    assert shop.stage.refused("verdict", subject="w1/q1", action="revise").code == "WORDS_WANTED"
    assert shop.stage.refused("verdict", subject="w1/q1", action="promote").code == "BAD_ACTION"
    judge(shop, "w1/q1", "revise", "Keep the parser, and fix the one line.")
    shop.call(id, "ask", question="I will fix the one line.", plan=True)
    judge(shop, "w1/q2", "approve")
    answers = [each["approved"] for each in shop.stage.call("questions", worker=id)["questions"]]
    assert answers == [True, False]
    assert decided(shop) == [("w1/q1", "revise", "user"), ("w1/q2", "approve", "user")]


def test_an_answer_by_the_old_verb_is_in_the_log_too(shop: Shop) -> None:
    id = shop.worker()
    asked = shop.call(id, "ask", question="Which format?", risk="high")
    shop.stage.clock.pass_time(MINUTE)
    shop.stage.call("answer", id=asked["id"], said="JSON")
    (found,) = shop.stage.call("decisions")["decisions"]
    assert (found["subject"], found["verb"], found["risk"], found["said"]) == ("w1/q1", "answer", "high", "JSON")
    assert found["waitedMs"] >= MINUTE
    assert queue(shop) == []


# --- results ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_promote_lands_the_very_commit_and_is_in_the_log(shop: Shop) -> None:
    id = shop.worker()
    told = shop.done(id)
    assert told["version"] == "w1/1"
    shown = card(shop, "w1/1")
    assert shown["change"]["files"][0]["path"] == "header.py"
    assert [each["claimed"] for each in shown["checks"]] == [True], "what it says of tests is its word"
    given = judge(shop, "w1/1", "promote", "good")
    landing = shop.stage.call("land.list")["landings"][0]
    assert (landing["head"], given["effect"]["landing"]) == (shown["change"]["head"], landing["id"])
    (found,) = shop.stage.call("decisions")["decisions"]
    assert (found["verb"], found["head"], found["said"]) == ("promote", landing["head"], "good")
    assert deliverable(shop, "w1/1")["state"] == "promoted"
    assert queue(shop) == []
    again = judge(shop, "w1/1", "promote", "good")
    assert again == given | {"replayed": True}
    assert len(shop.stage.call("land.list")["landings"]) == 1


@pytest.mark.slow
def test_a_stale_card_sends_nothing(shop: Shop) -> None:
    id = shop.worker()
    shop.done(id)
    judge(shop, "w1/1", "revise", "The error message has to name the line.")
    shop.write(id, "more.py")
    shop.call(id, "done", outcome="completed", summary=SUMMARY + " And the line is named.", tests=[TEST])
    for action, said in (("promote", ""), ("discard", ""), ("revise", "Once more.")):
        refusal = shop.stage.refused("verdict", subject="w1/1", action=action, said=said)
        assert (refusal.code, refusal.facts["card"]["subject"]) == ("STALE_CARD", "w1/2")
    assert shop.stage.call("land.list")["landings"] == []
    assert queue(shop) == ["w1/2"]


@pytest.mark.slow
def test_a_question_that_moved_is_answered_by_nobody(shop: Shop) -> None:
    id = shop.worker()
    shop.call(id, "ask", question="Which format?")
    shop.done(id)
    refusal = shop.stage.refused("verdict", subject="w1/q1", action="answer", said="JSON")
    assert (refusal.code, refusal.facts["card"]["subject"]) == ("STALE_CARD", "w1/1")
    assert decided(shop) == []


@pytest.mark.slow
def test_what_another_decided_is_not_decided_again(shop: Shop) -> None:
    shop.stage.join("ada")
    id = shop.worker(as_="ada")
    shop.done(id)
    judge(shop, "w1/1", "dismiss", as_="ada")
    refusal = shop.stage.refused("verdict", subject="w1/1", action="promote")
    assert refusal.code == "STALE_CARD"
    assert "dismiss by ada" in refusal.message


@pytest.mark.slow
def test_the_author_can_not_approve_its_own(shop: Shop) -> None:
    id = shop.worker()
    shop.done(id)
    for action in ("promote", "dismiss", "discard"):
        assert shop.refused(id, "verdict", subject="w1/1", action=action).code == "OWN_WORK"
    shop.stage.join("ada")
    assert shop.stage.refused("verdict", "ada", subject="w1/1", action="promote").code == "NOT_ASKED"
    assert queue(shop) == ["w1/1"]


@pytest.mark.slow
def test_revise_sends_its_worker_on_with_the_words_and_its_task(shop: Shop) -> None:
    id = shop.worker()
    shop.done(id)
    given = judge(shop, "w1/1", "revise", "The error message has to name the line.")
    assert given["effect"] == {"worker": "w1", "how": "it goes on"}
    task = shop.stage.call("task.show", id="task-0001")
    assert (task["status"], task["lease"]["holder"]) == ("in_progress", shop.names[id])
    assert shop.card(id)["report"] == ""
    assert any("name the line" in each["body"] for each in shop.stage.inbox(shop.names[id]))
    assert deliverable(shop, "w1/1")["state"] == "revised"
    assert queue(shop) == []
    told = shop.call(id, "done", outcome="completed", summary=SUMMARY + " Lines are named.", tests=[TEST])
    assert told["version"] == "w1/2"


@pytest.mark.slow
def test_revise_starts_a_worker_anew_that_is_over(shop: Shop) -> None:
    id = shop.worker()
    shop.done(id)
    shop.over(id)
    given = judge(shop, "w1/1", "revise", "The error message has to name the line.")
    assert given["effect"]["how"] == "a new run"
    assert (shop.card(id)["state"], shop.card(id)["report"]) == ("queued", "")
    assert shop.stage.call("task.show", id="task-0001")["status"] == "pending"


@pytest.mark.slow
def test_a_review_that_is_due_is_given_with_the_verdict(shop: Shop) -> None:
    shop.stage.call("task.add", title="Reviewed", review=True)
    id = shop.worker("task-0001")
    assert shop.done(id)["review"] == "pending"
    judge(shop, "w1/1", "promote")
    assert shop.stage.call("task.show", id="task-0001")["review"] == "SHIP"


@pytest.mark.slow
def test_a_review_by_the_old_verb_is_a_decision_by_its_reviewer(shop: Shop) -> None:
    shop.stage.join("ada")
    shop.stage.call("task.add", title="Reviewed", review=True)
    id = shop.worker("task-0001")
    shop.done(id)
    shop.stage.call("task.review", "ada", id="task-0001", verdict="NEEDS_WORK", feedback="Name the line.")
    assert decided(shop) == [("w1/1", "revise", "ada")]
    assert (deliverable(shop, "w1/1")["state"], queue(shop)) == ("revised", [])


@pytest.mark.slow
@pytest.mark.parametrize("action", ["reject", "discard"])
def test_what_is_not_wanted_is_not_merged_and_its_task_is_given_up(shop: Shop, action: str) -> None:
    id = shop.worker()
    shop.done(id)
    shop.over(id)
    judge(shop, "w1/1", action, "We do not want a parser.")
    assert shop.stage.call("task.show", id="task-0001")["status"] == "canceled"
    assert (shop.stage.call("land.list")["landings"], queue(shop)) == ([], [])
    assert deliverable(shop, "w1/1")["state"] == f"{action}ed".replace("reject", "reject")


@pytest.mark.slow
def test_accept_and_dismiss_settle_a_result_without_a_change(shop: Shop) -> None:
    first, second = shop.worker("One"), shop.worker("Two")
    findings(shop, first)
    findings(shop, second)
    assert shop.stage.refused("verdict", subject="w1/1", action="promote").code == "BAD_ACTION"
    judge(shop, "w1/1", "accept")
    judge(shop, "w2/1", "dismiss")
    assert [deliverable(shop, each)["state"] for each in ("w1/1", "w2/1")] == ["accepted", "dismissed"]
    assert queue(shop) == []


# --- what failed ------------------------------------------------------------------------------------------------------


def test_a_failed_run_is_one_item_and_is_tried_again(shop: Shop) -> None:
    id = shop.worker()
    shop.call(id, "fail", reason="The header has no grammar that could be parsed.")
    assert queue(shop) == ["w1/x1"]
    shop.over(id)
    assert queue(shop) == ["w1/x1"], "that its program ends then is no second failure"
    judge(shop, "w1/x1", "retry", "Use the grammar of RFC 5322.")
    assert (queue(shop), shop.card(id)["state"]) == ([], "queued")
    shop.stage.call("worker.begin", "system", id=id, owner="here:1:t1")
    assert shop.stage.call("task.show", id="task-0001")["status"] == "pending"


def test_the_card_of_a_crash_shows_its_last_lines_and_never_the_transcript(shop: Shop) -> None:
    id = shop.worker()
    tail = "\n".join(f"line {n}" for n in range(100)) + "\n\x1b[31mpanic: no memory\x1b[0m"
    shop.stage.call("worker.ended", "system", id=id, run=shop.runs[id], reason="crashed", exit_code=9, tail=tail)
    shown = card(shop, "w1")
    assert (shown["subject"], shown["tail"][-1], len(shown["tail"])) == ("w1/x1", "panic: no memory", 15)
    assert {each["action"] for each in shown["actions"]} == {"retry", "dismiss", "bundle", "discard"}


@pytest.mark.parametrize("wish", ["stop", "respawn"])
def test_what_was_stopped_or_started_anew_on_purpose_asks_nothing(shop: Shop, wish: str) -> None:
    id = shop.worker()
    shop.stage.call(wish, id=id)
    shop.over(id, "stopped")
    assert queue(shop) == []


def test_respawn_and_delete_close_what_was_asked(shop: Shop) -> None:
    for n, verb in enumerate(("respawn", "delete"), 1):
        id = shop.worker(f"Task {n}")
        shop.over(id, "crashed")
        assert queue(shop) == [f"w{n}/x1"]
        shop.stage.call(verb, id=id)
        assert queue(shop) == []


# --- versions ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_version_is_written_once_for_each_report_and_its_file_says_the_same(shop: Shop) -> None:
    id = shop.worker()
    first = shop.done(id)
    assert shop.done(id) == first | {"replayed": True}
    (found,) = shop.stage.call("deliverables")["deliverables"]
    shown = deliverable(shop, "w1/1")
    assert (shown["fileState"], shown["corrupt"]) == ("whole", False)
    path = Path(shop.stage.store.location).parent / shown["file"]
    written = json.loads(path.read_text())
    assert (written["digest"], written["summary"], written["version"]) == (found["digest"], SUMMARY, 1)
    assert (path.stat().st_mode & 0o777, path.name) == (0o600, "1.json")
    path.unlink()
    assert deliverable(shop, "w1/1")["fileState"] == "written", "a product is made again"
    assert json.loads(path.read_text()) == written


@pytest.mark.slow
def test_a_corrupt_version_is_reported_and_never_overwritten(shop: Shop) -> None:
    first, second = shop.worker("One"), shop.worker("Two")
    shop.done(first)
    path = Path(shop.stage.store.location).parent / deliverable(shop, "w1/1")["file"]
    path.write_text("{}")
    assert deliverable(shop, "w1/1")["fileState"] == "corrupt"
    assert path.read_text() == "{}"
    foreign = path.parent.parent / "w2" / "1.json"
    foreign.parent.mkdir()
    foreign.write_text("someone else's")
    assert shop.done(second)["report"] == "done", "a file that is in the way fails no report"
    assert (deliverable(shop, "w2/1")["fileState"], foreign.read_text()) == ("corrupt", "someone else's")


@pytest.mark.slow
def test_a_version_whose_row_was_changed_is_not_judged(shop: Shop) -> None:
    id = shop.worker()
    shop.done(id)
    with ledger.writing(shop.stage.store.location) as db:
        ledger.rows(db, "UPDATE deliverables SET summary = 'All is well.'", {})
    assert card(shop, "w1/1")["result"]["corrupt"]
    assert shop.stage.refused("verdict", subject="w1/1", action="promote").code == "STORE_CORRUPT"
    assert shop.stage.call("land.list")["landings"] == []


# --- rules ------------------------------------------------------------------------------------------------------------


def ran_tests(shop: Shop, id: str, *, failed: bool = False, command: str = "pytest -q") -> None:
    """A test run as a keeper recorded it."""
    n = len(ledger.ask(shop.stage.store.location, "SELECT 1 FROM evidence"))
    found = {"kind": "test", "ref": f"claude:s1:{n}", "title": command, "failed": failed,
             "data": {"command": command, "passed": 3, "failed": int(failed)}}  # fmt: skip
    shop.stage.call("evidence.take", "system", worker=id, run=shop.runs[id], found=[found])


def edited(shop: Shop, id: str, path: str = "header.py") -> None:
    n = len(ledger.ask(shop.stage.store.location, "SELECT 1 FROM evidence"))
    found = {"kind": "edit", "ref": f"claude:s1:{n}", "title": f"{path} +1 -0", "data": {"path": path}}
    shop.stage.call("evidence.take", "system", worker=id, run=shop.runs[id], found=[found])


def rule(shop: Shop, name: str = "small", **more: Any) -> Any:
    return shop.stage.call("rule.add", name=name, **{"kinds": ["default"], "max_files": 5, **more})


@pytest.mark.slow
def test_a_rule_promotes_what_was_seen_to_pass_and_the_log_names_it(shop: Shop) -> None:
    rule(shop)
    id = shop.worker()
    ran_tests(shop, id)
    shop.done(id)
    assert queue(shop) == []
    (landing,) = shop.stage.call("land.list")["landings"]
    (found,) = shop.stage.call("decisions")["decisions"]
    assert (found["verb"], found["rule"], found["by"], found["head"]) == ("promote", "small", "system", landing["head"])
    assert found["evidence"] == ["t1"]
    assert landing["askedBy"] == "system"
    assert shop.stage.call("decisions.summary")["rules"] == {"small": 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    "why", ["no run was recorded", "the last one failed", "it was changed after it", "it told of it itself"]
)
def test_the_workers_word_matches_no_rule(shop: Shop, why: str) -> None:
    rule(shop)
    id = shop.worker()
    if why == "the last one failed":
        ran_tests(shop, id)
        ran_tests(shop, id, failed=True)
    elif why == "it told of it itself":
        forged = {"kind": "test", "ref": "claude:s1:forged", "title": "pytest -q", "data": {"passed": 3}}
        shop.call(id, "evidence.take", found=[forged])
    elif why == "it was changed after it":
        ran_tests(shop, id)
        edited(shop, id)
    shop.done(id, tests=["pytest -q: 3 passed"])
    assert queue(shop) == ["w1/1"]
    assert (shop.stage.call("land.list")["landings"], decided(shop)) == ([], [])


@pytest.mark.slow
def test_a_file_that_an_attribute_calls_binary_has_no_known_lines(shop: Shop) -> None:
    rule(shop, max_files=None, max_lines=5, risk="high")
    id = shop.worker()
    (shop.root / ".git" / "info").mkdir(exist_ok=True)
    (shop.root / ".git" / "info" / "attributes").write_text("other.py -diff\n")
    shop.write(id, "other.py", "x = 1\n" * 400)
    ran_tests(shop, id)
    shop.done(id)
    assert (queue(shop), shop.stage.call("land.list")["landings"]) == (["w1/1"], [])
    shown = card(shop, "w1/1")
    assert "1 binary" in shown["title"]
    assert [each.get("binary", False) for each in shown["change"]["files"]] == [False, True]


@pytest.mark.slow
def test_a_run_that_passed_after_one_that_failed_is_what_counts(shop: Shop) -> None:
    rule(shop)
    id = shop.worker()
    ran_tests(shop, id, failed=True)
    ran_tests(shop, id)
    shop.done(id)
    assert [each["passed"] for each in deliverable(shop, "w1/1")["checks"] if not each["claimed"]] == [True]
    assert decided(shop) == [("w1/1", "promote", "system")]


@pytest.mark.slow
def test_a_rule_gives_the_review_that_is_due(shop: Shop) -> None:
    rule(shop)
    shop.stage.call("task.add", title="Reviewed", review=True)
    id = shop.worker("task-0001")
    ran_tests(shop, id)
    shop.done(id)
    task = shop.stage.call("task.show", id="task-0001")
    assert (task["review"], queue(shop)) == ("SHIP", [])


def test_no_worker_and_no_agent_sets_rules(shop: Shop) -> None:
    id = shop.worker()
    shop.stage.join("ada")
    assert shop.refused(id, "rule.add", name="mine", checks="green").code == "NOT_YOURS"
    assert shop.stage.refused("rule.add", "ada", name="mine", checks="green").code == "NOT_YOURS"
    assert shop.stage.refused("rule.add", name="all", checks="any", risk="high").code == "BAD_RULE"
    rule(shop)
    assert [each["name"] for each in shop.stage.call("rule.list")["rules"]] == ["small"]
    assert shop.refused(id, "rule.remove", name="small").code == "NOT_YOURS"
    shop.stage.call("rule.remove", name="small")
    assert shop.stage.refused("rule.remove", name="small").code == "UNKNOWN_RULE"


def test_a_worker_that_leads_sets_no_rules_either(build: Build, tmp_path: Path) -> None:
    shop = Shop(build(), tmp_path)
    id = shop.worker()
    shop.stage.call("team.set", leader=shop.names[id])
    assert shop.refused(id, "rule.add", name="mine", checks="green").code == "NOT_YOURS"


# --- what nobody judged -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_put_away_unjudged_is_counted_and_can_be_paid(shop: Shop) -> None:
    judged, unjudged, crashed = (shop.worker(f"Task {n}") for n in range(3))
    for id in (judged, unjudged):
        shop.done(id)
        shop.over(id)
    shop.over(crashed, "crashed")
    judge(shop, "w1/1", "dismiss")
    shop.stage.clock.pass_time(60 * MINUTE)
    shop.stage.call("worker.evict", "system")
    owed = shop.stage.call("debt")
    assert [each["subject"] for each in owed["debt"]] == ["w2/1", "w3"]
    assert sorted(queue(shop)) == ["w2/1", "w3/x1"], "they can still be judged"
    judge(shop, "w2/1", "dismiss")
    shop.stage.call("delete", id=crashed)
    assert [each["subject"] for each in shop.stage.call("debt")["debt"]] == ["w3"]
    assert queue(shop) == []


@pytest.mark.slow
def test_a_worker_that_is_forgotten_leaves_nothing_on_the_docket(shop: Shop) -> None:
    id = shop.worker()
    shop.done(id)
    shop.over(id)
    shop.stage.call("delete", id=id)
    shop.stage.call("worker.forget", "system", id=id)
    assert (queue(shop, all=True), shop.stage.call("debt")["count"]) == ([], 1)
    assert deliverable(shop, "w1/1")["state"] == "unjudged"
    assert shop.stage.refused("verdict", subject="w1/1", action="promote").code == "STALE_CARD"


# --- other items ------------------------------------------------------------------------------------------------------


def promoted_in_vain(shop: Shop) -> str:
    """A worker whose result was promoted, and did not land."""
    id = shop.worker()
    shop.done(id)
    judge(shop, "w1/1", "promote")
    owner, process = {"owner": "here:1:t1"}, (1, "t1")
    shop.stage.prober.states[process] = "running"
    taken = shop.stage.call("land.take", "system", root=str(shop.root), branch="main", **owner)["landings"]
    shop.stage.call("land.failed", "system", id=taken[0]["id"], reason="it conflicts in header.py", **owner)
    return id


@pytest.mark.slow
def test_what_did_not_land_asks_and_is_tried_again(shop: Shop) -> None:
    promoted_in_vain(shop)
    (item,) = shop.stage.call("docket")["items"]
    assert (item["rank"], item["ref"], item["worker"]) == ("failed", "land-0001", "w1")
    shown = card(shop, item["subject"])
    assert shown["matter"] == "failed landing"
    assert [each["action"] for each in shown["actions"]] == ["retry", "revise", "dismiss", "discard"]
    judge(shop, item["subject"], "retry")
    assert (queue(shop), shop.stage.call("land.list")["landings"][0]["state"]) == ([], "queued")


@pytest.mark.slow
def test_work_that_did_not_land_and_comes_back_the_same_is_asked_about_again(shop: Shop) -> None:
    id = promoted_in_vain(shop)
    (item,) = queue(shop)
    judge(shop, item, "revise", "Rebase on main, please.")
    again = shop.call(id, "done", outcome="completed", summary=SUMMARY + " It was right before.", tests=[TEST])
    assert again["version"] == "w1/2"
    assert (queue(shop), deliverable(shop, "w1/2")["state"]) == (["w1/2"], "open"), "nobody promoted this one"
    judge(shop, "w1/2", "promote")
    assert shop.stage.call("land.list")["landings"][0]["state"] == "queued"


@pytest.mark.slow
def test_what_was_found_out_is_accepted_though_something_was_changed_for_it(shop: Shop) -> None:
    id = shop.worker()
    shop.done(id, outcome="findings")
    shown = card(shop, "w1/1")
    assert (shown["matter"], shown["actions"][0]["action"]) == ("change set", "accept")
    assert shop.stage.refused("verdict", subject="w1/1", action="promote").code == "NO_BRANCH"
    judge(shop, "w1/1", "accept")
    assert (queue(shop), deliverable(shop, "w1/1")["state"]) == ([], "accepted")
    assert shop.stage.call("land.list")["landings"] == []


@pytest.mark.slow
def test_completed_work_is_promoted_and_not_only_accepted(shop: Shop) -> None:
    shop.done(shop.worker())
    assert shop.stage.refused("verdict", subject="w1/1", action="accept").code == "BAD_ACTION"


@pytest.mark.slow
def test_whoever_was_first_is_riskier_too_once_another_touches_the_same_lines(shop: Shop) -> None:
    first, second = shop.worker(), shop.worker("Parse the body")
    shop.done(first)
    assert card(shop, "w1/1")["risk"] != "high"
    shop.write(second, text="def parse(): return 1\n")
    shop.done(second)
    assert [card(shop, each)["risk"] for each in ("w1/1", "w2/1")] == ["high", "high"]


@pytest.mark.slow
def test_a_worker_that_is_asked_about_is_listed_though_it_was_judged_before(shop: Shop) -> None:
    id = shop.worker()
    shop.done(id)
    shop.over(id)
    judge(shop, "w1/1", "bundle")
    assert [each["id"] for each in shop.stage.call("workers")["workers"]] == ["w1"]
    judge(shop, "w1/1", "promote")
    assert shop.stage.call("workers")["workers"] == []


@pytest.mark.slow
def test_whoever_goes_on_is_told_with_which_words_its_result_came_back(shop: Shop) -> None:
    id = shop.worker()
    shop.done(id)
    shop.over(id)
    judge(shop, "w1/1", "revise", "The error message has to name the line.")
    order = shop.stage.call("worker.begin", "system", id=id, owner="here:1:t1")["worker"]
    written = briefs.of_order(order, team="crew", workspace="/w", own_tree=True)
    before, _, after = written.partition("## Your result was sent back")
    assert "name the line" in after.partition("What is known of the run before")[0]
    assert "before it had reported" not in written
    assert "sent back" not in before


def test_a_blocked_task_is_an_item_and_is_opened_again(shop: Shop) -> None:
    shop.stage.join("ada")
    shop.stage.call("task.add", title="Parse")
    shop.stage.call("task.claim", "ada", id="task-0001")
    shop.stage.call("task.block", "ada", id="task-0001", reason="There is no grammar for it.")
    (item,) = shop.stage.call("docket")["items"]
    assert (item["rank"], card(shop, item["subject"])["matter"]) == ("needs_input", "task")
    judge(shop, item["subject"], "retry", "Use RFC 5322.")
    assert (queue(shop), shop.stage.call("task.show", id="task-0001")["status"]) == ([], "pending")


def test_evidence_that_somebody_pins_is_on_the_docket(shop: Shop) -> None:
    id = shop.worker()
    ran_tests(shop, id, failed=True)
    ran_tests(shop, id)
    assert queue(shop) == [], "that a test fails asks nobody anything"
    shop.stage.call("pin", refs=["t1", "t2"])
    assert queue(shop) == ["t1"]
    assert card(shop, "t1")["matter"] == "error"
    judge(shop, "t1", "dismiss")
    assert queue(shop) == []


@pytest.mark.parametrize("said", ["", "flaky"])
def test_h55_a_verdict_on_an_item_that_was_reopened_is_a_new_one(shop: Shop, said: str) -> None:
    ran_tests(shop, shop.worker(), failed=True)
    given: list[Any] = []
    for _ in range(2):
        shop.stage.call("pin", refs=["t1"])
        assert queue(shop) == ["t1"]
        given.append(judge(shop, "t1", "dismiss", said))
        assert (queue(shop), "replayed" in given[-1]) == ([], False)
        again = judge(shop, "t1", "dismiss", said)
        assert again == given[-1] | {"replayed": True}
        shop.stage.call("unpin", refs=["t1"])
        shop.stage.clock.pass_time(MINUTE)
    assert given[0]["decision"] != given[1]["decision"]


def test_what_failed_and_was_changed_lately_is_shown_below_and_asks_nothing(shop: Shop) -> None:
    id = shop.worker()
    for number in range(7):
        edited(shop, id, f"m{number}.py")
    ran_tests(shop, id)
    ran_tests(shop, id, failed=True, command="make test")

    def lately() -> list[tuple[str, str, str]]:
        return [(each["rank"], each["id"], each["title"]) for each in shop.stage.call("docket")["lately"]]

    changed = [("file", f"f{number + 1}", f"m{number}.py +1 -0") for number in (6, 5, 4, 3, 2)]
    assert (queue(shop), lately()) == ([], [("error", "t2", "make test"), *changed])
    shop.stage.call("pin", refs=["t2"])
    assert (queue(shop), lately()) == (["t2"], changed), "not in both"
    shop.stage.clock.pass_time(61 * MINUTE)
    assert lately() == []


@pytest.mark.slow
def test_land_add_is_a_decision_too(shop: Shop) -> None:
    shop.done(shop.worker())
    shop.stage.call("land.add", change="change-0001")
    assert (queue(shop), decided(shop)) == ([], [("w1/1", "promote", "user")])


@pytest.mark.slow
def test_a_task_that_goes_on_without_its_result_takes_it_from_the_docket(shop: Shop) -> None:
    shop.done(shop.worker())
    shop.stage.call("task.reset", id="task-0001")
    assert (queue(shop), deliverable(shop, "w1/1")["state"]) == ([], "superseded")


@pytest.mark.slow
def test_a_result_is_saved_as_a_bundle_and_stays_on_the_docket(shop: Shop) -> None:
    shop.done(shop.worker())
    made = judge(shop, "w1/1", "bundle", "The parser")
    assert made["effect"]["bundle"] == "bundle-0001"
    assert (made["open"], queue(shop)) == (True, ["w1/1"])


@pytest.mark.slow
def test_what_lands_by_itself_asks_nobody(build: Build, tmp_path: Path) -> None:
    shop = Shop(build(land__auto=True), tmp_path)
    shop.done(shop.worker())
    assert (queue(shop, all=True), deliverable(shop, "w1/1")["state"]) == ([], "promoted")


@pytest.mark.slow
def test_a_child_s_result_is_for_its_parent(shop: Shop) -> None:
    parent = shop.worker("Lead")
    with ledger.writing(shop.stage.store.location) as db:
        ledger.rows(db, "UPDATE workers SET profile = :profile", {"profile": '{"name": "default", "can_spawn": true}'})
    child = shop.spawn("Help", as_=shop.caller(parent))
    shop.start(child)
    shop.done(child)
    assert queue(shop) == []
    assert queue(shop, all=True) == ["w2/1"]
    assert [each["subject"] for each in shop.call(parent, "docket")["items"]] == ["w2/1"]


# --- policies of extensions -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("says", "queued"), [("promote", []), ("accept", ["w1/1"]), (None, ["w1/1"])])
def test_a_rule_may_ask_a_policy_and_only_its_yes_decides(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, says: str | None, queued: list[str]
) -> None:
    from rookery import extensions

    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(extensions, "policies", lambda _: {"ours": lambda facts: asked.append(facts) or says})
    assert shop.stage.refused("rule.add", name="a", policies=["theirs"]).code == "UNKNOWN_POLICY"
    rule(shop, policies=["ours"])
    id = shop.worker()
    ran_tests(shop, id)
    shop.done(id)
    assert queue(shop) == queued
    assert (asked[0]["paths"], asked[0]["risk"]) == (["header.py"], "low")


@pytest.mark.slow
def test_a_policy_that_is_gone_leaves_it_to_a_person(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    from rookery import extensions

    with monkeypatch.context() as patched:
        patched.setattr(extensions, "policies", lambda _: {"ours": lambda _: "promote"})
        rule(shop, policies=["ours"])
    id = shop.worker()
    ran_tests(shop, id)
    shop.done(id)
    assert queue(shop) == ["w1/1"]
