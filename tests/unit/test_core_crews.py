"""One step of a crew, as a law: nothing twice, nothing forgotten, and an end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.crews import Act, Facts, Task, Terms, Worker, is_over, step, waits_for_person

TERMS = Terms(workers=2)
STATUS = ("pending", "blocked", "in_progress", "completed", "canceled", "failed")


def acts(facts: Facts) -> list[tuple[str, str]]:
    return [(action.act.value, action.task or action.worker or action.state) for action in step(facts)]


def running(*tasks: Task, workers: tuple[Worker, ...] = (), terms: Terms = TERMS) -> Facts:
    return Facts("running", terms, tasks, workers, len(tasks))


def test_ready_tasks_get_workers_as_far_as_there_is_room() -> None:
    tasks = (Task("t1", "pending"), Task("t2", "blocked"), Task("t3", "pending"), Task("t4", "pending"))
    assert acts(running(*tasks)) == [("spawn", "t1"), ("spawn", "t3")]
    busy = Worker("w1", "queued", task="t1")
    assert acts(running(*tasks, workers=(busy,))) == [("spawn", "t3")], "one that is only asked for counts"


def test_what_is_not_the_crews_to_give_is_let_be() -> None:
    tasks = (Task("t1", "pending", elses=True), Task("t2", "pending", free=False), Task("m", "pending", milestone=True))
    assert acts(running(*tasks)) == []


def test_a_verdict_comes_before_new_work_and_from_one() -> None:
    tasks = (Task("t1", "completed", review="pending"), Task("t2", "pending"), Task("t3", "pending"))
    assert acts(running(*tasks)) == [("review", "t1"), ("spawn", "t2")]
    judge = Worker("w1", "running", role="review", task="t1")
    assert acts(running(*tasks, workers=(judge,))) == [("spawn", "t2")]
    tired = tasks[0]._replace(reviews=3)
    assert acts(running(tired)) == [], "after three who said nothing a person has to"


def test_sent_back_it_goes_to_the_worker_that_did_it() -> None:
    task = Task("t1", "pending", worker="w1")
    for state, report in (("ended", "done"), ("running", "done")):
        assert acts(running(task, workers=(Worker("w1", state, report, task="t1"),))) == [("again", "t1")]


def test_who_is_not_needed_any_more_is_let_go() -> None:
    landed, waits = Task("t1", "completed", landing=True), Task("t2", "pending")
    worker = Worker("w1", "running", "done", task="t1")
    assert ("stop", "w1") not in acts(running(landed, waits, workers=(worker,)))
    assert ("stop", "w1") in acts(running(waits, workers=(worker,))), "its task is over and done with"


def test_a_waiting_worker_is_given_the_next_task() -> None:
    terms = Terms(workers=2, lobby=2)
    waiting = Worker("w1", "running", "done", role="lobby", task="t0", kind="implementer")
    assert acts(running(Task("t1", "pending"), workers=(waiting,), terms=terms)) == [("give", "t1")]
    assert ("spawn", "t1") in acts(running(Task("t1", "pending", kind="fixer"), workers=(waiting,), terms=terms))
    blocked = (Task("t1", "blocked"), Task("t2", "blocked"))
    assert acts(running(*blocked, terms=terms)) == [("wait", ""), ("wait", "")]
    assert acts(running(Task("t1", "pending"), *blocked, terms=terms)) == [("wait", ""), ("wait", "")], (
        "for one of them"
    )
    coming = (Worker("w1", "queued", role="lobby"), Worker("w2", "starting", role="lobby"))
    assert acts(running(Task("t1", "pending"), *blocked, terms=terms, workers=coming)) == []


def test_it_ends_when_nothing_is_left_and_its_workers_are_gone() -> None:
    done = Facts("running", TERMS, (), (Worker("w1", "running", "done", task="t1"),), 1)
    assert acts(done) == [("stop", "w1")]
    assert acts(done._replace(workers=(Worker("w1", "stopping", "done", task="t1", wish="stop"),))) == []
    assert acts(done._replace(workers=(Worker("w1", "ended", "done", task="t1"),))) == [("end", "finished")]


def test_when_nothing_moves_a_person_is_waited_for_or_it_is_over() -> None:
    stuck = running(Task("t1", "failed"))
    assert acts(stuck) == []
    assert waits_for_person(stuck)
    alone = stuck._replace(terms=TERMS._replace(autonomous=True))
    assert acts(alone) == [("end", "failed")]
    held = alone._replace(workers=(Worker("w1", "running", role="lobby"),))
    assert acts(held) == [("stop", "w1")]


def test_a_budget_or_a_canceled_plan_stops_it() -> None:
    assert acts(running(Task("t1", "pending"))._replace(spent="spent")) == [("end", "stopping")]
    assert acts(running(Task("t1", "pending"))._replace(plan="canceled")) == [("end", "stopping")]
    stopping = Facts("stopping", TERMS, (Task("t1", "pending"),), (Worker("w1", "running", task="t1"),), 1)
    assert acts(stopping) == [("stop", "w1")]
    assert acts(stopping._replace(workers=())) == [("end", "stopped")]


tasks = st.builds(
    Task, st.sampled_from([f"t{n}" for n in range(6)]), st.sampled_from(STATUS), milestone=st.booleans(),
    review=st.sampled_from(("", "pending")), worker=st.sampled_from(("", "w0", "w1")), elses=st.booleans(),
    landing=st.booleans(), reviews=st.integers(0, 4), free=st.booleans(),
)  # fmt: skip
workers = st.builds(
    Worker, st.sampled_from([f"w{n}" for n in range(6)]),
    st.sampled_from(("queued", "starting", "running", "stopping", "ended")),
    st.sampled_from(("", "asking", "done", "failed")), st.sampled_from(("work", "review", "lobby")),
    st.sampled_from(("", *(f"t{n}" for n in range(6)))), st.sampled_from(("implementer", "fixer")),
    st.sampled_from(("", "stop")),
)  # fmt: skip
facts = st.builds(
    Facts, st.sampled_from(("running", "stopping")),
    st.builds(Terms, st.integers(1, 4), st.integers(0, 3), autonomous=st.booleans()),
    st.lists(tasks, max_size=6, unique_by=lambda task: task.id),
    st.lists(workers, max_size=6, unique_by=lambda worker: worker.id), st.just(6),
)  # fmt: skip


@pytest.mark.slow
@given(facts)
def test_whatever_stands_no_task_gets_two_and_the_limit_holds(facts: Facts) -> None:
    actions = step(facts)
    new = [action for action in actions if action.act in (Act.SPAWN, Act.REVIEW, Act.AGAIN, Act.GIVE)]
    assert len({action.task for action in new}) == len(new)
    busy = {worker.task for worker in facts.workers if worker.is_busy and worker.role != "review"}
    assert not [action for action in new if action.act is not Act.REVIEW and action.task in busy]
    busy_now = sum(worker.is_busy for worker in facts.workers)
    assert not new or busy_now + len(new) <= facts.terms.workers
    given = [action.worker for action in new if action.worker]
    assert len(set(given)) == len(given), "nobody is given two"
    stopped = {action.worker for action in actions if action.act is Act.STOP}
    assert not stopped & {action.worker for action in new if action.act is Act.GIVE}


@given(facts)
def test_an_end_is_the_only_thing_and_leaves_nobody(facts: Facts) -> None:
    for action in step(facts):
        if action.act is Act.END:
            assert len(step(facts)) == 1
            if action.state in ("finished", "stopped", "failed"):
                assert not any(worker.is_live for worker in facts.workers)
            if action.state == "finished":
                assert is_over(facts)
