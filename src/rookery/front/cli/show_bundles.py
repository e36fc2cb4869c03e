"""Bundles for people, and what is loaded into an agent's context."""

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from rookery.core.text import one_line, plain

from .showing import clock, giving_way, new_table, say, short

STATE = {"saved": "green", "consumed": "dim"}


def _listed(result: dict[str, Any]) -> RenderableType:
    if not result["bundles"]:
        return say("No bundles. ", ("`rook bundle save REF...` makes one; --all shows consumed ones.", "dim"))
    table = new_table("id", "items", "by", "of", "state", "since", "title")
    for bundle in result["bundles"]:
        table.add_row(
            Text(bundle["id"], "bold"), str(bundle["count"]), Text(one_line(bundle["by"], 24)),
            bundle["worker"] or bundle["task"], Text(bundle["state"], STATE[bundle["state"]]),
            Text(short(bundle["at"]), "dim"), Text(one_line(bundle["title"], 80)),
        )  # fmt: skip
    return giving_way(table, "title")


def _items(items: Sequence[dict[str, Any]]) -> RenderableType:
    table = new_table("#", "id", "kind", "by", "what")
    for number, item in enumerate(items, 1):
        table.add_row(
            str(number), Text(item["id"], "bold"), Text(item["kind"], "bold red" if item["failed"] else ""),
            Text(one_line(item["by"], 24)), Text(one_line(item["title"], 120)),
        )  # fmt: skip
    return giving_way(table, "what")


def _candidates(result: dict[str, Any]) -> RenderableType:
    return _items(result["candidates"])


def _review(result: dict[str, Any]) -> RenderableType:
    return Group(Rule("the bundle", style="dim"), Text(plain(result["header"])), _items(result["candidates"]))


def _shown(result: dict[str, Any]) -> RenderableType:
    taken = result["consumed"]
    used = f", consumed by {taken['by']} {clock(taken['at'])}" if taken else ""
    head = say((result["id"], "bold cyan"), f"  {one_line(result['title'], 120)}")
    facts = say((f"{result['state']}{used}; saved by {result['by']} {clock(result['at'])}; {result['file']}", "dim"))
    parts: list[RenderableType] = [head, facts, Padding(Text(plain(result["header"])), (1, 0, 1, 2))]
    if result["summary"]:
        by = f"summary by {result['summarizer']}" if result["summarizer"] else "summary"
        parts += [Rule(by, style="dim"), Padding(Text(plain(result["summary"])), (0, 0, 1, 2))]
    elif result["summarizer"]:
        parts.append(say((f"{result['summarizer']} is to sum it up.", "yellow")))
    parts.append(_items(result["items"]))
    parts += [say(("! ", "bold yellow"), f"{one_line(each, 200)}.") for each in result["remarks"]]
    return Group(*parts)


def _saved(result: dict[str, Any]) -> RenderableType:
    lines: list[RenderableType] = [
        say((result["id"], "bold cyan"), f" holds {result['count']}: {one_line(result['title'], 100)}"),
        Padding(Text(plain(result["header"]), "dim"), (0, 0, 0, 2)),
    ]
    if result["summarizer"]:
        lines.append(say(f"{result['summarizer']} sums it up; `rook bundle show {result['id']}` shows that then."))
    lines += [say(("! ", "bold yellow"), f"{one_line(each, 200)}.") for each in result["remarks"]]
    lines.append(say((f"`rook bundle load {result['id']} --as NAME` puts it into an agent's context.", "dim")))
    return Group(*lines)


def _consumed(result: dict[str, Any]) -> RenderableType:
    return say((result["id"], "bold cyan"), " is consumed. ", ("`rook bundle list --all` still shows it.", "dim"))


def _deleted(result: dict[str, Any]) -> RenderableType:
    unloaded = f" {result['unloaded']} references to it are gone from contexts." if result["unloaded"] else ""
    return say((result["id"], "bold cyan"), f" is deleted.{unloaded}")


def _loaded_now(result: dict[str, Any]) -> RenderableType:
    """Without the lines: they are put before the agent by its hooks, and need not stand there twice."""
    how = "whole, once" if result["full"] else "a line each"
    return Group(
        say((result["source"], "bold cyan"), f" is loaded for {result['agent']}: {result['count']}, {how}."),
        say(("They stand in its context from its next step on; `rook loaded` lists them.", "dim")),
    )


def _unloaded(result: dict[str, Any]) -> RenderableType:
    return say((result["source"], "bold cyan"), f": {result['count']} are no longer loaded for {result['agent']}.")


def _loaded(result: dict[str, Any]) -> RenderableType:
    if not result["chips"]:
        return say(f"Nothing is loaded for {result['agent']}. ", ("`rook bundle load ID`, `rook load w3`", "dim"))
    lines = [say(one_line(chip["line"], 120), ("  used" if chip["used"] else "", "dim")) for chip in result["chips"]]
    return Group(*lines, say(("`rook show CHIP` shows all behind a line.", "dim")))


def _expanded(result: dict[str, Any]) -> RenderableType:
    head = say((f"[{result['chip']}] ", "bold cyan"), f"{result['kind']} {result['id']} by {result['by']}  ",
               (clock(result["at"]), "dim"))  # fmt: skip
    rest = [] if result["whole"] else [say(("Not all of it is there any more.", "yellow"))]
    return Group(head, Text(one_line(result["title"], 200), "bold"), Text(plain(result["text"])), *rest)


SHOWS: dict[str, Callable[[Any], RenderableType]] = {
    "bundle.list": _listed, "bundle.candidates": _candidates, "bundle.review": _review, "bundle.show": _shown,
    "bundle.save": _saved, "bundle.consume": _consumed, "bundle.delete": _deleted, "bundle.load": _loaded_now,
    "bundle.unload": _unloaded, "load": _loaded_now, "unload": _unloaded, "loaded": _loaded, "expand": _expanded,
}  # fmt: skip
