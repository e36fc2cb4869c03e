"""Workers, for whoever supervises them on their machine: what is due, begin, started, beat, ended.

    due ──> begin ──> (the program is started) ──> started ──> beat, beat ... ──> ended
                      └── it was not ───────────────────────────────────────────────┘

Each is fenced by the run it speaks of, so that a supervisor that was thought dead, or a second one, writes nothing that
is not so. What is wanted next is always in the rows: whoever is killed in between finds it there.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from rookery.core import docket, errors, mesh, names, secrets, tasks, text, times, workers
from rookery.core.workers import Ending, State, Wish
from rookery.store.port import Row

from . import budget, caller_tree, decisions, endpoints, held, holding, items, leases, limits, questions
from . import mesh as meshing
from . import tokens as minting
from .tx import Tx
from .verbs import Arg
from .workers import SCRIPT, asker_of, end, facts, find, give_back, limits_of

LOOK = 1_000
START_MS = 60_000  # as long a start may take before another may look after it
TAIL_LIMIT = 4_000
SLOT = "workers"  # its capacity, set by hand, is the team's limit while it is set

Run = Annotated[str, Arg("the run that is meant")]


def teams(tx: Tx) -> dict[str, Any]:
    return {"teams": [row["name"] for row in tx.all("store_teams_with_workers", machine=tx.world.host)]}


def as_system(tx: Tx) -> None:
    """A keeper acts in the name of the system, whose address is made when it is first used."""
    if tx.caller.agent == names.SYSTEM and tx.find_agent(names.SYSTEM) is None:
        tx.make_agent(names.SYSTEM)


# -- what is due -----------------------------------------------------------------------------------------------------


def due(tx: Tx) -> dict[str, Any]:
    """All workers of this machine that are not over: those that may begin now, and those to look at."""
    rows = tx.all("workers_here", machine=tx.world.host, limit=LOOK)
    waiting = [row for row in rows if row["state"] == State.QUEUED]
    ready = [row for row in waiting if row["not_before"] <= tx.now and not is_held(tx, row)]
    later = [row["not_before"] - tx.now for row in waiting if row["not_before"] > tx.now]
    return {
        "begin": _that_fit(tx, ready),
        "watch": [_watched(tx, row) for row in rows if row["state"] != State.QUEUED],
        "next_ms": min(later, default=None),
        "terms": {name: tx.settings.ms(f"worker.{name}_s") for name in ("heartbeat", "grace", "term")},
    }


def team_limit(tx: Tx) -> int:
    """A number set while they run (`rook slot set workers N`), else the setting."""
    row = tx.one("slot", name=SLOT)
    return row["capacity"] if row else tx.settings["worker.limit"]


def _that_fit(tx: Tx, ready: Sequence[Row]) -> list[str]:
    active = tx.all("workers_active")
    by_kind = {kind: sum(row["times"] for row in active if row["kind"] == kind) for kind in {r["kind"] for r in active}}
    free = team_limit(tx) - sum(by_kind.values())
    chosen: list[str] = []
    for row in ready:
        most = json.loads(row["profile"]).get("max_active") or LOOK
        if free > 0 and by_kind.get(row["kind"], 0) < most:
            by_kind[row["kind"]] = by_kind.get(row["kind"], 0) + 1
            free -= 1
            chosen.append(row["id"])
    return chosen


def _watched(tx: Tx, row: Row) -> dict[str, Any]:
    profile = json.loads(row["profile"])
    return {
        "id": row["id"], "name": row["name"], "run": row["run"], "n": row["run_n"], "state": row["state"],
        "wish": row["wish"], "wish_ms": tx.now - row["wish_at"] if row["wish"] else 0, "report": row["report"],
        "phase": row["phase"], "host": row["host"], "backend": row["backend"], "pid": row["pid"],
        "started": row["started"], "boot": row["boot"], "terminal": json.loads(row["terminal"]),
        "tree": row["tree"], "root": row["root"], "task": row["task"], "transcript": row["transcript"],
        "owner": row["owner"], "mine": row["owned_to"] <= tx.now or _is_gone(tx, row["owner"]),
        "age_ms": tx.now - (row["run_at"] or tx.now),
        "max_ms": round(1000 * (profile.get("max_duration_s") or 0)), "nudged": bool(row["nudged"]),
    }  # fmt: skip


def _is_gone(tx: Tx, owner: str) -> bool:
    """Is the process that was starting it gone? An owner is `machine:pid:start time`."""
    machine, _, rest = owner.partition(":")
    pid, _, started = rest.partition(":")
    return machine == tx.world.host and pid.isdecimal() and tx.world.prober.state(int(pid), started) == "dead"


def is_held(tx: Tx, row: Row, owner: str = "") -> bool:
    """Does another process have it in hand, one that is there?"""
    return row["owned_to"] > tx.now and row["owner"] != owner and not _is_gone(tx, row["owner"])


# -- starting --------------------------------------------------------------------------------------------------------


def begin(
    tx: Tx, id: Annotated[str, Arg("the worker")], *, owner: Annotated[str, Arg("who starts it")]
) -> dict[str, Any]:
    """A run is written down before anything is started; everything that is needed to start it. None if it is not its
    turn any more."""
    row = find(tx, id)
    if row["state"] != State.QUEUED or row["not_before"] > tx.now or is_held(tx, row) or id not in _that_fit(tx, [row]):
        return {"worker": None}
    as_system(tx)
    order = _order(tx, row)
    run = tx.new_id("run-")
    minted = minting.mint(tx, tx.agent(row["name"]), f"{id}, run {row['runs'] + 1}")
    tx.run("store_put_setting", name=caller_tree.USER_FILE, value=caller_tree.user_file(tx.world))
    tx.run("begin_worker", id=id, run=run, owner=owner, owned_to=tx.now + START_MS)
    tx.run("new_run", id=run, worker=id, n=row["runs"] + 1, token=minted["id"], boot=tx.world.boot,
           machine=tx.world.host, at=tx.wall)  # fmt: skip
    tx.event("worker.starting", names.SYSTEM, target=row["name"], ref=id, run=run, n=row["runs"] + 1)
    return {"worker": order | {"run": run, "n": row["runs"] + 1, "token": minted["token"]}}


def _order(tx: Tx, row: Row) -> dict[str, Any]:
    task = tx.one("task", id=row["task"]) if row["task"] else None
    asker = tx.one("agent_by_id", id=row["asked_by"])
    return {
        "id": row["id"], "name": row["name"], "kind": row["kind"], "profile": json.loads(row["profile"]),
        "host": row["host"], "backend": row["backend"], "model": row["model"], "root": row["root"],
        "tree": row["tree"], "base": row["base"], "seed": row["seed"], "extra": json.loads(row["extra"]),
        "task": row["task"], "title": row["title"], "assignment": row["assignment"],
        "description": task["description"] if task else "", "spec": task["spec"] if task else "",
        "resources": json.loads(task["resources"]) if task else [], "role": row["role"], "crew": row["crew"],
        "parent": row["parent"], "asked_by": asker["name"] if asker else "", "plan_ok": bool(row["plan_ok"]),
        "judges": _judged(tx, row), "before": _before(tx, row), "lenses": _lenses(tx, json.loads(row["extra"])),
    }  # fmt: skip


def _lenses(tx: Tx, extra: Mapping[str, Any]) -> list[list[str]]:
    """Perspectives that were asked for, with their text as it is now: the repository's, never the sender's."""
    found = ((name, tx.world.directory.lens(name)) for name in extra.get("lenses") or ())
    return [[name, written] for name, written in found if written]


def _judged(tx: Tx, row: Row) -> str:
    """The commits between which the change lies that a reviewer is to judge."""
    found = tx.all("changes_of_task", task=row["task"], limit=1) if row["role"] == "review" else []
    return f"{found[0]['base']} {found[0]['head']}" if found else ""


def _before(tx: Tx, row: Row) -> dict[str, Any]:
    """What the run before left, for the one that goes on: how it ended, its steps, its last lines, its task's notes."""
    runs = tx.all("runs_of_worker", worker=row["id"], limit=1)
    notes = tx.all("task_notes", task=row["task"], limit=20) if row["task"] else []
    last, told = runs[0] if runs else None, tx.one("last_version", worker=row["id"])
    return {
        "version": told["version"] if told else 0,
        "reason": last["reason"] if last else "", "exit_code": last["exit_code"] if last else None,
        "tail": last["tail"] if last else "", "board": json.loads(row["board"]),
        "notes": [{"kind": note["kind"], "by": note["by"], "note": note["note"][:2_000]} for note in notes],
    }  # fmt: skip


def started(
    tx: Tx,
    id: Annotated[str, Arg("the worker")],
    *,
    run: Run,
    pid: Annotated[int, Arg("its process")],
    since: Annotated[str, Arg("when that began")],
    terminal: Annotated[dict[str, Any] | None, Arg("where it is shown")] = None,
    tree: Annotated[str, Arg("its worktree")] = "",
    base: Annotated[str, Arg("the commit that began at")] = "",
    branch: Annotated[str, Arg("the branch of its folder")] = "",
) -> dict[str, Any]:
    """It runs: its session begins with that process, and its task is its own. Says the same when it is said again."""
    row = find(tx, id)
    if row["run"] != run or row["state"] not in workers.ACTIVE:
        return {"id": id, "fenced": True}
    if row["state"] != State.STARTING:
        return {"id": id, "fenced": False}
    as_system(tx)
    agent = tx.agent(row["name"])
    where = tx.caller._replace(process=(pid, since), cwd=tree or row["root"], host=tx.world.host, boot=tx.world.boot)
    tx.run("store_note_program", host=where.host, boot=where.boot, pid=pid, started=since, how="run", above="")
    facts = {"program": row["host"], "model": row["model"], "spec": "", "branch": branch,
             "coordination": tx.settings["worker.coordination"]}  # fmt: skip
    session = _joined_before(tx, agent, run)
    if not session:
        arrival = mesh.Arrival.RETURN if agent["session"] else mesh.Arrival.FRESH
        session = meshing.new_session(tx, agent, facts, arrival, row["kind"], False, where)[0]
    if row["host"] != SCRIPT:  # a plain program is never typed into: it would run what it is given
        endpoints.register_told(tx, agent, session, {endpoints.TERMINAL: terminal})
    tx.run("worker_runs", id=id, run=run, tree=tree, base=base)
    tx.run("run_started", id=run, pid=pid, started=since, terminal=json.dumps(terminal or {}), session=session,
           model=row["model"])  # fmt: skip
    tx.event("worker.started", row["name"], target=row["name"], ref=id, run=run, task=row["task"], pid=pid)
    return {"id": id, "fenced": False, "lease": claim_for(tx, row)}


def _joined_before(tx: Tx, agent: Row, run: str) -> str:
    """The session in which its program's own hooks were faster than whoever writes down that it was started."""
    found = tx.one("run", id=run)
    session: str = agent["session"] or ""
    joined = found is not None and session and agent["joined_at"] >= found["created_at"]
    return session if joined and meshing.is_live_row(tx, agent) else ""


def claim_for(tx: Tx, row: Row) -> dict[str, Any] | None:
    """Its task becomes its own; what the run before held is handed on, under a new epoch."""
    if not row["task"] or row["role"] == "review":
        return None
    task, agent = held.find(tx, row["task"]), tx.find_agent(row["name"])
    assert agent is not None
    if task["status"] in tasks.FINISHED:
        return None
    try:
        return tx.attempt(lambda: _take(tx, agent, task))
    except errors.Refused as refusal:  # someone was faster, or it was blocked meanwhile: the worker is told, and ends
        held.tell(tx, [row["name"]], f"{task['id']} is not yours", f"{refusal.message} {refusal.hint}")
        tx.run("wish_worker", id=row["id"], wish=Wish.STOP, why=refusal.message[:300])
        return None


def _take(tx: Tx, agent: Row, task: Row) -> Row:
    if task["status"] == tasks.Status.IN_PROGRESS and task["holder"] == agent["id"]:
        tx.run("hand_on_task", id=task["id"], epoch=task["epoch"])
        task = held.find(tx, task["id"])
    if tx.is_limited():
        limits.allow_claim(tx, agent, task)
    return leases.take(tx, agent, held.settle(tx, task), leases.lease_ttl(tx, None))["lease"]


# -- while it runs ---------------------------------------------------------------------------------------------------


def beat(
    tx: Tx,
    runs: Annotated[dict[str, Any], Arg("runs that were seen running, by worker")],
    *,
    moved: Annotated[list[str] | None, Arg("workers whose program has said something since")] = None,
) -> dict[str, Any]:
    """They run: heartbeats and leases are renewed. A worker that lost its task is stopped, and told so (H28); so is one
    that has run for as long as its kind may. What is worth a warning is told once."""
    as_system(tx)
    lost: list[str] = []
    for id, run in runs.items():
        row = tx.one("worker_card", id=id)
        if row is None or row["run"] != run or row["state"] not in (State.RUNNING, State.STOPPING):
            continue
        tx.run("beat_run", session=row["session"], moved=int(id in (moved or ())))
        tx.run("renew_held", agent=row["agent"], session=row["session"])
        tx.run("renew_held_paths", agent=row["agent"])
        if _has_lost(tx, row):
            lost.append(id)
            _stop_lost(tx, row)
        elif _is_overdue(tx, row):
            most = json.loads(row["profile"])["max_duration_s"]
            end(tx, row, Wish.STOP, f"it has run for the {most:g} seconds that its kind may")
        _warn(tx, row)
    return {"lost": lost}


def _is_overdue(tx: Tx, row: Row) -> bool:
    most = json.loads(row["profile"]).get("max_duration_s") or 0
    return bool(most) and not row["wish"] and tx.now - row["run_at"] >= most * 1000


def _warn(tx: Tx, row: Row) -> None:
    """Whoever asked for it is told that it is silent, or that its question waits; once, until that is over."""
    known = facts(row)
    found = workers.warning(known, tx.now, limits_of(tx))
    if found == row["warned"] or not tx.run("warn_worker", id=row["id"], run=row["run"], warned=found) or not found:
        return
    since = times.ago(tx.now - (known.asked_at if known.asked_at is not None else known.moved_at))
    said = f"its question has waited {since}" if found == "waiting" else f"nothing was heard of it for {since}"
    tx.event(f"worker.{found}", names.SYSTEM, target=row["name"], ref=row["id"], preview=said)
    do = f"`rook worker show {row['id']}`, `rook peek {row['id']}`, `rook tell {row['id']} TEXT`."
    held.tell(tx, [asker_of(tx, row)], f"{row['id']} ({row['name']}): {said}", do, tags=("worker",))


def _has_lost(tx: Tx, row: Row) -> bool:
    if not row["task"] or row["role"] == "review" or row["report"] in workers.SETTLED or row["wish"]:
        return False
    task = tx.one("task_hold", id=row["task"])
    if task is not None and task["status"] == tasks.Status.COMPLETED and task["author"] == row["agent"]:
        return False  # it did that before, and was started again by mail
    return task is None or task["holder"] != row["agent"] or task["status"] != tasks.Status.IN_PROGRESS


def _stop_lost(tx: Tx, row: Row) -> None:
    why = f"{row['task']} is not its task any more"
    tx.run("wish_worker", id=row["id"], wish=Wish.STOP, why=why)
    held.tell(
        tx, [row["name"]], "Stop: your lease is lost", f"{why}. What you write now is refused.", priority="urgent"
    )
    tx.event("worker.lost", names.SYSTEM, target=row["name"], ref=row["id"], preview=why)


def used(
    tx: Tx,
    id: Annotated[str, Arg("the worker")],
    *,
    run: Run,
    input: Annotated[int, Arg("tokens read in this run so far")],
    output: Annotated[int, Arg("tokens written in this run so far")],
    model: Annotated[str, Arg("by which model")] = "",
) -> dict[str, Any]:
    """What a run has used, as its program told: counted once, however often it is said."""
    as_system(tx)
    row = find(tx, id)
    agent = tx.find_agent(row["name"])
    if agent is None or not tx.run("run_used", id=run, worker=row["id"], input=input, output=output, model=model[:100]):
        return {"id": id, "fenced": True}
    budget.metered(tx, agent, run, model, input, output)
    return {"id": id, "fenced": False}


def stopping(tx: Tx, id: Annotated[str, Arg("the worker")], *, run: Run) -> dict[str, Any]:
    return {"id": id, "changed": bool(tx.run("worker_stopping", id=id, run=run))}


# -- when it is over -------------------------------------------------------------------------------------------------


def ended(
    tx: Tx,
    id: Annotated[str, Arg("the worker")],
    *,
    run: Run,
    reason: Annotated[str, Arg("how it ended", choices=tuple(Ending))],
    exit_code: Annotated[int | None, Arg("its exit code, if that is known")] = None,
    tail: Annotated[str, Arg("its last lines")] = "",
) -> dict[str, Any]:
    """Its run is over: what it held is free, its token ends, and it starts anew or is over, as `core` says."""
    as_system(tx)
    row = find(tx, id)
    found = tx.one("run", id=run)
    tail = secrets.redacted(text.plain(tail))[0]
    if found is None or row["run"] != run or not tx.run("end_run", id=run, exit_code=exit_code, reason=Ending(reason),
                                                        tail=tail[-TAIL_LIMIT:]):  # fmt: skip
        return {"id": id, "fenced": True}
    _close(tx, row, found)
    then = workers.after_end(reason, row["report"], row["wish"], row["crashes"],
                             json.loads(row["profile"]).get("respawn") or {})  # fmt: skip
    tx.run("worker_ended", id=id, run=run, state=then.state, crashes=then.crashes, not_before=tx.now + then.after_ms,
           ended_at=tx.now if then.state is State.ENDED else None)  # fmt: skip
    how = f"{reason}{f', exit code {exit_code}' if exit_code is not None else ''}"
    tx.event("worker.ended", names.SYSTEM, target=row["name"], ref=id, preview=how, run=run, exit=exit_code,
             reason=reason, next=then.state)  # fmt: skip
    if then.state is State.ENDED:
        _over(tx, row, how, tail)
    else:
        agent = tx.find_agent(row["name"])
        assert agent is not None
        _keep_task(tx, row, agent)
    tx.ring(workers.KEEPER)
    return {"id": id, "fenced": False, "state": then.state}


def _close(tx: Tx, row: Row, found: Row) -> None:
    tx.run("revoke_token", id=found["token"])
    items.close(tx, f"agent:{row['agent']}")  # how its session is asks nothing any more
    agent = tx.find_agent(row["name"])
    if agent is None or not found["session"]:
        return
    if tx.run("end_session", session=found["session"], reason="ended"):
        endpoints.forget(tx, agent, found["session"])
        if tx.all("holds_of_agent", agent=agent["id"]):
            holding.end_session(tx, agent, "its worker ended")


def _keep_task(tx: Tx, row: Row, agent: Row) -> None:
    """Between two runs its task is held by nobody, and kept for it."""
    task = tx.one("task_hold", id=row["task"]) if row["task"] and row["role"] != "review" else None
    if task is not None and task["status"] == tasks.Status.IN_PROGRESS and task["holder"] == row["agent"]:
        tx.run("hand_on_task", id=task["id"], epoch=task["epoch"])
        tx.run("keep_task_for", id=task["id"], agent=agent["id"])


def _over(tx: Tx, row: Row, how: str, tail: str) -> None:
    """Whoever asked for it is told of a worker that ended without a word, and its task is anyone's again."""
    questions.withdraw(tx, row, "its worker is over")
    if row["role"] == "review":
        _no_verdict(tx, row)
    if row["report"] in workers.SETTLED:
        return
    told = f"{row['id']} ({row['name']}) ended without a report: {how}"
    give_back(tx, row, told)
    lines = text.plain(tail).strip().splitlines()[-10:]
    shown = "\n\nIts last lines:\n" + "\n".join(f"| {line}" for line in lines) if lines else ""
    words = f"{row['title']}\n`rook respawn {row['id']}` starts it anew.{shown}"
    held.tell(tx, [asker_of(tx, row)], told, words, tags=("worker",))
    _ask(tx, row, told, lines)


def _no_verdict(tx: Tx, row: Row) -> None:
    """What it was to judge is put before a person, if it was the last that is asked for."""
    from . import results

    task = tx.one("task_hold", id=row["task"])
    results.unreviewed(tx, task["plan"] if task else None, row["task"])


def _ask(tx: Tx, row: Row, told: str, lines: Sequence[str]) -> None:
    """What was stopped on purpose asks nothing; a crew has another do the task, and asks when it is at its end."""
    if row["crew"] or row["wish"] in (Wish.STOP, Wish.KILL):
        return
    free = f"{row['task']} is anyone's again; " if row["task"] else ""
    items.ask(tx, items.Asked(
        "failure", row["task"] or row["id"], told, questions.decider(tx, row)["id"],
        f"{free}{row['id']} is forgotten after a while", detail="\n".join(lines),
        subject=docket.run_of(row["id"], row["runs"]), worker=row["id"],
    ))  # fmt: skip


# -- when its keeper goes down, and long after -----------------------------------------------------------------------


def down(tx: Tx, *, reason: Annotated[str, Arg("why")] = "the daemon goes down") -> dict[str, Any]:
    """All workers of this machine are to stop. Those that wait for their turn go on waiting."""
    as_system(tx)
    rows = [row for row in tx.all("workers_here", machine=tx.world.host, limit=LOOK) if row["state"] in workers.ACTIVE]
    for row in rows:
        end(tx, row, Wish.STOP, reason)
    return {"stopping": [row["id"] for row in rows]}


def left(tx: Tx, ids: Annotated[list[str], Arg("workers that have a folder here")]) -> dict[str, Any]:
    """What may be put away: whether any is to leave the list, and the folders that nobody needs any more."""
    gone: list[dict[str, str]] = []
    for id in ids[:LOOK]:
        row = tx.one("worker", id=id)
        if row is None or may_forget(tx, row):
            gone.append({"id": id, "root": row["root"] if row else "", "tree": row["tree"] if row else ""})
    return {"evict": _is_any_old(tx), "forget": gone}


def may_forget(tx: Tx, row: Row) -> bool:
    """Somebody wants that, or it is over for long enough."""
    if row["state"] != State.ENDED or row["machine"] != tx.world.host:
        return False
    return row["wish"] == Wish.DELETE or row["ended_at"] <= tx.now - tx.settings.ms("worker.prune_s")


def _is_any_old(tx: Tx) -> bool:
    since = tx.now - tx.settings.ms("worker.evict_s")
    return tx.one("worker_to_evict", machine=tx.world.host, since=since) is not None


def evict(tx: Tx) -> dict[str, Any]:
    """Those that are over for a while leave the list. A result that nobody judged is counted: somebody owes a look."""
    as_system(tx)
    since = tx.now - tx.settings.ms("worker.evict_s")
    rows = tx.all("workers_to_evict", machine=tx.world.host, since=since, limit=LOOK)
    for row in rows:
        tx.run("evict_worker", id=row["id"])
        decisions.owe(tx, row)
        tx.event("worker.evicted", names.SYSTEM, target=row["name"], ref=row["id"], unreviewed=_is_unreviewed(row))
    return {"evicted": [row["id"] for row in rows]}


def _is_unreviewed(row: Row) -> bool:
    return row["report"] in workers.SETTLED and not row["seen_at"]


def forget(tx: Tx, id: Annotated[str, Arg("the worker")]) -> dict[str, Any]:
    """Its folder is gone; so is its row, if it still had one that may go."""
    as_system(tx)
    row = tx.one("worker", id=id)
    if row is None or not tx.run("delete_worker", id=id):
        tx.run("forget_tree", id=id)  # it was asked for anew meanwhile: it begins without what it had
        return {"id": id, "forgotten": row is None}
    decisions.forgotten(tx, row)
    tx.event("worker.pruned", names.SYSTEM, target=row["name"], ref=id, unreviewed=_is_unreviewed(row))
    return {"id": id, "forgotten": True}


def keep(
    tx: Tx, id: Annotated[str, Arg("the worker")], *, why: Annotated[str, Arg("what its worktree holds")]
) -> dict[str, Any]:
    """Its worktree holds what is nowhere else, and stays; the list says so."""
    return {"id": id, "kept": bool(tx.run("keep_worker", id=id, why=text.one_line(why, 200)))}
