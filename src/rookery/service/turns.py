"""An agent's turn as hooks see it: what is put before the agent, when its turn may not end yet, and what it did.

What was put before an agent is written down by `told`, after it was: whoever dies between the two finds the same mail
offered again. Two cursors say how far that went, so a look costs what is new and not what was ever sent:

    handed_to   mail up to here was put before this session. A new session begins at the beginning (H5)
    held_to     mail up to here has kept a turn from ending. No message does that twice, so nothing is held for ever

Where the program is (its phase) is written down with it, and only when it changes: a step of a busy agent writes no
more than it did, and a question before a tool writes nothing at all. When a session becomes idle the bell rings.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from rookery.core import digest, errors, hooks, mail, names, text
from rookery.core.delivery import KEEPER
from rookery.core.hooks import Moment, Phase
from rookery.core.record import NamedTuple
from rookery.store.port import Row

from . import cards, decide, endpoints, mailbox, mesh, registered, transcripts, watching
from .tx import LOADED, REACHED, Tx
from .verbs import Arg

LOOK = 1_000  # deliveries looked at in one go
SHOWN = 20  # of them read with their text; how many fit is the digest's to say
HANDED = "handed-over"
_NO_TURN: Row = {"handed_to": 0, "held_to": 0, "holds": 0, "watch": "", "phase": "", "gate": ""}


class Waiting(NamedTuple):
    rows: Sequence[Row]  # most urgent first
    upto: int  # everything up to this message is among them, or was no longer open


# -- how it begins ---------------------------------------------------------------------------------------------------


def start(
    tx: Tx,
    host: Annotated[str, Arg("the agent program")],
    *,
    host_id: Annotated[str, Arg("its own name for the session")] = "",
    transcript: Annotated[str, Arg("where it writes the session down")] = "",
    name: Annotated[str, Arg("the agent; left out: who it was before, or a new one")] = "",
    model: Annotated[str, Arg("the model it speaks for")] = "",
    branch: Annotated[str, Arg("the git branch")] = "",
    terminal: Annotated[dict[str, Any] | None, Arg("where it is shown", hidden=True)] = None,
    ways: Annotated[dict[str, Any] | None, Arg("how its program is called for it: queue, resume", hidden=True)] = None,
) -> dict[str, Any]:
    """The agent joins, or goes on under the name that this process, or this session of its program, had before."""
    before = _before(tx, host, host_id) if host_id and not mesh.is_nested(tx) else ""
    known = name or mesh.bound_here(tx) or before
    facts = {"program": host, "model": model, "branch": branch}
    joined = mesh.enter(tx, known, facts, resume=True, terminal=terminal, by_hook=True)
    told = {way: address for way, address in (ways or {}).items() if way in (endpoints.QUEUE, endpoints.RESUME)}
    decide.note_program(tx, "hook")
    endpoints.register_told(tx, tx.agent(joined["name"]), joined["session"], told)
    me, host, host_id = tx.agent(joined["name"]), host[:60], host_id[:200]
    if tx.is_local(me) and not registered.is_local(tx):
        return joined  # what a process of this machine registered stays as it is
    record = transcripts.own_record(tx, me, host, host_id, transcript)
    tx.run("begin_turns", session=joined["session"], host=host, host_id=host_id, transcript=record)
    transcripts.opened(tx, me, joined["session"], host, host_id, record)
    return joined


def program(tx: Tx, how: Annotated[str, Arg("how it was seen", choices=("hook", "mcp"))] = "hook") -> dict[str, Any]:
    """The process that calls belongs to an agent program, whether or not that program has a name in the team."""
    decide.note_program(tx, how if how in ("hook", "mcp") else "hook")
    return {"noted": tx.caller.process is not None}


def whose(
    tx: Tx,
    host: Annotated[str, Arg("the agent program")],
    host_id: Annotated[str, Arg("its own name for the session")],
) -> dict[str, Any]:
    """Who a session of an agent program is, and the folder in which a process of this machine registered it; without
    such a session, that of the caller. For hooks that come without a process."""
    row = tx.one("agent_of_host", host=host, host_id=host_id) if host_id else None
    agent = tx.find_agent(row["name"]) if row else tx.me()
    return {"agent": row["name"] if row else "", "folder": registered.folder_of(tx, agent) if agent else ""}


def _before(tx: Tx, host: str, host_id: str) -> str:
    """Who the session was when the program ran last; not if that agent lives elsewhere now."""
    row = tx.one("agent_of_host", host=host, host_id=host_id)
    agent = tx.find_agent(row["name"]) if row else None
    return agent["name"] if agent and not mesh.is_live_row(tx, agent) else ""


# -- what waits ------------------------------------------------------------------------------------------------------


def offer(
    tx: Tx,
    moment: Annotated[str, Arg("where its turn is", choices=tuple(Moment))],
    *,
    limit: Annotated[int, Arg("characters of text at most")] = 4_000,
    named: Annotated[list[str] | None, Arg("references that its prompt names")] = None,
) -> dict[str, Any]:
    """What to put before the calling agent now. Nothing is written down: `told` does that when it was."""
    return _offer(tx, _moment(moment), checked(limit), named or [])


def step(
    tx: Tx,
    kind: Annotated[str, Arg("what was done", choices=mesh.ACTIVITY)],
    target: Annotated[str, Arg("the file, command or tool")] = "",
    *,
    call: Annotated[str, Arg("the program's own name for this use of a tool")] = "",
    limit: Annotated[int, Arg("characters of text at most")] = 4_000,
    inner: Annotated[bool, Arg("by an agent inside the program, whose turn is not the session's")] = False,
) -> dict[str, Any]:
    """A tool was used: that is written down, and what waits is offered."""
    me = tx.me()
    if _is_agent(tx, me) and me["session"] is not None and me["ended_at"] is None:
        mesh.activity(tx, kind, target)
        if not inner:
            _enter(tx, me, Phase.BUSY)
    return _offer(tx, Moment.AFTER, checked(limit)) | {"watched": watching.watched(tx, me, call)}


def _offer(tx: Tx, moment: Moment, limit: int, named: Sequence[str] = ()) -> dict[str, Any]:
    me = tx.me()
    told: dict[str, Any] = {"agent": me["name"], "moment": moment.value, "text": "", "shown": [], "upto": 0,
                            "hold": False, "settle": False, "nudge": False, "phase": None}  # fmt: skip
    is_here = me["session"] is not None and me["ended_at"] is None
    if moment is Moment.PROMPT and not is_here and tx.is_new_here():
        told["absent"] = True  # its program began before anyone could be told so: it joins now, where it should
    if not _is_agent(tx, me):
        return told  # the person's mail is not for whatever program runs without a name
    turn = turn_of(tx, me)
    if is_here:
        told["phase"] = turn["phase"]
        if turn["watch"] and moment in (Moment.STOP, Moment.PROMPT):
            told["watched"] = watching.watched_later(tx, me)
    if moment is Moment.START:
        return _with_loaded(tx, me, moment, told | _greeting(tx, me, limit), min(limit, hooks.GREETING_LIMIT))
    if moment is not Moment.STOP:
        found = told | summed(tx, me, fresh(tx, me, turn["handed_to"]), limit)
        return _with_loaded(tx, me, moment, found, limit, named)
    waiting = _holding(tx, me, turn)
    if not waiting.rows:
        return told | (_nudge(tx, me) or {"settle": turn["holds"] > 0})
    return told | summed(tx, me, waiting, limit) | {"hold": True}


def _with_loaded(
    tx: Tx, me: Row, moment: Moment, told: dict[str, Any], limit: int, named: Sequence[str] = ()
) -> dict[str, Any]:
    """Below its mail, what it has loaded, as far as there is room."""
    if not tx.flags & LOADED:
        return told
    from . import loading  # few teams load anything

    found = loading.offered(tx, me, moment, named, limit - len(told["text"]) - 2)
    return told | found | {"text": "\n\n".join(filter(None, (told["text"].rstrip(), found["text"])))} if found else told


def _nudge(tx: Tx, me: Row) -> dict[str, Any]:
    """A worker whose turn ends without a report is told how to make one, once."""
    worker = tx.one("worker_of_agent", agent=me["id"])
    if worker is None:
        return {}
    from rookery.core import protocol as law  # few agents are workers

    from . import protocol

    if not protocol.is_silent(tx, worker):
        return {}
    judges = worker["task"] if worker["role"] == "review" else ""
    return {"text": law.nudge(worker["id"], judges), "hold": True, "nudge": True}


def _is_agent(tx: Tx, me: Row) -> bool:
    return me["name"] != names.PERSON and bool(me["id"])


def turn_of(tx: Tx, me: Row) -> Row:
    return tx.one("turn", session=key_of(me)) or _NO_TURN


def key_of(agent: Row) -> str:
    """Whose cursors these are: its session's, or, of an agent that never had one, its own."""
    return agent["session"] or f"agent:{agent['id']}"


def fresh(tx: Tx, me: Row, after: int) -> Waiting:
    """Unread mail that this session has not been shown."""
    if not after:
        return Waiting(tx.all("inbox_unread", agent=me["id"], limit=LOOK), newest(tx, me))
    rows = tx.all("mail_after", agent=me["id"], after=after, limit=LOOK)
    return Waiting(rows, _looked_at(tx, me, after))


def _holding(tx: Tx, me: Row, turn: Row) -> Waiting:
    """What keeps a turn from ending: mail nobody has shown it, and what is urgent or asks and was not dealt with."""
    rule = tx.settings["hook.hold"]
    if rule == "off" or turn["holds"] >= tx.settings["hook.holds"]:
        return Waiting((), 0)
    asked = pressing(tx, me, turn["held_to"])
    new = fresh(tx, me, turn["handed_to"])
    seen = {row["n"] for row in asked}
    rows = [*asked, *(row for row in new.rows if rule == "all" and row["n"] not in seen)]
    return Waiting(sorted(rows, key=lambda row: (-row["priority"], row["n"])), new.upto or newest(tx, me))


def pressing(tx: Tx, me: Row, after: int) -> Sequence[Row]:
    """Open mail after a message that is urgent or asks, and was not answered."""
    urgent = int(mail.Priority.URGENT)
    if not after:
        return tx.all("unanswered", agent=me["id"], urgent=urgent, limit=LOOK)
    return tx.all("unanswered_after", agent=me["id"], after=after, urgent=urgent, limit=LOOK)


def newest(tx: Tx, me: Row) -> int:
    row = tx.one("newest_delivery", agent=me["id"])
    return row["n"] or 0 if row else 0


def _looked_at(tx: Tx, me: Row, after: int) -> int:
    row = tx.one("last_looked_at", agent=me["id"], after=after, limit=LOOK)
    return row["n"] or after if row else after


def summed(tx: Tx, me: Row, waiting: Waiting, limit: int, file: str = "") -> dict[str, Any]:
    """The most urgent with their text, as many as there is room for; the others are counted. `file`: where all of a
    message would lie, with {id} in it."""
    if not waiting.rows:
        return {}
    cut = [_card(tx, row) for row in waiting.rows[:SHOWN]]
    if file:
        cut = [card | {"file": file.replace("{id}", card["id"])} for card in cut]
    counts: dict[str, int] = {}
    for row in waiting.rows:
        level = mail.Priority(row["priority"]).name.lower()
        counts[level] = counts.get(level, 0) + 1
    text, shown = digest.fitted(me["name"], cut, len(waiting.rows), counts, limit)
    return {"text": text, "shown": [card["id"] for card in cut[:shown]], "upto": waiting.upto}


def _card(tx: Tx, row: Row) -> dict[str, Any]:
    return cards.with_perspectives(tx, cards.card(tx, row["n"], row)) | {"priority": row["priority"]}


def _greeting(tx: Tx, me: Row, limit: int) -> dict[str, Any]:
    """Who the agent is, what it holds, who is here, what the team asks of everyone, and its mail."""
    limit = min(limit, hooks.GREETING_LIMIT)
    held = [{"id": row["id"], "title": row["title"]} for row in tx.all("held_titles", agent=me["id"], limit=5)]
    words = hooks.greeting(me["name"], tx.team, me["role"], held, mesh.peers(tx, me), tx.settings["hook.conventions"])
    waiting = fresh(tx, me, 0)
    room = limit - len(words) - 2
    found = summed(tx, me, waiting, room)
    text = f"{words}\n\n{found['text']}" if found.get("text") else words
    return {**found, "text": text, "upto": waiting.upto}


# -- what was put before it ------------------------------------------------------------------------------------------


def told(
    tx: Tx,
    moment: Annotated[str, Arg("where its turn was", choices=tuple(Moment))],
    *,
    shown: Annotated[list[str] | None, Arg("the messages that were shown")] = None,
    upto: Annotated[int, Arg("`upto` of what was offered")] = 0,
    hold: Annotated[bool, Arg("a turn was kept from ending by it")] = False,
    nudge: Annotated[bool, Arg("a worker was told that it ended its turn without a report")] = False,
    chips: Annotated[list[str] | None, Arg("references whose lines were shown")] = None,
    used: Annotated[list[str] | None, Arg("references that were shown whole")] = None,
    channel: Annotated[str, Arg("how it was shown")] = "hook",
    phase: Annotated[str | None, Arg("where the program is by now", choices=tuple(Phase))] = None,
) -> dict[str, Any]:
    """Mail was put before the calling agent, in its own program: its senders may know, and it is not offered again."""
    where = _moment(moment)
    entered = None if phase is None else _phase(phase)
    me = mesh.my_agent(tx)
    if len(shown or []) > SHOWN or upto < 0:
        raise errors.BadInput(f"At most {SHOWN} messages are shown at once.", "Tell what was offered, unchanged.")
    turn = turn_of(tx, me)
    holds = turn["holds"] + 1 if hold else 0 if where is Moment.STOP else turn["holds"]
    upto = min(upto, newest(tx, me))
    tx.run("hand_over", session=me["session"], handed_to=upto, held_to=upto if hold else 0, holds=holds)
    if tx.flags & REACHED:
        tx.run("dead_reached", agent=me["id"], upto=upto)
    if entered is not None:
        _enter(tx, me, entered)
    if nudge:
        _nudged(tx, me)
    if chips or used:
        from . import loading

        loading.told(tx, me, where, chips or [], used or [])
    done = [id for id in dict.fromkeys(shown or []) if handed(tx, me, id, f"{channel}:{where.value}")]
    announce(tx, me, f"{channel}:{where.value}", turn["handed_to"], upto)
    tx.beat()
    return {"agent": me["name"], "handed_over": done, "holds": holds}


def _nudged(tx: Tx, me: Row) -> None:
    worker = tx.one("worker_of_agent", agent=me["id"])
    if worker is not None and tx.run("nudged", id=worker["id"]):
        tx.event("worker.nudged", names.SYSTEM, target=me["name"], ref=worker["id"], preview="ended a turn silently")


def enter(
    tx: Tx,
    phase: Annotated[str, Arg("busy, idle, blocked, or empty when its session is over", choices=tuple(Phase))],
    *,
    gate: Annotated[str, Arg("the dialog that it is blocked on, in a word")] = "",
) -> dict[str, Any]:
    """Where the calling agent's program is, as it says itself."""
    entered = _phase(phase)
    me = mesh.my_agent(tx)
    changed = _enter(tx, me, entered, text.one_line(gate, 40))
    tx.beat()
    return {"agent": me["name"], "phase": entered.value, "changed": changed}


def _enter(tx: Tx, me: Row, phase: Phase, gate: str = "") -> bool:
    """Whether that is news. Whoever waits for the agent to be idle hears of it."""
    changed = bool(tx.run("set_phase", session=me["session"], phase=phase.value, gate=gate))
    if changed and phase is Phase.IDLE:
        tx.ring(me["name"])
        tx.ring(KEEPER)
    return changed


def _phase(word: str) -> Phase:
    try:
        return Phase(word)
    except ValueError:
        raise errors.BadInput(f"There is no phase {text.quoted(word)}.", "busy, idle, blocked, or nothing.") from None


def handed(tx: Tx, me: Row, id: str, channel: str) -> bool:
    """A message was put before an agent with its text: its receipt says so."""
    message = tx.one("message_by_id", id=id)
    if message is None or tx.one("delivery", agent=me["id"], message=message["n"]) is None:
        return False
    mailbox.record(tx, me, message, "hand", HANDED, channel=channel[:60])
    return True


def announce(tx: Tx, me: Row, channel: str, after: int, upto: int) -> int:
    """Mail that a text only counts was not handed over, and its receipt says that; how many there are."""
    found = tx.one("unannounced", agent=me["id"], after=after, upto=upto) if upto > after else None
    if not found or not found["waiting"]:
        return 0
    seq = tx.event("mail.announced", names.SYSTEM, target=me["name"], preview=f"{found['waiting']} by {channel}")
    return tx.run("announce", agent=me["id"], after=after, upto=upto, seq=seq, at=tx.wall, channel=channel[:60])


def _moment(word: str) -> Moment:
    try:
        return Moment(word)
    except ValueError:
        raise errors.BadInput(f"There is no moment {word[:40]!r}.", f"One of: {', '.join(Moment)}.") from None


def checked(limit: int) -> int:
    if not 400 <= limit <= 100_000:
        raise errors.BadInput(f"A limit of {limit} is out of range.", "400 to 100000 characters.")
    return limit
