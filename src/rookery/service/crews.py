"""Crews: a plan worked off by workers. One step is one transaction: look at everything, do what `core.crews` says.

    crew.run ──> step, step ... ──> finished, stopped or failed

Nothing is kept between two steps but the rows, so that whoever is killed is replaced by whoever comes next.
"""

import json
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from rookery.core import authority, crews, errors, names, planning, tasks, text, times, workers
from rookery.core.crews import Act, Action, CrewState
from rookery.store.port import Row

from . import decide, held, items, leases, plans, registered, results, supervising
from . import planning as planner
from . import workers as crewing
from .mailbox import checked_limit
from .tx import WORKED, Tx
from .verbs import Arg

Id = Annotated[str, Arg("the crew, or its plan; the one that runs when left out", positional=True, metavar="ID")]
MOST = 1_000


# -- starting, changing, stopping ------------------------------------------------------------------------------------


def run(
    tx: Tx,
    plan: Annotated[str, Arg("the plan to work off", positional=True, metavar="PLAN")],
    *,
    workers: Annotated[int, Arg("so many work at once", flag="-w", metavar="N")] = 4,
    lobby: Annotated[int, Arg("so many wait ready, and take one task after another", metavar="N")] = 0,
    kind: Annotated[str, Arg("of tasks that name none")] = "implementer",
    host: Annotated[str, Arg("the agent program, if the kind names none")] = "",
    backend: Annotated[str, Arg("where they run", choices=("", *workers.BACKENDS))] = "",
    program: Annotated[list[str] | None, Arg("the command of host script (repeatable: its words)")] = None,
    no_worktree: Annotated[bool, Arg("all in the working copy you are in")] = False,
    no_review: Annotated[bool, Arg("results are judged by nobody")] = False,
    by_person: Annotated[bool, Arg("results are judged by a person, not by reviewers")] = False,
    passes: Annotated[int, Arg("a planner makes the tasks of the plan's document, in so many passes", metavar="N")] = 0,
    no_land: Annotated[bool, Arg("changes stay where they are")] = False,
    check: Annotated[list[str] | None, Arg("what has to pass before a change lands (repeatable: its words)")] = None,
    autonomous: Annotated[bool, Arg("nobody is there to ask: end when nothing moves any more")] = False,
    max_tokens: Annotated[int | None, Arg("stop when its workers have used so many")] = None,
    root: Annotated[str, Arg("the working copy", hidden=True)] = "",
) -> dict[str, Any]:
    crewing.refuse_by_token(tx, bool(program or check or root))
    registered.refuse_place(tx, root)
    me = tx.me()
    crewing.refuse_program(crewing.of_agent(tx, me), host, [*(program or ()), *(check or ())])
    row = plans.find(tx, plan)
    if no_review:
        _refuse_without_review(tx, me, row)
    if row["status"] != "active":
        raise errors.Refused(f"{plan} is {row['status']}.", "`rook plan list` shows them.", code="PLAN_FINISHED")
    going = tx.one("crew_of_plan", plan=plan)
    if going is not None and going["state"] in crews.LIVE:
        raise errors.Refused(
            f"{going['id']} works on {plan}.", f"`rook crew status {going['id']}` shows it.", code="CREW_RUNS"
        )
    where = registered.working_tree(tx, me, root)
    limits = {"workers": _count(workers, 1), "lobby": min(_count(lobby, 0), workers), "max_tokens": max_tokens}
    terms = {
        "kind": names.check_name(kind), "host": host, "backend": backend, "program": program or [],
        "no_worktree": no_worktree, "reviewer": "" if by_person else "reviewer", "review": not no_review,
        "land": not (no_land or no_worktree) and decide.is_user(tx), "check": check or [], "autonomous": autonomous,
        "planning": _planned(tx, row, passes),
    }  # fmt: skip
    id = _write(tx, me, row, where, limits, terms)
    tx.beat()
    return status(tx, id) | {"warnings": _warnings(id, terms, no_land=no_land or no_worktree)}


def _refuse_without_review(tx: Tx, me: Row, plan: Row) -> None:
    """Its owner and the user decide whether a plan is reviewed, not an agent that works on it."""
    if me["id"] != plan["owner"] and not decide.is_user(tx):
        raise tx.refuse(errors.NotYours(
            f"Only the user and the owner of {plan['id']} run it without reviews.", "Run it without --no-review.",
            attempt=authority.DECIDE,
        ))  # fmt: skip


def _warnings(id: str, terms: Mapping[str, Any], *, no_land: bool) -> list[str]:
    """A crew lands only what the user let it land; whoever else starts one is told so."""
    if no_land or terms["land"]:
        return []
    return [
        f"{id} lands nothing by itself: it was not started by the user (a terminal, or an operator's token). In your"
        " own terminal, `rook docket` shows what it made and `rook land add CHANGE` lands it."
    ]


def _planned(tx: Tx, plan: Row, passes: int) -> dict[str, Any] | None:
    if not passes:
        return None
    if not 1 <= passes <= planning.PASSES:
        raise errors.BadInput(f"{passes} passes?", f"A number from 1 to {planning.PASSES}.")
    if tx.all("crew_tasks", plan=plan["id"]) or not plan["spec"]:
        why = "has tasks already" if plan["spec"] else "has no document to plan from"
        raise errors.Refused(f"{plan['id']} {why}.", "`rook plan new GOAL -m DOCUMENT` makes one.", code="NO_PLANNING")
    return planning.Progress(passes)._asdict()


def _count(number: int, low: int) -> int:
    if not low <= number <= MOST:
        raise errors.BadInput(f"{number} workers?", f"A number from {low} to {MOST}.")
    return number


def _write(tx: Tx, me: Row, plan: Row, root: str, limits: Mapping[str, Any], terms: Mapping[str, Any]) -> str:
    number = tx.one("raise_counter", name="crew")
    assert number is not None
    id = f"crew-{number['value']:04d}"
    tx.run("new_crew", id=id, n=number["value"], plan=plan["id"], machine=tx.world.host, root=root,
           limits=json.dumps(limits), terms=json.dumps(terms), started_by=me["id"], at=tx.wall)  # fmt: skip
    if not terms["review"]:
        tx.run("plan_without_review", plan=plan["id"])
    elif not plan["review"]:
        tx.run("plan_with_review", plan=plan["id"])
        tx.run("review_tasks_of_plan", plan=plan["id"])
    tx.raise_flags(WORKED)
    tx.event("crew.start", me["name"], ref=id, preview=plan["goal"], plan=plan["id"], workers=limits["workers"])
    tx.ring(names.CREWS)
    return id


def find(tx: Tx, id: str) -> Row:
    if not id:
        running = tx.all("crews", everyone=0, limit=2)
        if len(running) != 1:
            raise errors.BadInput(
                "Which crew?" if running else "No crew is at work.",
                f"One of {', '.join(row['id'] for row in running)}." if running else "`rook crew run PLAN` starts one.",
                code="WHICH_CREW",
            )
        return running[0]
    row = tx.one("crew", id=id) or tx.one("crew_of_plan", plan=id)
    if row is None:
        raise errors.UnknownName(
            f"No crew {text.one_line(id, 40)}.", "`rook crew list --all` shows them.", code="UNKNOWN_CREW"
        )
    return row


def _mine(tx: Tx, id: str) -> Row:
    row, me = find(tx, id), tx.me()
    if row["started_by"] != me["id"] and not tx.may_steer(me):
        raise errors.NotYours(f"{row['id']} is {row['starter']}'s.", "`rook escalate` puts it before the leader.")
    if row["state"] not in crews.LIVE:
        raise errors.Refused(f"{row['id']} is {row['state']}.", "`rook crew run PLAN` starts one.", code="CREW_OVER")
    return row


def scale(
    tx: Tx, workers: Annotated[int, Arg("so many work at once", positional=True, metavar="N")], id: Id = ""
) -> dict[str, Any]:
    """Change how many work at once, while they do. Nobody is stopped for it."""
    row = _mine(tx, id)
    limits = json.loads(row["limits"]) | {"workers": _count(workers, 1)}
    tx.run("scale_crew", id=row["id"], limits=json.dumps(limits))
    tx.event("crew.scale", tx.me()["name"], ref=row["id"], preview=f"{workers} workers", workers=workers)
    tx.ring(names.CREWS)
    tx.beat()
    return status(tx, row["id"])


def stop(tx: Tx, id: Id = "", *, reason: Annotated[str, Arg("why", flag="-m")] = "") -> dict[str, Any]:
    """Its workers wrap up and end; the plan stays as it is, and another crew may go on with it."""
    row = _mine(tx, id)
    why = text.check_text(reason, "the reason")[:300] or f"stopped by {tx.me()['name']}"
    _move(tx, row, Action(Act.END, state=CrewState.STOPPING, why=why))
    tx.beat()
    return status(tx, row["id"])


# -- looking ---------------------------------------------------------------------------------------------------------


def listed(
    tx: Tx,
    *,
    all: Annotated[bool, Arg("also those that are over")] = False,
    limit: Annotated[int | None, Arg("how many at most", flag="-n")] = None,
) -> dict[str, Any]:
    rows = tx.all("crews", everyone=int(all), limit=checked_limit(limit, 50))
    return {"crews": [_card(tx, row) for row in rows]}


def status(tx: Tx, id: Id = "") -> dict[str, Any]:
    """How far it is, who works on what, and what waits for a person."""
    row = find(tx, id)
    rows = [each for each in tx.all("crew_workers", crew=row["id"]) if each["state"] != workers.State.ENDED]
    used = tx.one("crew_used", crew=row["id"])
    waits = row["state"] == CrewState.RUNNING and crews.waits_for_person(_facts(tx, row))
    return _card(tx, row) | {
        "workers": [
            {"id": each["id"], "name": each["name"], "kind": each["kind"], "role": each["role"], "task": each["task"],
             "title": each["title"], "state": each["state"], "report": each["report"]}
            for each in rows
        ],
        "landings": {each["state"]: each["times"] for each in tx.all("crew_landings", plan=row["plan"])},
        "waits": waits, "tokens": used["tokens"] if used else 0,
    }  # fmt: skip


def _card(tx: Tx, row: Row) -> dict[str, Any]:
    limits, terms = json.loads(row["limits"]), json.loads(row["terms"])
    counted = tx.one("crew_counts", plan=row["plan"]) or {}
    counts = {name: value or 0 for name, value in counted.items()}
    ended = row["ended_at"] or tx.now
    return {
        "id": row["id"], "plan": row["plan"], "state": row["state"], "why": row["why"], "by": row["starter"],
        "limits": limits, "terms": terms, "counts": counts, "at": times.iso(row["at"]),
        "elapsed_ms": ended - row["created_at"], "left_ms": _left(counts, ended - row["created_at"], row["state"]),
    }  # fmt: skip


def _left(counts: Mapping[str, int], elapsed: int, state: str) -> int | None:
    """As long again for each task that is left as each one took so far; unknown before the first."""
    done = counts["done"]
    left = counts["total"] - done - counts["canceled"]
    return None if not done or state not in crews.LIVE else round(elapsed / done * left)


# -- one step, for a keeper ------------------------------------------------------------------------------------------


def teams(tx: Tx) -> dict[str, Any]:
    return {"teams": [row["name"] for row in tx.all("store_teams_with_crews", machine=tx.world.host)]}


def due(tx: Tx) -> dict[str, Any]:
    """Crews of this machine for which a step would do something: a look, so that nothing is written when nothing is."""
    rows = [row for row in tx.all("crews", everyone=0, limit=MOST) if row["machine"] == tx.world.host]
    return {"crews": [row["id"] for row in rows if _is_due(tx, row)]}


def _is_due(tx: Tx, row: Row) -> bool:
    progress = _planning(row)
    if progress is not None and planner.due(tx, row, progress) is not planning.Move.WAIT:
        return True
    return bool(crews.step(_facts(tx, row)))


def _planning(row: Row) -> planning.Progress | None:
    return planner.progress_of(row) if row["state"] == CrewState.RUNNING else None


def step(tx: Tx, id: Annotated[str, Arg("the crew")]) -> dict[str, Any]:
    """Everything that is due now. What has to be done to files first is handed back (`give`)."""
    supervising.as_system(tx)
    row = find(tx, id)
    if row["state"] not in crews.LIVE or row["machine"] != tx.world.host:
        return {"id": row["id"], "done": [], "give": []}
    done: list[str] = []
    give: list[dict[str, Any]] = []
    progress = _planning(row)
    if progress is not None:
        done, why = planner.step(tx, row, progress)
        if why:
            _move(tx, row, Action(Act.END, state=CrewState.STOPPING, why=why))
        row = find(tx, id)
    for action in crews.step(_facts(tx, row)):
        try:
            handed = tx.attempt(partial(_DEEDS[action.act], tx, row, action))
        except errors.RookError as refusal:
            if not isinstance(refusal, (errors.Refused, errors.BadInput, errors.UnknownName)):
                raise
            _refused(tx, row, action, refusal)
            continue
        give += [handed] if handed else []
        done.append(f"{action.act} {action.task or action.worker or action.state}".strip())
    return {"id": row["id"], "done": done, "give": give}


def _facts(tx: Tx, row: Row) -> crews.Facts:
    limits, terms = json.loads(row["limits"]), json.loads(row["terms"])
    taken: dict[str, bool] = {}
    plan = tx.one("plan", id=row["plan"])
    counts = tx.one("crew_counts", plan=row["plan"]) or {"total": 0}
    used = tx.one("crew_used", crew=row["id"]) if limits.get("max_tokens") else None
    spent = used is not None and used["tokens"] >= limits["max_tokens"]
    return crews.Facts(
        row["state"],
        crews.Terms(limits["workers"], limits["lobby"], terms["kind"], terms["reviewer"] * terms["review"],
                    terms["autonomous"]),
        [_task(tx, row, each, taken) for each in tx.all("crew_tasks", plan=row["plan"])],
        [_worker(each) for each in tx.all("crew_workers", crew=row["id"])],
        counts["total"],
        f"its budget of {limits['max_tokens']:,} tokens is spent" if spent else "",
        plan["status"] if plan else "canceled",
    )  # fmt: skip


def _task(tx: Tx, crew: Row, row: Row, taken: dict[str, bool]) -> crews.Task:
    mine = row["worker"] if row["crew"] == crew["id"] else ""
    elses = (row["assignee"] is not None or row["status"] == tasks.Status.IN_PROGRESS) and not mine
    free = True
    if row["status"] == tasks.Status.PENDING and row["resources"] != "[]":
        free = not any(leases.is_taken(tx, written, 0, taken) for written in json.loads(row["resources"]))
    return crews.Task(row["id"], row["status"], row["kind"], bool(row["milestone"]), row["review"], mine, elses,
                      bool(row["landing"]), row["reviews"], free)  # fmt: skip


def _worker(row: Row) -> crews.Worker:
    return crews.Worker(row["id"], row["state"], row["report"], row["role"], row["task"], row["kind"], row["wish"])


def _refused(tx: Tx, row: Row, action: Action, refusal: errors.RookError) -> None:
    """A worker that could not be had is not asked for again and again: the crew stops where a budget is spent, and
    otherwise its task is put before whoever owns it."""
    if refusal.code in ("BUDGET_EXCEEDED", "BUDGET_SPENT"):
        _move(tx, row, Action(Act.END, state=CrewState.STOPPING, why=refusal.message[:300]))
    elif action.task and action.act in (Act.SPAWN, Act.AGAIN) and refusal.code != "QUEUE_FULL":
        task = held.find(tx, action.task)
        if task["status"] == tasks.Status.PENDING:
            from . import unlocking

            unlocking.move(tx, task, tasks.Status.BLOCKED, why=refusal.message[:300])
            held.ask_owner(tx, task, f"No worker for {task['id']} {task['title']}", str(refusal))


# -- deeds -----------------------------------------------------------------------------------------------------------


def _spawn(tx: Tx, row: Row, action: Action) -> None:
    _make(tx, row, action.task, action.kind, "work")


def _review(tx: Tx, row: Row, action: Action) -> None:
    _make(tx, row, action.task, action.kind, "review")


def _wait(tx: Tx, row: Row, action: Action) -> None:
    _make(tx, row, "", action.kind, "lobby")


def _make(tx: Tx, row: Row, task: str, kind: str, role: str) -> None:
    terms = json.loads(row["terms"])
    starter = tx.find_agent(row["starter"])
    assert starter is not None
    host = crewing.profile_of(tx, kind)["host"] or terms["host"]
    extra = {name: terms[name] for name in ("program", "no_worktree") if terms[name]}
    if host != terms["host"]:
        extra.pop("program", None)  # of another host than its own
    crewing.make(tx, starter, task, kind=kind, host=host, backend=terms["backend"], crew=row["id"], role=role,
                 root=row["root"], extra=extra)  # fmt: skip


def _again(tx: Tx, row: Row, action: Action) -> dict[str, Any] | None:
    """The worker that had it goes on in its own worktree: with its program if that runs, else with a new run."""
    worker = crewing.find(tx, action.worker)
    if worker["state"] == workers.State.ENDED:
        tx.run("queue_again", id=worker["id"])
        items.goes_on(tx, worker["id"])
        tx.event(
            "worker.respawn", names.SYSTEM, target=worker["name"], ref=worker["id"], preview=f"{action.task} again"
        )
        tx.ring(workers.KEEPER)
    elif worker["report"] in workers.SETTLED:
        if worker["role"] == "lobby" and worker["tree"]:
            return _to_give(tx, worker, action.task)
        hand(tx, worker, action.task)
    return None


def _to_give(tx: Tx, worker: Row, task: str) -> dict[str, Any]:
    """Its worktree is put right first, which is no matter for a transaction. One that takes task after task may have
    done another since: it goes on where it left this one."""
    made = next((row for row in tx.all("changes_of_task", task=task, limit=10) if row["worker"] == worker["id"]), None)
    return {"worker": worker["id"], "task": task, "tree": worker["tree"], "root": worker["root"],
            "start": made["head"] if made else ""}  # fmt: skip


def _give(tx: Tx, row: Row, action: Action) -> dict[str, Any] | None:
    worker = crewing.find(tx, action.worker)
    if worker["tree"]:
        return _to_give(tx, worker, action.task)
    hand(tx, worker, action.task)
    return None


def give(
    tx: Tx,
    id: Annotated[str, Arg("the worker")],
    task: Annotated[str, Arg("the task")],
    *,
    base: Annotated[str, Arg("the commit its worktree is at")] = "",
) -> dict[str, Any]:
    """A worker that waits is given a task, its worktree being fresh."""
    supervising.as_system(tx)
    worker = crewing.find(tx, id)
    if base:
        tx.run("worker_base", id=worker["id"], base=base)
    hand(tx, worker, task)
    return {"id": id, "task": task}


def hand(tx: Tx, worker: Row, task: str) -> None:
    """One that runs and waits has a task from now on: kept for it, claimed for it, and told to it."""
    agent = tx.find_agent(worker["name"])
    assert agent is not None
    title = crewing.take_on(tx, agent, task, worker["role"])
    if not tx.run("give_worker", id=worker["id"], task=task, title=title):
        raise workers.not_live(worker["id"], worker["state"])
    supervising.claim_for(tx, {**worker, "task": task, "title": title})
    full = tx.one("task", id=task)
    notes = [note for note in tx.all("task_notes", task=task, limit=5) if note["kind"] in ("review", "fail", "land")]
    told = [full["description"] if full else "", *(f"{note['kind']} by {note['by']}: {note['note']}" for note in notes)]
    held.tell(tx, [worker["name"]], f"Yours: {task} {title}", "\n\n".join(filter(None, told)) or title,
              tags=("assignment",))  # fmt: skip


def _stop(tx: Tx, row: Row, action: Action) -> None:
    crewing.end(tx, crewing.find(tx, action.worker), workers.Wish.STOP, row["why"])


def _move(tx: Tx, row: Row, action: Action) -> None:
    if tx.run("crew_moves", id=row["id"], state=action.state, why=action.why or row["why"], before=row["state"]):
        tx.event(f"crew.{action.state}", names.SYSTEM, target=row["starter"], ref=row["id"], preview=action.why)
        tx.ring(names.CREWS)
        if action.state not in crews.LIVE:
            results.unreviewed(tx, row["plan"])
            told = action.why or f"{row['plan']} is worked off."
            held.tell(tx, [row["starter"]], f"{row['id']} {action.state}", told, priority="normal", tags=("crew",))


_DEEDS = {Act.SPAWN: _spawn, Act.REVIEW: _review, Act.WAIT: _wait, Act.AGAIN: _again, Act.GIVE: _give, Act.STOP: _stop,
          Act.END: _move}  # fmt: skip
