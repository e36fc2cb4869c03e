"""One step of a crew: given how its plan, its workers and its landings stand, what is to be done now. Pure.

A step looks at everything and remembers nothing, so that it may be taken again by whoever comes after a crash. It only
asks for what is not under way already: a task that has a worker gets no second one, a result one reviewer.

    ready task          a waiting worker is given it, the worker that had it goes on, or a new one is asked for
    result to judge     a reviewer, where agents review; otherwise a person does
    sent back           the worker that did it goes on with the feedback, in its own worktree
    landed, or done     its worker is let go
    nothing left        the crew has finished; nothing that moves and something left: it waits for a person
"""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum

from rookery.core.record import NamedTuple
from rookery.core.workers import SETTLED, State

REVIEWS = 3  # reviewers that may end without a verdict before a person is asked


COMING = (State.QUEUED, State.STARTING)


class CrewState(StrEnum):
    RUNNING = "running"
    STOPPING = "stopping"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"


LIVE = (CrewState.RUNNING, CrewState.STOPPING)


class Task(NamedTuple):
    id: str
    status: str
    kind: str = ""
    milestone: bool = False
    review: str = ""  # pending: a verdict is due
    worker: str = ""  # the worker it is kept for, if one
    elses: bool = False  # kept for, or held by, someone who is no worker of this crew
    landing: bool = False  # its change waits to land
    reviews: int = 0  # reviewers that were asked for about this very completion
    free: bool = True  # its paths are; another task holds some of them otherwise


class Worker(NamedTuple):
    id: str
    state: str
    report: str = ""
    role: str = "work"
    task: str = ""
    kind: str = ""
    wish: str = ""

    @property
    def is_live(self) -> bool:
        return self.state != State.ENDED

    @property
    def is_busy(self) -> bool:
        """It has something to do, or is about to; one that waits in the lobby has not."""
        return self.is_live and self.report not in SETTLED and (bool(self.task) or self.role == "plan")

    @property
    def can_go_on(self) -> bool:
        """With what was sent back to it: it is over, or runs and has reported."""
        return not self.is_live or (self.state == State.RUNNING and not self.wish and self.report in SETTLED)

    @property
    def waits(self) -> bool:
        """It runs, and can be given a task."""
        return self.role == "lobby" and self.state == State.RUNNING and not self.wish and not self.is_busy


class Terms(NamedTuple):
    """What whoever started the crew asked for."""

    workers: int = 4
    lobby: int = 0  # of them are started before there is something for them to do, and kept
    kind: str = "implementer"  # of a task that names none
    reviewer: str = "reviewer"  # "" if results are left to a person
    autonomous: bool = False  # nobody is there to ask


class Act(StrEnum):
    SPAWN = "spawn"  # a new worker for a task
    REVIEW = "review"  # a new reviewer for a result
    AGAIN = "again"  # the worker that had it goes on
    GIVE = "give"  # a waiting worker is given it
    WAIT = "wait"  # a new worker that waits
    STOP = "stop"
    END = "end"


class Action(NamedTuple):
    act: Act
    task: str = ""
    worker: str = ""
    kind: str = ""
    state: str = ""
    why: str = ""


class Facts(NamedTuple):
    state: str
    terms: Terms
    tasks: Sequence[Task] = ()
    workers: Sequence[Worker] = ()
    total: int = 0  # tasks of the plan; those that are over and done with need not be among `tasks`
    spent: str = ""  # which budget is, in a sentence
    plan: str = "active"


def step(facts: Facts) -> list[Action]:
    if facts.state == CrewState.STOPPING:
        return _stopping(facts)
    if facts.spent:
        return [Action(Act.END, state=CrewState.STOPPING, why=facts.spent)]
    if facts.plan == "canceled":
        return [Action(Act.END, state=CrewState.STOPPING, why="its plan was canceled")]
    let_go = _done_with(facts)
    if is_over(facts):
        live = [worker for worker in facts.workers if worker.is_live]
        if live:
            return [Action(Act.STOP, worker=worker.id) for worker in live if not worker.wish]
        return [Action(Act.END, state=CrewState.FINISHED)]
    work = _work(facts, {action.worker for action in let_go})
    if not let_go and not work and not _moves(facts):
        return _stuck(facts)
    return [*let_go, *work]


def _stopping(facts: Facts) -> list[Action]:
    live = [worker for worker in facts.workers if worker.is_live]
    if not live:
        return [Action(Act.END, state=CrewState.STOPPED)]
    return [Action(Act.STOP, worker=worker.id) for worker in live if not worker.wish]


def is_over(facts: Facts) -> bool:
    """Nothing left to do, to judge or to land."""
    return bool(facts.total) and all(
        task.status in ("completed", "canceled") and task.review != "pending" and not task.landing
        for task in facts.tasks
    )  # fmt: skip


def _done_with(facts: Facts) -> list[Action]:
    """Workers whose result needs them no more: it landed or needs no landing, and was judged where that is asked."""
    tasks = {task.id: task for task in facts.tasks}

    def is_needed(worker: Worker) -> bool:
        task = tasks.get(worker.task)
        if worker.role == "review":
            return worker.report not in SETTLED and task is not None and task.review == "pending"
        if worker.role == "plan":
            return worker.report not in SETTLED
        if worker.role == "lobby" and worker.state != State.ENDED:
            return True
        waits = task is not None and (task.review == "pending" or task.landing or task.status == "pending")
        return worker.report not in SETTLED or waits

    over = [worker for worker in facts.workers if worker.is_live and not worker.wish and not is_needed(worker)]
    return [Action(Act.STOP, worker=worker.id) for worker in over]


def _work(facts: Facts, leaving: Collection[str]) -> list[Action]:
    workers = {worker.id: worker for worker in facts.workers}
    busy = {worker.task for worker in facts.workers if worker.is_busy and worker.role != "review"}
    judged = {worker.task for worker in facts.workers if worker.is_busy and worker.role == "review"}
    waiting = [worker for worker in facts.workers if worker.waits and worker.id not in leaving]
    free = facts.terms.workers - sum(worker.is_busy for worker in facts.workers)
    # Those of the lobby that are on their way, or will be asked for below, are waited for.
    coming = facts.terms.lobby - sum(worker.role == "lobby" and worker.is_live for worker in facts.workers)
    coming += sum(worker.role == "lobby" and worker.state in COMING for worker in facts.workers)
    actions: list[Action] = []
    for task in _wanted(facts, busy, judged):
        if free <= 0:
            break
        action = _served(facts.terms, task, workers, waiting)
        free -= 1
        if action.act is Act.SPAWN and action.kind == facts.terms.kind and coming > 0:
            coming -= 1
        else:
            actions.append(action)
    return [*actions, *_lobby(facts, actions)]


def _wanted(facts: Facts, busy: Collection[str], judged: Collection[str]) -> list[Task]:
    """Verdicts first: they are what others wait for. Then what is ready, in the plan's order."""
    known = {worker.id: worker for worker in facts.workers}
    reviews = [
        task for task in facts.tasks
        if task.review == "pending" and task.status == "completed" and facts.terms.reviewer and task.id not in judged
        and task.reviews < REVIEWS
    ]  # fmt: skip
    ready = [
        task for task in facts.tasks
        if task.status == "pending" and not task.milestone and not task.elses and task.free and task.id not in busy
        and not task.landing and (task.worker not in known or known[task.worker].can_go_on)
    ]  # fmt: skip
    return [*reviews, *ready]


def _served(terms: Terms, task: Task, workers: Mapping[str, Worker], waiting: list[Worker]) -> Action:
    if task.status == "completed":
        return Action(Act.REVIEW, task=task.id, kind=terms.reviewer)
    if task.worker in workers:
        return Action(Act.AGAIN, task=task.id, worker=task.worker)
    kind = task.kind or terms.kind
    fits = next((worker for worker in waiting if worker.kind == kind), None)
    if fits is None:
        return Action(Act.SPAWN, task=task.id, kind=kind)
    waiting.remove(fits)
    return Action(Act.GIVE, task=task.id, worker=fits.id)


def _lobby(facts: Facts, actions: Sequence[Action]) -> list[Action]:
    """So many are kept at hand, as long as there is something that they could still be given."""
    left = sum(task.status in ("pending", "blocked") and not task.milestone for task in facts.tasks)
    taken = sum(action.act in (Act.SPAWN, Act.AGAIN, Act.GIVE) for action in actions)
    there = sum(worker.role == "lobby" and worker.is_live for worker in facts.workers)
    missing = min(facts.terms.lobby - there, left - taken)
    return [Action(Act.WAIT, kind=facts.terms.kind) for _ in range(missing)]


def _moves(facts: Facts) -> bool:
    """Is anything under way that will end by itself?"""
    return any(worker.is_busy for worker in facts.workers) or any(task.landing for task in facts.tasks)


def _stuck(facts: Facts) -> list[Action]:
    """Nothing moves, and something is left: a person has to say. Without one it is over."""
    if not facts.terms.autonomous or not facts.total:
        return []
    live = [worker for worker in facts.workers if worker.is_live]
    if live:
        return [Action(Act.STOP, worker=worker.id) for worker in live if not worker.wish]
    left = [task for task in facts.tasks if task.status not in ("completed", "canceled") or task.review == "pending"]
    named = ", ".join(task.id for task in left[:5])
    return [Action(Act.END, state=CrewState.FAILED, why=f"{len(left)} tasks can not go on: {named}")]


def waits_for_person(facts: Facts) -> bool:
    return facts.state == CrewState.RUNNING and not is_over(facts) and not step(facts) and not _moves(facts)
