"""Names and sessions: join, leave, rename, status, heartbeat, activity."""

from itertools import islice
from typing import Annotated, Any

from rookery.core import authority, errors, mail, mesh, names, naming, text, times
from rookery.core.caller import Caller
from rookery.core.presence import is_live
from rookery.store.port import Row

from . import decide, endpoints, presence, upkeep
from .tx import Tx
from .verbs import Arg

PEERS, LOOKED_AT = 50, 200  # a join tells of so many others, and looks at so many sessions for them
ACTIVITY = ("edit", "test", "commit", "read", "tool")


def join(
    tx: Tx,
    name: Annotated[str, Arg("the name to take; generated when left out", positional=True)] = "",
    *,
    takeover: Annotated[bool, Arg("put out a live session of that name")] = False,
    role: Annotated[str, Arg("what it is for: `any:ROLE` finds it")] = "",
    model: Annotated[str, Arg("the model behind it")] = "",
    program: Annotated[str, Arg("the agent program behind it")] = "",
    spec: Annotated[str, Arg("the document it works from")] = "",
    human: Annotated[bool, Arg("a person sits here")] = False,
    coordination: Annotated[str, Arg("how many messages it may send", choices=tuple(mail.COORDINATION))] = "",
    branch: Annotated[str, Arg("the git branch", hidden=True)] = "",
    resume: Annotated[bool, Arg("whoever joined before goes on", hidden=True)] = False,
    terminal: Annotated[dict[str, Any] | None, Arg("where its program is shown", hidden=True)] = None,
) -> dict[str, Any]:
    facts = {"program": program, "model": model, "spec": spec, "coordination": coordination, "branch": branch}
    return enter(tx, name, facts, takeover=takeover, role=role, human=human, resume=resume, terminal=terminal)


def enter(
    tx: Tx, name: str, facts: dict[str, str], *, takeover: bool = False, role: str = "", human: bool = False,
    resume: bool = False, terminal: dict[str, Any] | None = None, by_hook: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Take a name, or go on under it. `facts` are what the session says of itself."""
    coordination = facts.get("coordination") or tx.settings["mail.coordination"]
    facts = {"program": "", "model": "", "spec": "", "branch": "", **facts, "coordination": coordination}
    if coordination not in mail.COORDINATION:
        raise errors.BadInput(
            f"No coordination level {text.one_line(coordination, 40)!r}.", f"One of: {', '.join(mail.COORDINATION)}."
        )
    if not name and resume and (bound := bound_here(tx)):
        name = bound
    name = names.check_new_name(name) if name else new_name(tx)
    if human and tx.tree is not None:
        raise tx.refuse(authority.not_human(name), name)
    _refuse_second_name(tx, name, by_hook)
    if tx.caller.origin is not None and tx.caller.origin.program:
        decide.note_program(tx, "join")
    _refuse_another(tx, name)
    agent = _known(tx, name, by_hook) or tx.make_agent(name, role=role, is_human=human)
    if tx.caller.daemon_token:
        from . import daemon_token  # clients over HTTP only

        daemon_token.require(tx, "join", agent)
    how = mesh.arrival(
        agent["name"], tx.liveness(agent), same_process=resume and _goes_on(tx, agent), takeover=takeover,
        seen_ms_ago=tx.now - (agent["heartbeat_at"] or tx.now), where=agent["cwd"] or "",
    )  # fmt: skip
    if how is mesh.Arrival.TAKEOVER and tx.caller.daemon_token and not decide.is_session_of_caller(tx, agent):
        raise tx.refuse(authority.live_name(agent["name"]), agent["name"])
    if how is mesh.Arrival.RESUME:
        said = {each: facts[each] for each in ("branch", "model", "spec")}
        tx.run("refresh_session", session=agent["session"], cwd=tx.caller.cwd, **said)
        session, epoch = agent["session"], agent["epoch"]
    else:
        session, epoch = new_session(tx, agent, facts, how, role, human, tx.caller)
    endpoints.register_told(tx, agent, session, {endpoints.TERMINAL: terminal})
    upkeep.sweep_when_due(tx)
    return _welcome(tx, agent, session, epoch, how)


def _refuse_second_name(tx: Tx, name: str, by_hook: bool) -> None:
    """An agent program keeps the name it has. A program that was started inside another one, and asks through its own
    hooks, has a new name of its own: what it judges is judged with the other in mind (`decide.is_own_work`)."""
    tree = tx.tree
    if tree is None or not tree.names or names.key(name) in map(names.key, tree.names):
        return
    known = tx.find_agent(name) or tx.renamed(name)
    if known is not None and known["name"] in tree.names:
        return
    if by_hook and known is None and is_nested(tx):
        return
    raise tx.refuse(authority.second_name(tree.names[0], name), name)


def is_nested(tx: Tx) -> bool:
    """Is the program that calls one that was started inside another agent program?"""
    tree = tx.tree
    return tree is not None and bool(tree.program and tree.names) and tx.caller.process not in (None, tree.program)


def _known(tx: Tx, name: str, by_hook: bool) -> Row | None:
    """The agent of this name. A process that an agent program left behind takes no name: nothing tells which agent it
    was, and under a new one it could judge its own work. A program that was resumed says so by its hook."""
    agent, tree, origin = tx.find_agent(name), tx.tree, tx.caller.origin
    if tree is None or tree.program or tree.proven or origin is None or not (origin.marked or tree.run):
        return agent
    if agent is not None:
        is_resumed = by_hook and not tree.run and tx.one("worker_of_agent", agent=agent["id"]) is None
        if is_resumed or decide.is_session_of_caller(tx, agent):
            return agent
    raise tx.refuse(authority.left_behind(name), name)


def return_in(tx: Tx, agent: Row, before: Row, process: tuple[int, str]) -> str:
    """The agent goes on in another process than that of its session before, which is gone: a new session, fenced as
    ever, with what the other said of itself."""
    facts = {name: before[name] for name in ("program", "model", "spec", "coordination", "branch")}
    where = tx.caller._replace(process=process, cwd=before["cwd"], host=before["host"], boot=before["boot"])
    return new_session(tx, agent, facts, mesh.Arrival.RETURN, "", False, where)[0]


def new_session(
    tx: Tx, agent: Row, facts: dict[str, str], how: mesh.Arrival, role: str, human: bool, caller: Caller
) -> tuple[str, int]:
    if agent["session"]:
        reason = "taken over" if how is mesh.Arrival.TAKEOVER else "replaced"
        tx.run("end_session", session=agent["session"], reason=reason)
        endpoints.forget(tx, agent, agent["session"])
    pid, started = caller.process or (None, "")
    session = tx.new_id("ses-")
    tx.run(
        "new_session", id=session, agent=agent["id"], epoch=agent["epoch"] + 1, pid=pid, started=started,
        boot=caller.boot, host=caller.host, cwd=caller.cwd, at=tx.wall, **facts,
    )  # fmt: skip
    changed = tx.run(
        "bind_session", session=session, id=agent["id"], epoch=agent["epoch"],
        role=role, is_human=int(human or bool(agent["is_human"])),
    )  # fmt: skip
    if not changed:
        raise mesh.fenced(agent["name"], "taken over")
    if agent["session"]:
        _end_holds(tx, agent, "its session was taken over" if how is mesh.Arrival.TAKEOVER else "its session is gone")
    tx.event("join", agent["name"], target=caller.cwd, preview=how.value, session=session, model=facts["model"])
    tx.ring(agent["name"])
    return session, agent["epoch"] + 1


def _welcome(tx: Tx, agent: Row, session: str, epoch: int, how: mesh.Arrival) -> dict[str, Any]:
    waiting = sum(row["waiting"] for row in tx.all("pending_counts", agent=agent["id"]))
    return {
        "name": agent["name"], "team": tx.team, "session": session, "epoch": epoch, "arrival": how.value,
        "unread": waiting, "peers": peers(tx, agent),
        "inherited": _left_behind(tx, agent) if how in (mesh.Arrival.RETURN, mesh.Arrival.TAKEOVER) else 0,
    }  # fmt: skip


def _left_behind(tx: Tx, agent: Row) -> int:
    """What the session before was given and never acknowledged, read or not: it is the new session's to deal with."""
    row = tx.one("unacknowledged", agent=agent["id"])
    return row["waiting"] if row else 0


def peers(tx: Tx, agent: Row) -> list[str]:
    """Others who are here, in the order of their arrival: of many, those who came last. `who` lists everyone."""
    rows = (row for row in tx.all("newest_sessions", limit=LOOKED_AT) if row["id"] != agent["id"])
    live = (row for row in rows if is_live_row(tx, row))
    return [row["name"] for row in islice(live, PEERS)][::-1]


def is_live_row(tx: Tx, row: Row) -> bool:
    verdict = tx.liveness(row)
    return verdict is not None and is_live(verdict)


def new_name(tx: Tx) -> str:
    return naming.generate_name(
        tx.settings["names.theme"],
        tx.settings["names.words"],
        lambda n: tx.find_agent(n) is not None or bool(kept_for(tx, n)),
        tx.world.chance.below,
    )


# -- names that are kept for someone ---------------------------------------------------------------------------------


def kept_for(tx: Tx, name: str, me: Row | None = None) -> str:
    """Whom a name is kept for: the leader, an agent of the team's definition, or one that had it before; "" if it is
    free. `me` is the agent that wants it: its own names are no one else's."""
    if me is not None and names.key(name) == me["key"]:
        return ""
    leader = tx.leader()
    if leader and names.skeleton(name) == names.skeleton(leader):
        return f"the leader, {leader}"
    if tx.world.directory.is_defined(name) or _is_defined_here(tx, name):
        return "an agent of the team's definition"
    former = tx.one("former_name", key=names.key(name))
    return f"{former['name']}, which had it before" if former and (me is None or former["name"] != me["name"]) else ""


def _is_defined_here(tx: Tx, name: str) -> bool:
    found = tx.find_agent(name)
    row = tx.one("agent_terms", id=found["id"]) if found else None
    return bool(row and row["defined"])


def refuse_kept(tx: Tx, name: str, me: Row | None = None) -> None:
    """A name that is kept for someone is not given to another."""
    if whose := kept_for(tx, name, me):
        raise errors.NotYours(
            f"The name {name} is kept for {whose}.", "Choose another name, or leave it out to be given one.",
            code="NAME_KEPT", name=name,
        )  # fmt: skip


def _refuse_another(tx: Tx, name: str) -> None:
    """The leader's name, or one of the team's definition, is joined by whoever comes first, but not by a process that
    is another agent: a worker's program, say."""
    whose = kept_for(tx, name)
    other = next((each for each in _agents_above(tx) if names.key(each) != names.key(name)), "") if whose else ""
    if other:
        raise errors.NotYours(
            f"The name {name} is kept for {whose}; this process is {other}.",
            "Join from a terminal of your own, where no agent runs.", code="NAME_KEPT", name=name,
        )  # fmt: skip


def _agents_above(tx: Tx) -> list[str]:
    """The agents with a live session in the caller's process or above it."""
    processes = [*([tx.caller.process] if tx.caller.process else []), *tx.caller.lineage]
    bound = [
        row
        for pid, started in processes
        for row in tx.all("sessions_of_process", pid=pid, started=started, boot=tx.caller.boot, host=tx.caller.host)
    ]
    return [row["name"] for row in bound if row["ended_at"] is None and row["session"] == row["id"]]


def _goes_on(tx: Tx, agent: Row) -> bool:
    """Does the process that joined before join again, or, where none is known, the very session? The session of a
    worker was begun for it, with the process that its program runs below."""
    mine = tx.caller.process
    if mine is None:
        return tx.caller.session is not None and tx.caller.session == agent["session"]
    if agent["boot"] != tx.caller.boot or agent["host"] != tx.caller.host:
        return False
    bound = (agent["pid"], agent["started"])
    return mine == bound or (bound in tx.caller.lineage and tx.one("open_run_of", session=agent["session"]) is not None)


def bound_here(tx: Tx) -> str:
    if tx.caller.process is None:
        return ""
    pid, started = tx.caller.process
    rows = tx.all("sessions_of_process", pid=pid, started=started, boot=tx.caller.boot, host=tx.caller.host)
    current = [row["name"] for row in rows if row["ended_at"] is None and row["session"] == row["id"]]
    return current[0] if len(current) == 1 else ""


def leave(tx: Tx) -> dict[str, Any]:
    me = my_own_session(tx)
    tx.run("end_session", session=me["session"], reason="left")
    tx.run("agent_left", id=me["id"])
    endpoints.forget(tx, me, me["session"])
    _end_holds(tx, me, "left")
    tx.run("close_review_items", ref=f"agent:{me['id']}")  # how its session is asks nothing any more
    tx.event("leave", me["name"])
    waiting = sum(row["waiting"] for row in tx.all("pending_counts", agent=me["id"]))
    return {"name": me["name"], "unread": waiting}


def _end_holds(tx: Tx, agent: Row, because: str) -> None:
    if tx.all("holds_of_agent", agent=agent["id"]):
        from . import holding  # most who come and go hold nothing

        holding.end_session(tx, agent, because)


def my_agent(tx: Tx) -> Row:
    """The calling agent with a live session, or the refusal that says how to get one."""
    me = tx.me()
    if me["session"] is None or me["ended_at"] is not None:
        who = "You have" if me["name"] == names.PERSON else f"{me['name']} has"
        raise errors.Refused(f"{who} no session here.", "`rook join NAME` first.", code="NOT_JOINED")
    return me


def my_own_session(tx: Tx) -> Row:
    """What ends or renames a live session is done by that session; one that is gone anyone may clear away."""
    me = my_agent(tx)
    if is_live_row(tx, me) and not tx.is_mine(me):
        raise errors.NotYours(
            f"{me['name']} is live in another process.",
            f"`rook join {me['name']} --takeover` makes it yours first.",
            code="NOT_YOUR_SESSION",
        )
    return me


def rename(tx: Tx, name: Annotated[str, Arg("the new name", positional=True)]) -> dict[str, Any]:
    me = my_own_session(tx)
    name = names.check_new_name(name)
    refuse_kept(tx, name, me)
    taken = tx.find_agent(name)
    if taken is not None and taken["id"] != me["id"]:
        raise errors.NameTaken(
            f"{taken['name']} is another agent of this team.", "Choose a name that nobody has: `rook who --all`."
        )
    if name == me["name"]:
        raise errors.Refused(f"You are {name} already.", "`rook whois` shows how you are seen.", code="SAME_NAME")
    tx.run("rename_agent", id=me["id"], name=name, key=names.key(name))
    tx.run("forget_former_name", key=names.key(name))
    if names.key(name) != me["key"]:
        tx.run("keep_former_name", key=me["key"], agent=me["id"])
    tx.event("rename", name, target=me["name"], preview=f"{me['name']} is now {name}")
    tx.ring(me["name"])
    tx.beat()
    return {"name": name, "was": me["name"]}


def status(
    tx: Tx,
    note: Annotated[str | None, Arg("what you are doing; empty clears it", positional=True, metavar="TEXT")] = None,
    *,
    task: Annotated[str | None, Arg("the piece of work you hold; empty when done")] = None,
) -> dict[str, Any]:
    if note is None and task is None:
        return presence.seen(tx, tx.me())
    me = my_agent(tx)
    note = text.check_text(note, "the status")[:300] if note is not None else _note_of(tx, me)
    tx.run(
        "set_note",
        session=me["session"],
        note=note,
        task=None if task is None else text.check_text(task, "the task")[:300],
    )
    tx.event("status", me["name"], preview=text.one_line(note, 120))
    tx.beat()
    return presence.seen(tx, me)


def _note_of(tx: Tx, me: Row) -> str:
    row = tx.one("present_one", agent=me["id"])
    return row["note"] or "" if row else ""


def heartbeat(tx: Tx) -> dict[str, Any]:
    me = my_agent(tx)
    if not tx.run("heartbeat", session=me["session"]):
        raise mesh.fenced(me["name"], "ended")
    tx.keep_held()
    return {"name": me["name"], "lease_s": tx.settings["mesh.lease_s"]}


def activity(
    tx: Tx,
    kind: Annotated[str, Arg("what was done", positional=True, choices=ACTIVITY)],
    target: Annotated[str, Arg("the file, command or commit", positional=True)] = "",
    *,
    detail: Annotated[str, Arg("one line about it")] = "",
    tokens: Annotated[int, Arg("tokens used")] = 0,
) -> dict[str, Any]:
    if kind not in ACTIVITY:
        raise errors.BadInput(f"No activity {text.one_line(kind, 40)!r}.", f"One of: {', '.join(ACTIVITY)}.")
    if tokens < 0:
        raise errors.BadInput("Tokens can not be negative.", "Leave it out when unknown.")
    me = my_agent(tx)
    target = text.check_text(target, "the target")[:500]
    window = tx.settings.ms("mesh.recent_s")
    again = tx.one("same_activity", agent=me["id"], kind=kind, target=target, since=tx.now - 60_000)
    tx.run("forget_activity", agent=me["id"], before=tx.now - window)
    tx.run("note_activity", agent=me["id"], kind=kind, target=target)
    tx.run(
        "count_stats",
        session=me["session"],
        tool_calls=1,
        tokens=tokens,
        files_modified=int(kind == "edit" and again is None),
    )
    tx.keep_held()
    if kind in ("edit", "test", "commit") and (again is None or kind != "edit"):
        tx.event(kind, me["name"], target=target, preview=text.one_line(detail or target, 120))
    return {"name": me["name"], "kind": kind, "at": times.iso(tx.wall)}
