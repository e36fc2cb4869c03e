"""Tasks and plans for people."""

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rookery.core.text import one_line, plain

from .showing import clock, new_table, say

STATUS = {
    "blocked": "yellow",
    "pending": "",
    "in_progress": "cyan",
    "completed": "green",
    "failed": "bold red",
    "canceled": "dim",
}
CLAIM = {"completed": "green", "held": "cyan"}
NEXT = "`rook task done ID -m ...`, `progress`, `fail`, `release`; what you do renews the lease."
MARK = {"blocked": "◌", "pending": "○", "in_progress": "◐", "completed": "●", "failed": "✗", "canceled": "–"}


def _line(task: dict[str, Any]) -> list[Any]:
    colour = STATUS[task["status"]]
    told = task["why"] or (f"after {', '.join(task['deps'][:4])}" if task["status"] == "blocked" else "")
    return [
        Text(task["id"], "bold"),
        Text(f"{MARK[task['status']]} {task['status']}", colour),
        one_line(task["title"], 60),
        _owner(task),
        task["priority"] if task["priority"] != "normal" else "",
        Text(one_line(told, 40), "dim"),
    ]


def _owner(task: dict[str, Any]) -> Text:
    owner = Text(one_line(task["owner"] or "", 24))
    return owner.append(" (dead)", "bold red") if task["ownerState"] == "dead" else owner


def lines(result: dict[str, Any]) -> RenderableType:
    if not result["tasks"]:
        return say("No tasks. ", ("`rook task add TITLE` makes one.", "dim"))
    shown = new_table("id", "status", "title", "who", "priority", "")
    for task in result["tasks"]:
        shown.add_row(*_line(task))
    more = [Text(f"More: --after {result['next']}", "dim")] if result["next"] else []
    return Group(shown, *more)


def one(task: dict[str, Any]) -> RenderableType:
    head = say((task["id"], "bold"), "  ", (one_line(task["title"], 200), "bold"))
    facts = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    facts.add_column(style="dim")
    facts.add_column(overflow="fold")
    facts.add_row("status", Text(f"{MARK[task['status']]} {task['status']}", STATUS[task["status"]]))
    lease = task.get("lease")
    if lease:
        until = "dead: the task is free" if task["ownerState"] == "dead" else f"until {clock(lease['expiresAt'])}"
        facts.add_row("held by", f"{lease['holder']} {until} (epoch {lease['epoch']})")
    rows = {
        "why": task["why"],
        "assigned": "" if lease else task["owner"] or "",
        "waits for": ", ".join(task["deps"]),
        "waited for by": ", ".join(task.get("dependents", [])),
        "paths": ", ".join(task["resources"]),
        "review": task["review"],
        "plan": task["plan"] or "",
        "kind": task["kind"],
        "attempts": str(task["attempts"] or ""),
        "result": task["result"].get("summary", "") or task["result"].get("error", ""),
    }
    for name, value in rows.items():
        if value:
            facts.add_row(name, one_line(value, 300))
    parts: list[RenderableType] = [head, facts]
    for name in ("description", "spec"):
        if task[name]:
            parts.append(Padding(Text(plain(task[name])), (1, 2)))
    parts += [
        say((f"  {clock(n['at'])} {n['kind']} ", "dim"), (n["by"], "cyan"), f": {one_line(n['note'], 120)}")
        for n in task.get("notes", [])
    ]
    return Group(*parts)


def lease(result: dict[str, Any]) -> RenderableType:
    if result["taskId"] is None:
        return say("Nothing is ready. ", ("`rook task list` shows what waits, and for what.", "dim"))
    return Group(
        one(result["task"]),
        Text(NEXT, "dim"),
    )


def spec(result: dict[str, Any]) -> RenderableType:
    what = (
        "completed"
        if result.get("completed")
        else "given back"
        if result.get("released")
        else f"held by {result['holder']}"
    )
    return say((one_line(result["item"], 60), "bold"), f" of {one_line(result['spec'], 80)}: {what}")


def claims(result: dict[str, Any]) -> RenderableType:
    if not result["claims"]:
        return Text("No claims in outside documents.", "dim")
    shown = new_table("document", "item", "who", "state", "since")
    for c in result["claims"]:
        state = Text(c["state"], CLAIM.get(c["state"], "bold red"))
        shown.add_row(one_line(c["spec"], 60), one_line(c["item"], 30), c["agent"], state, clock(c["at"]))
    return shown


def _bar(counts: dict[str, int], total: int, width: int = 30) -> Text:
    bar = Text()
    used = 0
    for status in ("completed", "in_progress", "failed", "canceled"):
        cells = round(width * counts.get(status, 0) / total) if total else 0
        bar.append("█" * cells, STATUS[status])
        used += cells
    return bar.append("░" * max(0, width - used), "dim")


def _progress(plan: dict[str, Any]) -> Text:
    return Text.assemble(_bar(plan["counts"], plan["total"]), f" {plan['done']}/{plan['total']}")


def plans(result: dict[str, Any]) -> RenderableType:
    if not result["plans"]:
        return say("No plans. ", ("`rook plan import FILE` makes one of a checklist.", "dim"))
    shown = new_table("id", "goal", "progress", "status", "owner")
    for plan in result["plans"]:
        shown.add_row(
            Text(plan["id"], "bold"), one_line(plan["goal"], 50), _progress(plan), plan["status"], plan["owner"]
        )
    return shown


def plan(result: dict[str, Any]) -> RenderableType:
    head = say(
        (result["id"], "bold"),
        "  ",
        (one_line(result["goal"], 120), "bold"),
        (f"  {result['status']}, owner {result['owner']}", "dim"),
    )
    shown = new_table("id", "status", "title", "who", "priority", "")
    critical = set(result["critical"])
    for task in result["tasks"]:
        row = _line(task)
        if task["id"] in critical and task["status"] not in ("completed", "canceled"):
            row[0] = Text(f"{task['id']} !", "bold magenta")
        shown.add_row(*row)
    foot = [
        say(("ready: ", "dim"), ", ".join(result["ready"][:10]) or "nothing"),
        say(("critical path (!): ", "dim"), " → ".join(result["critical"][:10])),
    ]
    return Group(head, _progress(result), shown, *foot)


def deleted(result: dict[str, Any]) -> RenderableType:
    return say((result["id"], "bold"), " is gone.")


def noted(result: dict[str, Any]) -> RenderableType:
    return say((result["id"], "bold"), f": {one_line(result['note'], 120)}")


SHOWS = {
    "task.list": lines,
    "task.show": one,
    "task.claims": claims,
    "lease": lease,
    "task.renew": lease,
    "spec": spec,
    "task.delete": deleted,
    "task.progress": noted,
    "plan.list": plans,
    "plan.show": plan,
    "plan.new": plan,
    "plan.cancel": plan,
    **dict.fromkeys(
        (
            "task.add",
            "task.assign",
            "task.fail",
            "task.block",
            "task.unblock",
            "task.cancel",
            "task.reset",
            "task.revise",
            "task.split",
            "task.review",
        ),
        one,
    ),
}
