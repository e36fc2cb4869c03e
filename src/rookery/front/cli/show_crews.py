"""Crews, for people: how far, how long yet, who does what, and what waits for you."""

from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from rookery.core.text import one_line
from rookery.core.times import lasting

from .showing import giving_way, new_table, say

STATE = {
    "running": "bold cyan",
    "stopping": "yellow",
    "finished": "bold green",
    "stopped": "yellow",
    "failed": "bold red",
}
PARTS = (("done", "green"), ("judging", "magenta"), ("working", "cyan"), ("ready", ""), ("blocked", "dim"),
         ("failed", "bold red"), ("canceled", "dim"))  # fmt: skip
WORKER = {"asking": ("needs_input", "bold magenta"), "done": ("ready", "green"), "failed": ("failed", "bold red")}
BAR = 40


def crew(result: dict[str, Any]) -> RenderableType:
    parts: list[RenderableType] = [_head(result), _bar(result), _counts(result["counts"])]
    landed = ", ".join(f"{count} {state}" for state, count in result["landings"].items())
    if landed:
        parts.append(say(("landings  ", "dim"), landed))
    if result["workers"]:
        parts += [Text(""), _workers(result["workers"])]
    if result["waits"]:
        told = "Nothing moves until you decide something: `rook inbox`, `rook task list --status blocked`."
        parts += [Text(""), Text(told, "bold magenta")]
    parts += [say(("warning: ", "bold yellow"), one_line(each, 300)) for each in result.get("warnings", ())]
    return Group(*parts)


def crews(result: dict[str, Any]) -> RenderableType:
    if not result["crews"]:
        return say("No crew is at work. ", ("`rook crew run PLAN` starts one.", "dim"))
    table = new_table("id", "plan", "state", "done", "left", "why")
    for row in result["crews"]:
        counts = row["counts"]
        table.add_row(
            row["id"], row["plan"], Text(row["state"], STATE[row["state"]]), f"{counts['done']} of {counts['total']}",
            lasting(row["left_ms"]) if row["left_ms"] else "", one_line(row["why"], 80),
        )  # fmt: skip
    return giving_way(table, "why")


def _head(result: Mapping[str, Any]) -> Text:
    why = f": {one_line(result['why'], 120)}" if result["why"] else ""
    return say(
        (result["id"], "bold"), f" on {result['plan']}  ", (result["state"], STATE[result["state"]]), (why, "dim")
    )


def _bar(result: Mapping[str, Any]) -> RenderableType:
    counts = result["counts"]
    over = counts["done"] + counts["canceled"]
    left = f", about {lasting(result['left_ms'])} left" if result["left_ms"] else ""
    told = f"{over} of {counts['total']} in {lasting(result['elapsed_ms'])}{left}"
    line = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    line.add_row(ProgressBar(total=max(1, counts["total"]), completed=over, width=BAR, finished_style="green"), told)
    return line


def _counts(counts: Mapping[str, int]) -> Text:
    words = [(f"{counts[name]} {name}", style) for name, style in PARTS if counts.get(name)]
    return Text("  ").join(Text(*word) for word in words)


def _workers(rows: list[Mapping[str, Any]]) -> Table:
    table = new_table("id", "name", "role", "status", "task", "what")
    for row in rows:
        status, style = WORKER.get(row["report"], (row["state"], "cyan" if row["state"] == "running" else "dim"))
        role = row["role"] if row["role"] != "work" else row["kind"]
        idle = row["role"] == "lobby" and (not row["task"] or row["report"] in ("done", "failed"))
        status, style = ("waiting", "dim") if idle else (status, style)
        table.add_row(row["id"], row["name"], role, Text(status, style), row["task"],
                      one_line(row["title"], 60))  # fmt: skip
    return giving_way(table, "what")


SHOWS: Mapping[str, Callable[[Any], RenderableType]] = {
    "crew.run": crew, "crew.status": crew, "crew.scale": crew, "crew.stop": crew, "crew.list": crews,
}  # fmt: skip
