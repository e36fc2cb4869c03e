"""Workers, for whoever asks for them: spawn, list, show, tell, stop, respawn, delete.

A worker is a row; whoever supervises on its machine makes it true (`supervising`, ADR 0035). So `spawn` returns when it
is written down, and what does not fit the limits waits.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from rookery.core import errors, kinds, names, tasks, text, times, workers
from rookery.core.record import NamedTuple
from rookery.core.workers import Report, State, Wish
from rookery.store.port import Row

from . import decisions, held, items, leases, limits, mesh, registered, turns
from . import kinds as kinding
from . import tasks as things
from .mailbox import checked_limit
from .tx import TASK, WORKED, Tx
from .verbs import Arg

LISTED = 200
ASSIGNMENT_LIMIT = 100_000
SCRIPT = "script"  # the host that runs a plain program

Id = Annotated[str, Arg("the worker, as w1 or by its name", positional=True, metavar="ID")]


class Asked(NamedTuple):
    """What a spawn asks for, once it is settled."""

    kind: str
    profile: Mapping[str, Any]
    host: str
    backend: str
    model: str
    root: str
    parent: Row | None
    crew: str
    role: str
    seed: str


# -- asking for one --------------------------------------------------------------------------------------------------


def spawn(
    tx: Tx,
    assignment: Annotated[str, Arg("a task's id, or what is to be done", positional=True, metavar="TASK")] = "",
    *,
    kind: Annotated[str, Arg("what kind of worker: `rook kinds`", flag="-k")] = "default",
    host: Annotated[str, Arg("the agent program: claude, codex, gemini, opencode, copilot, pi, script")] = "",
    backend: Annotated[str, Arg("where it runs", choices=("", *workers.BACKENDS))] = "",
    model: Annotated[str, Arg("the model it asks its program for")] = "",
    name: Annotated[str, Arg("its name; generated when left out")] = "",
    worktree: Annotated[bool, Arg("in a worktree of its own, whatever its kind says")] = False,
    no_worktree: Annotated[bool, Arg("in the working copy you are in")] = False,
    seed: Annotated[bool, Arg("it begins with what your own session knows")] = False,
    program: Annotated[list[str] | None, Arg("the command of host script (repeatable: its words)")] = None,
    root: Annotated[str, Arg("the working copy", hidden=True)] = "",
    start: Annotated[str, Arg("the commit to begin at", hidden=True)] = "",
) -> dict[str, Any]:
    """Crew and role are given by `make` alone: a worker of a crew lands and reviews by that crew's terms."""
    refuse_by_token(tx, bool(program or root or start))
    registered.refuse_place(tx, root)
    more = _said(worktree=worktree, no_worktree=no_worktree, program=program or [])
    if worktree and no_worktree:
        raise errors.BadInput("With a worktree of its own, or without?", "One of the two.")
    id = make(
        tx, tx.me(), assignment, kind=kind, host=host, backend=backend, model=model, name=name, seed=seed, root=root,
        start=start, extra=more,
    )  # fmt: skip
    tx.beat()
    notes = kinding.notes(tx, kind)
    return show(tx, id) | ({"notes": notes} if notes else {})


def make(
    tx: Tx, me: Row, assignment: str, *, kind: str, host: str = "", backend: str = "", model: str = "", name: str = "",
    seed: bool = False, crew: str = "", role: str = "", root: str = "", start: str = "",
    extra: Mapping[str, Any] | None = None,
) -> str:  # fmt: skip
    """A worker, asked for by this agent; its id."""
    workers.check_revision(start)
    told = text.check_text(assignment, "the assignment").strip()
    if len(told) > ASSIGNMENT_LIMIT:
        raise errors.TooLarge(f"More than {ASSIGNMENT_LIMIT:,} characters.", "Put it in a file and name that.")
    if not told and role != "lobby":
        raise errors.BadInput("What is it for?", "Give a task's id, or say what is to be done.")
    parent = of_agent(tx, me)
    refuse_program(parent, host, (extra or {}).get("program"))
    asked = settled(tx, me, parent, kind=kind, host=host, backend=backend, model=model, root=root, crew=crew,
                     role=role, seed=seed)  # fmt: skip
    if tx.is_limited():
        limits.allow_spawn(tx, me)
    return write(tx, me, told, asked, name, start, extra or {})


def _said(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}


def settled(
    tx: Tx, me: Row, parent: Row | None, *, kind: str, host: str = "", backend: str = "", model: str = "",
    root: str = "", crew: str = "", role: str = "", seed: bool = False,
) -> Asked:  # fmt: skip
    """What is asked for, with what its kind and the settings say; refused before anything is written."""
    _refuse_children(tx, parent)
    profile = profile_of(tx, kind, parent)
    where = registered.working_tree(tx, me, root or (parent["root"] if parent else ""))
    return Asked(
        kind=profile["name"], profile=profile,
        host=workers.check_host(host or profile.get("host", "") or tx.settings["worker.host"]),
        backend=workers.check_backend(backend or tx.settings["worker.backend"]),
        model=model or profile.get("model", ""), root=where, parent=parent, crew=crew, role=role,
        seed=_seed(tx, me) if seed or profile.get("seed") else "",
    )  # fmt: skip


def refuse_by_token(tx: Tx, said: bool) -> None:
    """A bearer of a token may be on another machine: no command runs here in its words, unless it is the user's."""
    grant = tx.caller.grant
    if said and (tx.caller.daemon_token or (grant is not None and not grant.is_operator)):
        raise errors.NotYours(
            "Which program runs, and where, is not said with this token.", "Name a kind and a host.",
            code="NOT_BY_TOKEN",
        )  # fmt: skip


def refuse_program(parent: Row | None, host: str, program: Sequence[str] | None) -> None:
    """A program of one's own asks no guard. Whoever may not write has none that could (H34)."""
    if parent is None or not (program or host == SCRIPT):
        return
    if why := kinds.write_refusal(kind_of(parent), plan_ok=bool(parent["plan_ok"])):
        raise errors.NotYours(f"{parent['id']} starts no program of its own: {why}.", code="READ_ONLY")


def _refuse_children(tx: Tx, parent: Row | None) -> None:
    """Of a worker: whether its kind may have any, how deep that goes; of all: how many may wait."""
    if parent is not None:
        refusal = kinds.spawn_refusal(kind_of(parent), parent["depth"], tx.settings["worker.depth"])
        if refusal is not None:
            raise refusal
    waiting = tx.one("workers_queued")
    if waiting and waiting["times"] >= tx.settings["worker.queue"]:
        raise errors.Refused(
            f"{waiting['times']} workers wait already.", "`rook workers` shows them; `rook stop ID` takes one away.",
            code="QUEUE_FULL",
        )  # fmt: skip


def profile_of(tx: Tx, kind: str, parent: Row | None = None) -> dict[str, Any]:
    """A kind as it is now, as data; the worker keeps it. What binds a worker binds its children."""
    found = kinding.find(tx, kind)
    if parent is not None:
        found = kinds.bounded(found, kind_of(parent), plan_ok=bool(parent["plan_ok"]))
    return kinds.as_data(found)


def kind_of(row: Row) -> kinds.Kind:
    return kinds.from_data({"name": row["kind"], **json.loads(row["profile"])})


def _seed(tx: Tx, me: Row) -> str:
    """The caller's own session of its program, for programs that can fork one."""
    turn = tx.one("turn", session=turns.key_of(me)) if registered.folder_of(tx, me) else None
    if turn is None or not turn["host_id"]:
        raise errors.Refused(
            "Your own session is not known.", "Its hooks tell it: `rook init`; or spawn without --seed.", code="NO_SEED"
        )
    return f"{turn['host']}:{turn['host_id']}"


def write(
    tx: Tx, me: Row, told: str, asked: Asked, name: str = "", start: str = "", extra: Mapping[str, Any] = {},
    agent: Row | None = None,
) -> str:  # fmt: skip
    tx.raise_flags(WORKED)
    number = tx.one("raise_counter", name="worker")
    assert number is not None
    id = f"{workers.PREFIX}{number['value']}"
    agent = agent or _new_agent(tx, name, asked.kind)
    task, title = ("", "") if asked.role in ("lobby", "plan") else _task(tx, me, agent, told, asked)
    tx.run(
        "new_worker", n=number["value"], id=id, agent=agent["id"], kind=asked.kind, profile=json.dumps(asked.profile),
        host=asked.host, backend=asked.backend, model=asked.model, machine=tx.world.host, root=asked.root, task=task,
        title=title, assignment="" if told == task else told, parent=asked.parent["id"] if asked.parent else "",
        asked_by=me["id"], depth=asked.parent["depth"] + 1 if asked.parent else 0, crew=asked.crew, role=asked.role,
        seed=asked.seed, extra=json.dumps(extra), base=start, at=tx.wall,
        judges=held.find(tx, task)["epoch"] if asked.role == "review" else 0,
    )  # fmt: skip
    tx.event("worker.spawned", me["name"], target=agent["name"], ref=id, preview=title or asked.kind, task=task,
             profile=asked.kind, host=asked.host, parent=asked.parent["id"] if asked.parent else "")  # fmt: skip
    tx.ring(workers.KEEPER)
    return id


def _new_agent(tx: Tx, name: str, kind: str) -> Row:
    chosen = names.check_new_name(name) if name else mesh.new_name(tx)
    if name:
        mesh.refuse_kept(tx, chosen)
    if tx.find_agent(chosen) is not None:
        raise errors.NameTaken(f"There is a {chosen} already.", "Choose another name, or leave it out.")
    return tx.make_agent(chosen, role=kind)


def _task(tx: Tx, me: Row, agent: Row, told: str, asked: Asked) -> tuple[str, str]:
    """The task it is for: one that is there and can be had, or a new one. It is kept for this worker."""
    if not told.startswith(TASK) or tx.one("task_hold", id=told) is None:
        title = text.one_line(told, 200)
        made = things.create(tx, title, description=told, kind=asked.kind, assignee=agent["id"], author=me)
        return made, title
    return told, take_on(tx, agent, told, asked.role)


def take_on(tx: Tx, agent: Row, id: str, role: str) -> str:
    """Keep a task for a worker; its title. One that it can not have now is refused, as a claim would be."""
    row = held.settle(tx, held.find(tx, id))
    if role == "review":
        return row["title"]
    other = tx.one("worker_on_task", task=id)
    if other is not None:
        raise errors.Refused(
            f"{other['name']} ({other['id']}) works on {id}.", f"`rook tell {other['id']} TEXT` to speak to it.",
            code="TASK_NOT_CLAIMABLE",
        )  # fmt: skip
    refusal = leases.refusal(tx, agent, row)
    if refusal is not None:
        raise refusal
    tx.run("keep_task_for", id=id, agent=agent["id"])
    return row["title"]


# -- looking ---------------------------------------------------------------------------------------------------------


def find(tx: Tx, id: str) -> Row:
    """By its id, or by its agent's name."""
    row = tx.one("worker", id=id)
    if row is None:
        agent = tx.find_agent(id)
        row = tx.one("worker_of_agent", agent=agent["id"]) if agent else None
    if row is None:
        raise errors.UnknownName(
            f"No worker {text.one_line(id, 40)}.", "`rook workers --all` shows them.", code="UNKNOWN_WORKER"
        )
    return row


def of_agent(tx: Tx, agent: Row) -> Row | None:
    """The worker that this agent is, while it is one."""
    row = tx.one("worker_of_agent", agent=agent["id"]) if agent["id"] else None
    return row if row is not None and row["state"] != State.ENDED else None


def listed(
    tx: Tx,
    *,
    all: Annotated[bool, Arg("also those that are over and done with")] = False,
    limit: Annotated[int | None, Arg("how many at most", flag="-n")] = None,
) -> dict[str, Any]:
    rows = tx.all("workers_all" if all else "workers_listed", limit=checked_limit(limit, LISTED))
    return {"workers": [card(tx, row) for row in rows]}


def show(tx: Tx, id: Id) -> dict[str, Any]:
    found = find(tx, id)
    row = tx.one("worker_card", id=found["id"])
    assert row is not None
    runs = tx.all("runs_of_worker", worker=row["id"], limit=20)
    return card(tx, row) | {
        "assignment": row["assignment"], "root": row["root"], "base": row["base"], "extra": json.loads(row["extra"]),
        "profile": json.loads(row["profile"]), "board": json.loads(row["board"]), "tail": row["tail"],
        "run_count": row["runs"], "runs": [_run(tx, run) for run in runs],
    }  # fmt: skip


def facts(row: Row) -> workers.Facts:
    moved = max(row["activity_at"] or 0, row["phase_at"], row["run_at"] or 0, row["created_at"])
    return workers.Facts(row["state"], row["report"], row["phase"], row["ending"], moved, row["heartbeat_at"] or moved,
                         row["asked_at"])  # fmt: skip


def limits_of(tx: Tx) -> workers.Limits:
    ms = tx.settings.ms
    return workers.Limits(ms("worker.stale_s"), ms("worker.silent_s"), ms("worker.waiting_s"))


def card(tx: Tx, row: Row) -> dict[str, Any]:
    known, terms = facts(row), limits_of(tx)
    return {
        "id": row["id"], "name": row["name"], "kind": row["kind"], "host": row["host"], "backend": row["backend"],
        "model": row["model"], "status": workers.shown(known), "state": row["state"], "report": row["report"],
        "stale": workers.is_stale(known, tx.now, terms), "warning": workers.warning(known, tx.now, terms),
        "task": row["task"] or None, "title": row["title"], "outcome": row["outcome"], "summary": row["summary"],
        "parent": row["parent"] or None, "depth": row["depth"], "crew": row["crew"] or None, "role": row["role"],
        "tree": row["tree"] or None, "machine": row["machine"], "runs": row["runs"], "crashes": row["crashes"],
        "wish": row["wish"], "why": row["wish_why"], "kept": json.loads(row["extra"]).get("kept"),
        "pid": row["pid"] if row["state"] in workers.ACTIVE else None,
        "terminal": json.loads(row["terminal"] or "{}") or None, "exit_code": row["exit_code"], "ending": row["ending"],
        "tokens": {"input": row["input"] or 0, "output": row["output"] or 0}, "at": times.iso(row["at"]),
        "moved": tx.shown(known.moved_at), "since": tx.shown(row["run_at"] or row["created_at"]),
    }  # fmt: skip


def _run(tx: Tx, row: Row) -> dict[str, Any]:
    return {
        "id": row["id"], "n": row["n"], "at": times.iso(row["at"]), "reason": row["reason"],
        "exit_code": row["exit_code"], "ended_at": tx.shown(row["ended_at"]) if row["ended_at"] else None,
        "model": row["model"], "tokens": {"input": row["input"], "output": row["output"]}, "session": row["session"],
    }  # fmt: skip


# -- deciding about one ----------------------------------------------------------------------------------------------


def _mine(tx: Tx, id: str) -> Row:
    """Whoever started it, its parent, the leader and the person decide about a worker."""
    row, me = find(tx, id), tx.me()
    parent = tx.one("worker", id=row["parent"]) if row["parent"] else None
    mine = me["id"] in (row["asked_by"], parent["agent"] if parent else 0)
    if mine or tx.may_steer(me) or me["name"] == names.SYSTEM:
        return row
    raise errors.NotYours(
        f"{row['id']} was started by another.", "`rook escalate` puts it before the leader.", code="NOT_YOUR_WORKER"
    )


def tell(
    tx: Tx, id: Id, body: Annotated[str, Arg("what to tell it", positional=True, metavar="TEXT")]
) -> dict[str, Any]:
    """Mail that steers: it is put before the worker at its next step, or wakes it."""
    from . import post

    row = find(tx, id)
    if row["state"] == State.ENDED:
        raise workers.not_live(row["id"], row["state"])
    subject = text.one_line(body, 80) or "A word"
    return post.send(tx, [row["name"]], subject, body, priority="high")


def stop(
    tx: Tx,
    id: Id,
    *,
    now: Annotated[bool, Arg("without asking it to wrap up")] = False,
    reason: Annotated[str, Arg("why", flag="-m")] = "",
) -> dict[str, Any]:
    """It is asked to wrap up, then ended. One that waits in the queue is taken away."""
    row = _mine(tx, id)
    end(tx, row, Wish.KILL if now else Wish.STOP, text.check_text(reason, "the reason")[:300])
    tx.beat()
    return show(tx, row["id"])


WRAP_UP = (
    "You are to stop. Leave the files whole, say what is finished and what is not (`rook done`, or `rook fail` if "
    "nothing is of use), and end. After {grace} seconds your program is ended."
)


def end(tx: Tx, row: Row, wish: Wish, why: str) -> None:
    """Have a worker stopped; nothing where that was said already, or it is over."""
    if row["state"] == State.QUEUED:
        from . import questions

        questions.withdraw(tx, row, "its worker is over")
        tx.run("drop_queued", id=row["id"], why=why)
        give_back(tx, row, why or "its worker was never started")
        tx.event("worker.ended", tx.me()["name"], target=row["name"], ref=row["id"], preview="never started")
        return
    if row["state"] == State.ENDED or row["wish"] in (wish, Wish.KILL):
        return
    tx.run("wish_worker", id=row["id"], wish=wish, why=why)
    tx.ring(row["name"])  # whoever only waits for its next task ends by itself
    if wish is Wish.STOP and row["task"] and row["report"] not in workers.SETTLED:
        grace = tx.settings["worker.grace_s"]
        held.tell(tx, [row["name"]], "Wrap up", WRAP_UP.format(grace=f"{grace:g}") + (f"\n\n{why}" if why else ""),
                  priority="urgent", tags=("steer",))  # fmt: skip
    tx.event("worker.stop", tx.me()["name"], target=row["name"], ref=row["id"], preview=why or wish)
    tx.ring(workers.KEEPER)


def respawn(tx: Tx, id: Id, *, reason: Annotated[str, Arg("why", flag="-m")] = "") -> dict[str, Any]:
    """Start its program anew: at once if it is over, else once it has been stopped."""
    row = _mine(tx, id)
    why = text.check_text(reason, "the reason")[:300]
    again(tx, row, why)
    tx.beat()
    return show(tx, row["id"])


def again(tx: Tx, row: Row, why: str) -> None:
    if row["state"] == State.ENDED:
        if row["task"] and row["report"] != Report.DONE:
            agent = tx.find_agent(row["name"])
            assert agent is not None
            take_on(tx, agent, row["task"], row["role"])
        tx.run("queue_again", id=row["id"])
        items.goes_on(tx, row["id"])
    elif row["state"] != State.QUEUED:
        tx.run("wish_worker", id=row["id"], wish=Wish.RESPAWN, why=why)
    tx.event("worker.respawn", tx.me()["name"], target=row["name"], ref=row["id"], preview=why)
    tx.ring(workers.KEEPER)


def delete(tx: Tx, id: Id) -> dict[str, Any]:
    """Forget one that is over; its worktree and files go with the next round of its keeper."""
    row = _mine(tx, id)
    if row["state"] != State.ENDED:
        raise errors.Refused(f"{row['id']} is {row['state']}.", f"`rook stop {row['id']}` first.", code="WORKER_LIVES")
    tx.run("let_go_of_worker" if row["runs"] else "delete_worker", id=row["id"])
    decisions.forgotten(tx, row)
    tx.event("worker.deleted", tx.me()["name"], target=row["name"], ref=row["id"])
    tx.ring(workers.KEEPER)
    tx.beat()
    return {"id": row["id"], "deleted": True}


def asker_of(tx: Tx, row: Row) -> str:
    """Who is told how it is: the worker that asked for it, else whoever did."""
    parent = tx.one("worker", id=row["parent"]) if row["parent"] else None
    asker = tx.one("agent_by_id", id=row["asked_by"])
    return parent["name"] if parent else asker["name"] if asker else names.PERSON


def give_back(tx: Tx, row: Row, because: str) -> None:
    """The task of a worker that will not finish it is anyone's again."""
    task = tx.one("task_hold", id=row["task"]) if row["task"] and row["role"] != "review" else None
    if task is None or task["status"] in tasks.FINISHED or task["assignee"] != row["agent"]:
        return
    from . import unlocking

    unlocking.move(tx, task, tasks.Status.PENDING, why=task["why"], assignee=None, assigned_until=None)
    held.note(tx, task["id"], "release", row["name"], because)
    tx.event("task.released", row["name"], ref=task["id"], preview=because)
    tx.ring("ready")
