"""Watching over sessions: what is found out about them, who is told, and what is done about it. For a keeper.

`sessions` says whom to look at on this machine, `news` whether what was seen is worth a word, `report` writes it down.
Whether a process runs is looked at here, as everywhere; terminals, processor time and memory are the watcher's word.
Any number may watch: what was told is not told again, and mail about an agent comes no more often than a setting says,
however often it crashes.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

from rookery.core import errors, names, text, times, vitals
from rookery.core.docket import Rank
from rookery.core.presence import Liveness
from rookery.core.record import NamedTuple
from rookery.core.vitals import Action, Finding, Measure, Terminal
from rookery.store.port import Row

from . import endpoints, held, items, mesh
from .chasing import above_of
from .tx import WORKED, Tx
from .verbs import Arg

LOOK = 2_000
LATE_MS = 3_600_000  # a death that was noticed longer ago was told by whoever noticed it
REF = "agent:{}"  # what its review item is about
SEEN = Annotated[
    list[dict[str, Any]], Arg("of each session: `session`, `terminal`, `cpu`, `memory`, `successor` {pid, started}")
]


class Seen(NamedTuple):
    """One look at a session, by a process of its machine."""

    terminal: str = Terminal.UNKNOWN
    measure: Measure = Measure()
    successor: tuple[int, str] | None = None  # what runs in its terminal now, if its own process is gone


class Verdict(NamedTuple):
    row: Row
    found: Finding
    moved_at: int
    told: str  # what was said last of this session
    seen: Seen
    returns: bool = False  # it goes on in another process

    @property
    def is_news(self) -> bool:
        moved_then = self.row["moved_at"]
        return self.returns or vitals.is_news(self.found, self.told, moved_at=self.moved_at, moved_then=moved_then)

    @property
    def is_noticeable(self) -> bool:
        mine = self.row["seen_session"] == self.row["session"]
        before = Measure(self.row["cpu"], self.row["memory"]) if mine else Measure()
        return vitals.is_noticeable(before, self.seen.measure)


def limits(tx: Tx) -> vitals.Limits:
    ms = tx.settings.ms
    return vitals.Limits(ms("mesh.stuck_s"), ms("monitor.stalled_s"), ms("monitor.blocked_s"), ms("mesh.lease_s"))


# -- whom to look at -------------------------------------------------------------------------------------------------


def teams(tx: Tx) -> dict[str, Any]:
    """Teams of which an agent runs on this machine."""
    rows = tx.all("store_teams_watched", host=tx.world.host, since=tx.now - LATE_MS)
    return {"teams": [row["name"] for row in rows]}


def sessions(tx: Tx) -> dict[str, Any]:
    """Whom to look at, and where."""
    return {"sessions": [
        {
            "agent": row["name"], "session": row["session"], "pid": row["pid"], "started": row["started"],
            "dead": liveness(tx, row) is Liveness.DEAD, "terminal": json.loads(row["terminal"] or "{}"),
            "program": row["agent_program"] or row["program"], "cwd": row["cwd"],
        }
        for row in watched(tx)
    ]}  # fmt: skip


def watched(tx: Tx) -> Sequence[Row]:
    """Sessions of this machine with a process, and all that is known of each."""
    return tx.all("watched", host=tx.world.host, since=tx.now - LATE_MS, limit=LOOK)


def liveness(tx: Tx, row: Row) -> Liveness:
    """Of a session of this machine: what ran before the machine was started anew is gone."""
    if row["ended_at"] is not None or row["boot"] != tx.world.boot:
        return Liveness.DEAD
    return tx.liveness(row) or Liveness.ENDED


# -- what it means ---------------------------------------------------------------------------------------------------


def news(tx: Tx, seen: SEEN) -> dict[str, Any]:
    """The sessions of which something is worth writing down."""
    return {"sessions": [each.row["session"] for each in _verdicts(tx, seen) if each.is_news or each.is_noticeable]}


def report(tx: Tx, seen: SEEN) -> dict[str, Any]:
    """What was seen is written down where it says something new, told, and acted upon as the settings say."""
    told: dict[str, str] = {}
    for each in _verdicts(tx, seen):
        name = each.row["name"]
        if each.returns:
            told[name] = "attached"
            _return(tx, each)
        elif each.is_news:
            told[name] = each.found or "well"
            mailed = _found(tx, each) if each.found else _recovered(tx, each)
            _keep(tx, each, mailed)
        elif each.is_noticeable:
            _keep(tx, each, mailed=False)
    return {"told": told}


def _verdicts(tx: Tx, seen: Sequence[Mapping[str, Any]]) -> list[Verdict]:
    looks = {str(each.get("session", "")): _checked(each) for each in seen}
    law = limits(tx)
    rows = (row for row in watched(tx) if row["session"] in looks)
    return [verdict(tx, row, looks[row["session"]], law) for row in rows]


def verdict(tx: Tx, row: Row, seen: Seen, law: vitals.Limits) -> Verdict:
    told = row["finding"] if row["seen_session"] == row["session"] else ""
    # A terminal that was gone stays so while nobody can tell: a server that does not answer is no news.
    terminal = seen.terminal or (Terminal.GONE if told == Finding.TERMINAL_GONE else Terminal.UNKNOWN)
    moved_at = max(row["activity_at"], row["phase_at"])
    facts = vitals.Facts(
        liveness(tx, row), moved_at, terminal, row["phase"], bool(row["task"] or row["held"]), cpu=seen.measure.cpu
    )
    if not facts.has_task and facts.liveness is Liveness.LIVE and tx.now - moved_at > law.stalled_ms:
        facts = facts._replace(owes_answer=bool(tx.all("asking_mail", agent=row["id"], limit=1)))
    found = vitals.finding(facts, tx.now, law)
    if seen.measure.cpu is None and not found and told in vitals.QUIET and moved_at <= row["moved_at"]:
        found = Finding(told)  # whoever begins to watch does not know better than who did before
    if found is Finding.DIED and row["supervised"]:
        return Verdict(row, Finding(told), moved_at, told, seen)  # a worker's end is its supervisor's to tell
    returns = found is Finding.DIED and bool(seen.successor) and _may_return(tx, row, seen.successor)
    return Verdict(row, found, moved_at, told, seen, returns)


def as_it_stands(tx: Tx, row: Row) -> Finding:
    """What would be found now, as far as that can be told without looking at its terminal again."""
    mine = row["seen_session"] == row["session"]
    return verdict(tx, row, Seen(measure=Measure(row["cpu"] if mine else None)), limits(tx)).found


def _checked(look: Mapping[str, Any]) -> Seen:
    terminal = look.get("terminal", "")
    if terminal not in tuple(Terminal):
        raise errors.BadInput(f"No state {text.quoted(str(terminal))} of a terminal.", "lives, gone, or nothing.")
    return Seen(terminal, Measure(_number(look, "cpu"), _number(look, "memory")), _process(look.get("successor")))


def _number(look: Mapping[str, Any], name: str) -> int | None:
    value = look.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 50:
        raise errors.BadInput(f"{name} is no number.", "A whole number, or leave it out.")
    return value


def _process(value: Any) -> tuple[int, str] | None:
    if value is None:
        return None
    given: Mapping[str, Any] = cast("Any", value) if isinstance(value, Mapping) else {}
    pid, started = given.get("pid"), given.get("started")
    if not isinstance(pid, int) or not isinstance(started, str) or pid <= 0:
        raise errors.BadInput("successor is no process.", "{pid, started}.")
    return pid, started


# -- it goes on ------------------------------------------------------------------------------------------------------


def _may_return(tx: Tx, row: Row, process: tuple[int, str] | None) -> bool:
    """Only a process that runs and is nobody yet; and nobody's place is taken by it."""
    if process is None or not tx.settings["monitor.reattach"] or row["boot"] != tx.world.boot:
        return False
    if row["left_at"] is not None or tx.world.prober.state(*process) != "running":
        return False
    pid, started = process
    return not tx.all("sessions_of_process", pid=pid, started=started, boot=row["boot"], host=row["host"])


def _return(tx: Tx, each: Verdict) -> None:
    row, process = each.row, each.seen.successor
    assert process is not None
    agent = tx.find_agent(row["name"])
    assert agent is not None
    session = mesh.return_in(tx, agent, row, process)
    if row["agent_program"]:
        tx.run("begin_turns", session=session, host=row["agent_program"], host_id="", transcript="")
    address = json.loads(row["terminal"] or "{}")
    if address:
        endpoints.register(tx, agent, session, endpoints.TERMINAL, address, row["host"], row["boot"])
    preview = f"goes on in its terminal as process {process[0]}"
    tx.event("session.attached", row["name"], ref=session, preview=preview, before=row["session"])
    items.close(tx, REF.format(row["id"]))
    tx.run(
        "put_vitals", agent=row["id"], session=session, cpu=None, memory=None, finding="", moved_at=0,
        mailed=row["mailed"], mailed_at=row["mailed_at"],
    )  # fmt: skip


# -- telling ---------------------------------------------------------------------------------------------------------


def _keep(tx: Tx, each: Verdict, mailed: bool) -> None:
    cpu, memory = each.seen.measure
    last = (each.found, tx.now) if mailed else (each.row["mailed"], each.row["mailed_at"])
    tx.run(
        "put_vitals", agent=each.row["id"], session=each.row["session"], cpu=cpu, memory=memory, finding=each.found,
        moved_at=each.moved_at, mailed=last[0], mailed_at=last[1],
    )  # fmt: skip


def _recovered(tx: Tx, each: Verdict) -> bool:
    row = each.row
    tx.event("session.well", row["name"], ref=row["session"], preview=f"no longer {each.told}")
    items.close(tx, REF.format(row["id"]))
    return False


def _found(tx: Tx, each: Verdict) -> bool:
    """The event, the review item, and what the settings say; whether mail was sent."""
    row, said = each.row, words(tx, each)
    if each.found is not Finding.STUCK:
        tx.event(f"session.{each.found}", row["name"], ref=row["session"], preview=said)
    elif not row["stuck_told"]:  # a sweep may have
        tx.event("stuck", row["name"], ref=row["session"], preview=said)
        tx.run("told_stuck", session=row["session"])
    above = _above(tx, row)
    _ask(tx, each, above, said)
    act = vitals.action(tx.settings["monitor.action"], each.found)
    passed = _rerouted(tx, row, said) if act is Action.REROUTE else ""
    if act is Action.NONE or _was_mailed(tx, each):
        return False
    if act is Action.NUDGE:
        _nudge(tx, row, said)
    else:
        tail = "\n\n".join(filter(None, (passed, _advice(each))))
        held.tell(tx, [above["name"]], f"{row['name']}: {said}", tail, tags=("monitor",))
    return True


def _was_mailed(tx: Tx, each: Verdict) -> bool:
    """The same about the same agent, a moment ago: a crash loop fills no mailbox."""
    lately = tx.now - each.row["mailed_at"] < tx.settings.ms("monitor.again_s")
    return lately and each.row["mailed"] == each.found


def _above(tx: Tx, row: Row) -> Row:
    """The leader, if it lives; otherwise the person."""
    found = above_of(tx, row)
    if found is not None and (found["name"] == names.PERSON or tx.liveness(found) is Liveness.LIVE):
        return found
    return tx.find_agent(names.PERSON) or tx.make_agent(names.PERSON)


def words(tx: Tx, each: Verdict) -> str:
    """What is the matter, in a few words."""
    row, quiet = each.row, times.ago(tx.now - each.moved_at)
    task = text.one_line(row["held"] or row["task"] or "", 80)
    gate = text.one_line(row["gate"], 40)
    return {
        Finding.DIED: f"its process is gone{f', with {task}' if task else ''}",
        Finding.TERMINAL_GONE: "its terminal is closed, and its process still runs",
        Finding.STOPPED: f"its process was stopped {quiet} ago or more",
        Finding.BLOCKED: f"a dialog{f' ({gate})' if gate else ''} has waited {quiet} for a person",
        Finding.STUCK: f"silent for {quiet} with: {task}",
        Finding.STALLED: f"idle for {quiet} with {task or 'mail to answer'}",
        Finding.WELL: "well",
    }[each.found]


def _advice(each: Verdict) -> str:
    row = each.row
    name, known = row["name"], f"`rook whois {row['name']}` shows all that is known."
    return {
        Finding.DIED: f"Its mail waits, and what it held is free. {known} `rook join {name}` in a new session of its "
        "program goes on under its name.",
        Finding.TERMINAL_GONE: f"Nobody sees what process {row['pid']} does, and nothing can be typed there. {known}",
        Finding.STOPPED: f"It can neither read nor renew what it holds. `kill -CONT {row['pid']}`, or `fg` where it "
        f"was suspended, lets it go on. {known}",
        Finding.BLOCKED: f"Nobody answers dialogs but a person: look at its terminal. {known}",
        Finding.STUCK: f"It may be at work on something long. {known} `rook wake {name}` tries to reach it.",
        Finding.STALLED: f"It rests, and has work. {known} `rook send {name} -s ...` wakes it where it can be woken.",
        Finding.WELL: known,
    }[each.found]


def _ask(tx: Tx, each: Verdict, above: Row, said: str) -> None:
    """One open item an agent: what changed takes the place of what was, and a repeat adds nothing."""
    row, ref = each.row, REF.format(each.row["id"])
    title = f"{row['name']}: {each.found}"
    opened = tx.one("open_review_item", ref=ref)
    if opened and opened["title"] == title:
        return
    items.close(tx, ref)
    kind = "failure" if each.found in vitals.LASTING else "question"
    worker = tx.one("worker_of_agent", agent=row["id"]) if tx.flags & WORKED else None
    items.ask(tx, items.Asked(
        kind, ref, title, above["id"], f"{row['name']} stays as it is, and so does what it holds",
        detail=f"{said}\n\n{_advice(each)}", worker=worker["id"] if worker else "",
        rank=Rank.FAILED if kind == "failure" else Rank.NEEDS_INPUT,
    ), by=row["id"])  # fmt: skip


def _nudge(tx: Tx, row: Row, said: str) -> None:
    """A word to the agent itself, which wakes it as any mail does."""
    work = f"are still on {text.one_line(row['held'], 40)}" if row["held"] else "have work"
    held.tell(
        tx, [row["name"]], f"Nothing was heard of you: {said}",
        f"If you {work}: go on, or say what is in the way: `rook status TEXT`, `rook task block`, `rook task release`. "
        "Mail that asks you something: `rook inbox --open`.", tags=("monitor",),
    )  # fmt: skip


def _rerouted(tx: Tx, row: Row, said: str) -> str:
    from . import rerouting  # few teams want it

    return rerouting.reroute(tx, row, said)
