"""Kinds of workers for people."""

from collections.abc import Callable
from typing import Any

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from rookery.core.text import one_line, plain

from .showing import new_table, say

LAYER = {"built in": "dim", "user": "cyan", "repository": "green", "registered": "magenta"}


def _bounds(kind: dict[str, Any]) -> Text:
    if kind["read_only"]:
        return Text("only reads", "cyan")
    return Text("plan first", "yellow") if kind["plan_gate"] else Text("writes", "green")


def _more(kind: dict[str, Any]) -> str:
    told = [kind["host"], kind["model"], "own tree" * kind["worktree"], "may spawn" * kind["can_spawn"],
            f"at most {kind['max_active']}" if kind["max_active"] else ""]  # fmt: skip
    return one_line(", ".join(filter(None, told)), 40)


def _listed(result: dict[str, Any]) -> RenderableType:
    table = new_table("kind", "may", "what it is", "besides", "where")
    broken: list[RenderableType] = []
    for kind in result["kinds"]:
        if "problem" in kind:
            table.add_row(Text(kind["name"], "bold red"), Text("unusable", "bold red"), "", "", kind["layer"])
            broken += [say(("! ", "bold red"), one_line(kind["problem"], 400)), say((f"  {kind['hint']}", "dim"))]
            continue
        table.add_row(
            Text(kind["name"], "bold"), _bounds(kind), one_line(kind["description"], 120), Text(_more(kind), "dim"),
            Text(kind["layer"], LAYER[kind["layer"]]),
        )  # fmt: skip
    broken += [
        say(("! ", "bold yellow"), f"{kind['name']}: {', '.join(kind['not_in_force'])} not in force: run `rook trust`.")
        for kind in result["kinds"] if kind.get("not_in_force")
    ]  # fmt: skip
    end = Text("`rook kinds show NAME` tells all of one; your own go to .rook/kinds/NAME.md.", "dim")
    return Group(table, *broken, end)


def _shown(kind: dict[str, Any]) -> RenderableType:
    facts = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    facts.add_column(style="dim")
    facts.add_column(overflow="fold")
    for title, value in _facts(kind):
        if value:
            facts.add_row(title, value)
    head = say((kind["name"], "bold cyan"), f"  {one_line(kind['description'], 120)}")
    told = Padding(Markdown(plain(kind["guardrails"]), hyperlinks=False), (1, 2))
    return Group(head, facts, Rule("what its workers are told", style="dim"), told)


def _facts(kind: dict[str, Any]) -> list[tuple[str, RenderableType]]:
    respawn = kind["respawn"]
    again = f"{respawn['policy']}, up to {respawn['limit']} times, after {respawn['backoff_s']:g} s"
    return [
        ("may", _bounds(kind)),
        ("from", Text(one_line(kind["source"], 200), LAYER[kind["layer"]])),
        ("instead of", "\n".join(one_line(each, 200) for each in kind["instead_of"])),
        ("not in force", ", ".join(kind["not_in_force"]) + ": run `rook trust`" if kind.get("not_in_force") else ""),
        ("program", one_line(kind["host"], 60)),
        ("model", one_line(kind["model"], 60)),
        ("works in", "a worktree of its own" if kind["worktree"] else "the working copy"),
        ("begins with", "its parent's session" if kind["seed"] else ""),
        ("decides", "\n".join(one_line(each, 200) for each in kind["decision_rights"])),
        ("starts others", "yes" if kind["can_spawn"] else ""),
        ("at once", str(kind["max_active"] or "")),
        ("artifacts", str(kind["max_artifacts"] or "")),
        ("time", f"{kind['max_duration_s']:g} s" if kind["max_duration_s"] else ""),
        ("unasked", {"ask": "nothing", "read": "reading", "edit": "edits", "all": "everything"}[kind["permissions"]]),
        ("mail", "starts it" if kind["on_mail"] else ""),
        ("respawn", "" if respawn["policy"] == "never" else again),
    ]


def _added(result: dict[str, Any]) -> RenderableType:
    lines: list[RenderableType] = [say((result["name"], "bold cyan"), f" is {result['source']}.")]
    if result["instead_of"]:
        lines.append(say((f"It takes the place of {one_line(result['instead_of'][-1], 200)}.", "dim")))
    if result.get("warning"):
        lines.append(say((one_line(result["warning"], 300), "yellow")))
    return Group(*lines)


def _dropped(result: dict[str, Any]) -> RenderableType:
    now = f" {one_line(result['instead'][0], 200)} holds again." if result["instead"] else ""
    return say((result["name"], "bold cyan"), f" is no longer registered.{now}")


SHOWS: dict[str, Callable[[Any], RenderableType]] = {
    "kinds": _listed, "kind.show": _shown, "kind.add": _added, "kind.drop": _dropped,
}  # fmt: skip
