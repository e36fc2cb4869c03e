"""Results as a model reads them: few lines, ids first. What agents wrote is fenced, as everywhere."""

from collections.abc import Mapping
from typing import Any

from rookery.core import digest, errors, mail, text

LINE = 120
LISTED = 20
SHOWN = digest.DigestLimits(full=10, characters=1_500, priority=mail.Priority.LOW)


def joined(result: Mapping[str, Any]) -> str:
    waiting = result.get("unread", 0)
    return (
        f"You are {result['name']} in team {result['team']}. {waiting} unread: inbox."
        if waiting
        else (f"You are {result['name']} in team {result['team']}.")
    )


def people(result: Mapping[str, Any]) -> str:
    lines = [f"{each['name']} {each['status']}{_said(each)}" for each in result["agents"][:LISTED]]
    more = len(result["agents"]) - LISTED
    return "\n".join([*lines, *([f"and {more} more"] if more > 0 else [])]) or "Nobody is here."


def _said(agent: Mapping[str, Any]) -> str:
    parts = [agent[name] for name in ("role", "task", "message") if agent.get(name)]
    return f" ({text.one_line('; '.join(parts), LINE)})" if parts else ""


def sent(result: Mapping[str, Any]) -> str:
    told = "; ".join(f"{each['name']}: {each['how']}" for each in result["recipients"][:LISTED])
    return f"{result['id']} sent. {told}"


def letters(result: Mapping[str, Any]) -> str:
    shown = [{**each, "priority": mail.parse_priority(each["priority"])} for each in result["messages"]]
    counts: dict[str, int] = {}
    for each in result["messages"]:
        counts[each["priority"]] = counts.get(each["priority"], 0) + 1
    told = digest.render(result["agent"], shown, len(shown), counts, SHOWN)
    if not told:
        return "No unread mail."
    return told + ("There is more: ack these first.\n" if result["more"] else "")


def letter(card: Mapping[str, Any]) -> str:
    limits = SHOWN._replace(full=1, characters=100_000)
    shown = {**card, "priority": mail.parse_priority(card["priority"])}
    return digest.render(card["to"], [shown], 1, {card["priority"]: 1}, limits)


def acked(result: Mapping[str, Any]) -> str:
    return ", ".join(f"{each['id']} {each['state']}" for each in result["messages"])


def board(result: Mapping[str, Any]) -> str:
    lines = [task_line(task) for task in result["tasks"]]
    return "\n".join([*lines, *([f"more: after={result['next']}"] if result["next"] else [])]) or "No tasks."


def task_line(task: Mapping[str, Any]) -> str:
    holder = f", {task['owner']}" if task.get("owner") else ""
    why = f" ({text.one_line(task['why'], 60)})" if task.get("why") else ""
    return f"{task['id']} {task['status']}{holder}{why}: {text.one_line(task['title'], LINE)}"


def task(card: Mapping[str, Any]) -> str:
    facts = [task_line(card)]
    facts += [f"{name}: {', '.join(card[name])}" for name in ("deps", "resources") if card.get(name)]
    written = "\n\n".join(card[name] for name in ("description", "spec") if card.get(name))
    if written:
        facts.append(text.fence(text.cut(written, 4_000)[0]))
    result = card.get("result") or {}
    if result.get("summary"):
        shown = [f"{name}: {', '.join(each)}" for name, each in result.get("evidence", {}).items() if each]
        facts += ["Its result:", text.fence(text.cut("\n".join([result["summary"], *shown]), 4_000)[0])]
    return "\n".join(facts)


def claimed(result: Mapping[str, Any]) -> str:
    if result["task"] is None:
        return "Nothing is ready to be claimed."
    lease = result["lease"]
    return (
        f"You hold {result['taskId']} until {lease['expiresAt']} (epoch {lease['epoch']}); what you do renews it.\n"
        + (task(result["task"]))
    )


def noted(result: Mapping[str, Any]) -> str:
    return f"Noted on {result['id']}."


def progress(result: Mapping[str, Any]) -> str:
    done = sum(each["state"] == "done" for each in result["board"])
    return f"{result['id']}: {done} of {len(result['board'])} steps done."


def reported(result: Mapping[str, Any]) -> str:
    task = f" {result['task']} is {result['status']}." if result["task"] else ""
    judged = " It waits for a review." if result["review"] == "pending" else ""
    return f"{result['id']} reported {result['report']}.{task}{judged} Nothing is left to do."


def question(result: Mapping[str, Any]) -> str:
    return (
        f"{result['id']} was put before {result['askedOf']}. The answer comes by mail: end your turn and wait, and do "
        "nothing that depends on it."
    )


def decided(result: Mapping[str, Any]) -> str:
    return f"{result['id']} of {result['name']} is {result['state']}."


def spawned(result: Mapping[str, Any]) -> str:
    return f"{result['id']} ({result['name']}) will work on {result['task']}; it reports to you by mail."


def reserved(result: Mapping[str, Any]) -> str:
    shared = " (shared)" if result["mode"] == "shared" else ""
    line = f" In line for it: {', '.join(result['waiting'][:LISTED])}." if result["waiting"] else ""
    return f"Yours{shared} until {result['expiresAt']}, and longer while you work: {', '.join(result['paths'])}.{line}"


def released(result: Mapping[str, Any]) -> str:
    return f"Released: {', '.join(result['released'])}." if result["released"] else "You held nothing."


def asked(result: Mapping[str, Any]) -> str:
    return f"{result['escalation']} was put before the {result['level']}. The answer comes by mail: inbox."


def refusal(error: errors.RookError) -> str:
    return f"{error.code}: {error.message}{' ' + error.hint if error.hint else ''}"
