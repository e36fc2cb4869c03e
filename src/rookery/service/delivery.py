"""Mail that goes to its reader: what waits for whom, by which way, and what came of it. For a keeper.

`due` looks, `own` makes one keeper at a time the one that delivers to an agent, `offer` is asked right before the text
is put somewhere, and `done` or `failed` write down what happened, after it did. Whoever dies in between leaves the mail
pending: it is handed over again, once, and carries the id that tells repeats. How far mail was put before a session is
kept by `turns`, for hooks and for keepers alike.
"""

import json
from collections.abc import Sequence
from typing import Annotated, Any

from rookery.core import delivery, digest, errors, extras, names, presence, text
from rookery.core.delivery import Channel, Circuit, Standing
from rookery.store.port import Row

from . import cards, dead, mailbox, turns
from . import ways as ways_to
from .tx import REACHED, Tx
from .verbs import Arg

LOOK = 1_000
AGENTS = 500
HANDED = turns.HANDED
CHANNELS = tuple(Channel)


# -- what waits ------------------------------------------------------------------------------------------------------


def due(
    tx: Tx, owner: Annotated[str, Arg("who would deliver")], *, agent: Annotated[str, Arg("only this one")] = ""
) -> dict[str, Any]:
    """What can be handed over from here now, and when to look again."""
    if not tx.flags & REACHED:
        return {"due": [], "next_ms": None}
    only = tx.agent(agent)["id"] if agent else 0
    law, found, waits = ways_to.limits(tx), list[dict[str, Any]](), list[int]()
    for row in tx.all("reachable", agent=only, limit=AGENTS):
        pending = tx.one("oldest_pending", agent=row["id"], after=row["handed_to"], limit=LOOK)
        if pending is None or not pending["waiting"]:
            continue
        ends = {each["channel"]: each for each in tx.all("endpoints_of", agent=row["id"]) if _may_wake(tx, row, each)}
        standing, extra = standing_of(tx, row), _extra(tx, row)
        if extra["interrupt"] and standing.phase == "busy":
            standing = standing._replace(phase="")  # its hooks are not waited for
        choice = delivery.chosen(
            [ways_to.way_of(tx, each, row) for each in ends.values()], standing,
            waited_ms=tx.now - _since(row, pending), now=tx.now, limits=law,
        )  # fmt: skip
        if choice.channel and not tx.one("other_owner", agent=row["id"], owner=owner):
            found.append(_job(row, ends[choice.channel], standing, pending) | extra)
        elif choice.wait_ms is not None or choice.channel:
            waits.append(choice.wait_ms or law.first_ms)
    return {"due": found, "next_ms": min(waits, default=None)}


def _since(row: Row, pending: Row) -> int:
    """When it came, or when the program came to rest: what works by itself can not begin before that."""
    return max(pending["since"], row["phase_at"] if row["phase"] == "idle" else 0)


def _job(row: Row, end: Row, standing: Standing, pending: Row) -> dict[str, Any]:
    return {
        "agent": row["name"], "channel": end["channel"], "address": json.loads(end["address"]),
        "program": row["program"] or row["ran"], "live": standing.live, "pid": row["pid"], "started": row["started"],
        "phase": row["phase"], "gate": row["gate"], "waiting": pending["waiting"], "transcript": row["transcript"],
    }  # fmt: skip


def _may_wake(tx: Tx, row: Row, end: Row) -> bool:
    """What wakes an agent program is the same by whichever way it is woken; one that said goodbye is not woken."""
    rule = tx.settings["hook.wake"]
    if end["channel"] not in delivery.OF_A_PROGRAM:
        return True
    if rule == "all" or row["left_at"] is not None:
        return row["left_at"] is None
    return rule == "urgent" and bool(turns.pressing(tx, row, row["handed_to"]))


def _extra(tx: Tx, row: Row) -> dict[str, bool]:
    """What the senders of waiting mail ask for besides, as far as the settings allow it at all."""
    allowed = {"clear": tx.settings["clear_before"], "interrupt": tx.settings["delivery.interrupt"]}
    if not any(allowed.values()):
        return allowed
    waiting = turns.fresh(tx, row, row["handed_to"]).rows[: turns.SHOWN]
    contexts = [cards.card(tx, each["n"], None)["context"] for each in waiting]
    asked = {"clear": any(map(extras.clear_before, contexts)), "interrupt": any(map(extras.interrupt, contexts))}
    return {name: allowed[name] and asked[name] for name in allowed}


def standing_of(tx: Tx, row: Row) -> Standing:
    return Standing(bool(row["program"]), row["phase"], tx.liveness(row) is presence.Liveness.LIVE)


def phase(tx: Tx, agent: Annotated[str, Arg("whom to look at")]) -> dict[str, Any]:
    """What hooks last told of an agent's session, and whether it lives: asked again and again while text waits."""
    row = tx.agent(agent)
    turn = turns.turn_of(tx, row)
    live = tx.liveness(row) is presence.Liveness.LIVE
    return {"phase": turn["phase"], "gate": turn["gate"], "live": live}


def offer(
    tx: Tx,
    agent: Annotated[str, Arg("whom it is for")],
    *,
    limit: Annotated[int | None, Arg("characters")] = None,
    file: Annotated[str, Arg("how its program is given the file of a long message, with {id} in it")] = "",
) -> dict[str, Any]:
    """The mail this session was not shown, as one text. Nothing is written down: `done` does that when it was put."""
    me = tx.agent(agent)
    turn = turns.turn_of(tx, me)
    room = min(limit or tx.settings["delivery.characters"], tx.settings["delivery.characters"])
    waiting = turns.fresh(tx, me, turn["handed_to"])
    told: dict[str, Any] = {"agent": me["name"], "text": "", "shown": [], "upto": 0, "count": len(waiting.rows)}
    told |= turns.summed(tx, me, waiting, max(400, room), file)
    named = [id for id in told["shown"] if file and file.replace("{id}", id) in told["text"]]
    return told | {"files": named}


def letter(
    tx: Tx, agent: Annotated[str, Arg("whom it is for")], id: Annotated[str, Arg("the message")]
) -> dict[str, Any]:
    """One message whole, as the text of a file. The file is a product: it can be made again as often as it is lost."""
    me, message = tx.agent(agent), tx.one("message_by_id", id=id)
    row = tx.one("delivery", agent=me["id"], message=message["n"]) if message else None
    if message is None or row is None:
        raise errors.UnknownName(f"{text.one_line(id, 40)} is not in {me['name']}'s mailbox.", "`rook inbox --all`.")
    return {"id": id, "text": digest.letter(me["name"], cards.card(tx, message["n"], row, chars=cards.WHOLE))}


# -- who delivers ----------------------------------------------------------------------------------------------------


def own(
    tx: Tx,
    agent: Annotated[str, Arg("to whom")],
    channel: Annotated[str, Arg("by which way", choices=CHANNELS)],
    owner: Annotated[str, Arg("who delivers")],
) -> dict[str, Any]:
    """Be the one that delivers there, or stay it; for as long as the lease says."""
    row, owner = tx.agent(agent), _owner(owner)
    until = tx.now + tx.settings.ms("delivery.lease_s")
    if tx.one("other_owner", agent=row["id"], owner=owner):
        return {"owned": False, "lease_ms": 0}
    owned = bool(tx.run("own_endpoint", agent=row["id"], channel=channel, owner=owner, until=until))
    return {"owned": owned, "lease_ms": tx.settings.ms("delivery.lease_s")}


def _owner(name: str) -> str:
    if not name or len(name) > 200:
        raise errors.BadInput("Whoever delivers has a name of 1 to 200 characters.", "Its machine, pid and start time.")
    return name


def leave(
    tx: Tx,
    agent: Annotated[str, Arg("to whom")],
    channel: Annotated[str, Arg("by which way", choices=CHANNELS)],
    owner: Annotated[str, Arg("who would have delivered")],
) -> dict[str, Any]:
    """Nothing waited any more, or whoever would have delivered goes down: another may."""
    row = tx.agent(agent)
    tx.ring(delivery.KEEPER)
    return {"left": bool(tx.run("leave_endpoint", agent=row["id"], channel=channel, owner=owner))}


def teams(tx: Tx) -> dict[str, Any]:
    """Teams in which anyone can be reached."""
    return {"teams": [row["name"] for row in tx.all("store_teams_with", flag=REACHED)]}


# -- what came of it -------------------------------------------------------------------------------------------------


def done(
    tx: Tx,
    agent: Annotated[str, Arg("to whom")],
    channel: Annotated[str, Arg("by which way", choices=CHANNELS)],
    owner: Annotated[str, Arg("who delivered")],
    shown: Annotated[list[str], Arg("`shown` of what was offered")],
    upto: Annotated[int, Arg("`upto` of what was offered")],
) -> dict[str, Any]:
    """It was handed over. True even if the lease ran out meanwhile: what happened is written down."""
    row = tx.agent(agent)
    if len(shown) > turns.SHOWN or upto < 0:
        raise errors.BadInput(f"At most {turns.SHOWN} messages are shown at once.", "Tell what was offered, unchanged.")
    before = turns.turn_of(tx, row)
    upto = min(upto, turns.newest(tx, row))
    handed = [id for id in dict.fromkeys(shown) if turns.handed(tx, row, id, channel)]
    rest = turns.announce(tx, row, channel, before["handed_to"], upto)
    tx.run("hand_over", session=turns.key_of(row), handed_to=upto, held_to=0, holds=before["holds"])
    tx.run("dead_reached", agent=row["id"], upto=upto)
    if _end(tx, row, channel)["open_until"]:
        tx.event("delivery.closed", names.SYSTEM, target=row["name"], preview=f"{channel} works again")
    tx.run("endpoint_worked", agent=row["id"], channel=channel)
    tx.run("leave_endpoint", agent=row["id"], channel=channel, owner=owner)
    return {"agent": row["name"], "handed_over": handed, "announced": rest, "channel": channel}


def _end(tx: Tx, row: Row, channel: str) -> Row:
    found = [end for end in tx.all("endpoints_of", agent=row["id"]) if end["channel"] == channel]
    if not found:
        raise errors.UnknownName(
            f"There is no way {text.quoted(channel)} to {row['name']}.", f"`rook whois {row['name']}` shows them."
        )
    return found[0]


def failed(
    tx: Tx,
    agent: Annotated[str, Arg("to whom")],
    channel: Annotated[str, Arg("by which way", choices=CHANNELS)],
    owner: Annotated[str, Arg("who tried")],
    reason: Annotated[str, Arg("why nothing was handed over", choices=tuple(delivery.Reason))],
    *,
    detail: Annotated[str, Arg("what was seen")] = "",
) -> dict[str, Any]:
    """It was not handed over: written on every message it was about, tried again later, or given up."""
    if reason not in tuple(delivery.Reason):
        raise errors.BadInput(f"No reason {text.quoted(reason)}.", f"One of: {', '.join(delivery.Reason)}.")
    row = tx.agent(agent)
    end, law = _end(tx, row, channel), ways_to.limits(tx)
    moment = reason in delivery.OF_THE_MOMENT
    circuit = Circuit(end["failures"], end["open_until"])
    after = circuit if moment else circuit.failed(tx.now, law)
    next_at = tx.now + delivery.backoff_ms(end["tries"] + 1, law)
    detail = text.one_line(detail, 300)
    tx.run(
        "endpoint_failed", agent=row["id"], channel=channel, tries=end["tries"] + 1, next_at=next_at,
        failures=after.failures, open_until=after.open_until, reason=reason, detail=detail,
    )  # fmt: skip
    if after.open_until and not circuit.open_until:
        tx.event("delivery.opened", names.SYSTEM, target=row["name"], preview=f"{channel}: {reason} {detail}".strip())
    handed_to = turns.turn_of(tx, row)["handed_to"]
    tx.run(
        "note_attempt", agent=row["id"], at=tx.wall, channel=channel, reason=reason, detail=detail,
        counts=int(not moment), after_n=handed_to, upto_n=turns.newest(tx, row),
    )  # fmt: skip
    tx.run("leave_endpoint", agent=row["id"], channel=channel, owner=owner)
    buried = dead.bury_worn_out(tx, row, handed_to, reason, law)
    return {"agent": row["name"], "next_ms": next_at - tx.now, "circuit": after.state(tx.now), "dead": buried}


def seen(
    tx: Tx,
    agent: Annotated[str, Arg("by whom")],
    ids: Annotated[list[str], Arg("the messages")],
    *,
    by: Annotated[str, Arg("what shows it")] = "transcript",
) -> dict[str, Any]:
    """The agent's own record of its session has them: proof that its model was given them."""
    me = tx.agent(agent)
    if len(ids) > turns.SHOWN:
        raise errors.BadInput(f"At most {turns.SHOWN} messages at once.", "Those that were shown together.")
    return {"agent": me["name"], "seen": [id for id in dict.fromkeys(ids) if _seen(tx, me, id, by)]}


def _seen(tx: Tx, me: Row, id: str, by: str) -> bool:
    message = tx.one("message_by_id", id=id)
    if message is None or tx.one("delivery", agent=me["id"], message=message["n"]) is None:
        return False
    known = {row["stage"] for row in tx.all("receipts_of_delivery", message=message["n"], agent=me["id"])}
    if "seen" in known or HANDED not in known:
        return False
    mailbox.record(tx, me, message, "see", "seen", channel=text.one_line(by, 60))
    return True


# -- ways that settings give -----------------------------------------------------------------------------------------


def ways(tx: Tx) -> dict[str, Any]:
    """Ways by command, webhook and notification, as this machine's settings have them now."""
    wanted = {(names.key(name), channel): (name, address) for name, channel, address in _configured(tx)}
    for row in tx.all("settled_endpoints", host=tx.world.host):
        if (names.key(row["name"]), row["channel"]) not in wanted:
            tx.run("drop_endpoint", agent=row["agent"], channel=row["channel"], session="")
    for (_, channel), (name, address) in wanted.items():
        agent = tx.find_agent(name) or tx.make_agent(names.check_address(name))
        tx.run(
            "set_endpoint", agent=agent["id"], channel=channel, address=json.dumps(address), host=tx.world.host,
            boot="",
        )  # fmt: skip
    if wanted:
        tx.raise_flags(REACHED)
    return {"ways": [[name, channel] for (_, channel), (name, _) in wanted.items()]}


def _configured(tx: Tx) -> Sequence[tuple[str, str, dict[str, Any]]]:
    found: list[tuple[str, str, dict[str, Any]]] = []
    for name, entry in tx.settings["reach"].items():
        if entry.get("command"):
            found.append((name, Channel.COMMAND, {"argv": entry["command"]}))
        if entry.get("webhook"):
            found.append((name, Channel.WEBHOOK, {"url": entry["webhook"]}))
    if tx.settings["delivery.notify"]:
        found.append((names.PERSON, Channel.NOTIFY, {"argv": tx.settings["delivery.notify"]}))
    return found


def wake(tx: Tx, name: Annotated[str, Arg("whom to wake", positional=True)]) -> dict[str, Any]:
    """Whatever waits for it is tried at once, whatever was before."""
    row = tx.agent(name)
    tx.run("endpoint_again", agent=row["id"])
    pending = tx.one("oldest_pending", agent=row["id"], after=turns.turn_of(tx, row)["handed_to"], limit=LOOK)
    tx.ring(delivery.KEEPER)
    tx.ring(row["name"])
    told = {"name": row["name"], "waiting": pending["waiting"] if pending else 0, "ways": ways_to.described(tx, row),
            "kept": False}  # fmt: skip
    tx.after.append(lambda heard: told.update(kept=delivery.KEEPER in heard))
    return told
