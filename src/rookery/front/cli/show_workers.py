"""Workers for people: one line each, with what needs a look first."""

from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from rookery.core.text import one_line

from .showing import clock, giving_way, minute, new_table, say

STATUS = {
    "queued": "dim", "starting": "cyan", "thinking": "green", "idle": "cyan", "needs_input": "bold yellow",
    "ready": "bold green", "failed": "bold red", "stopping": "yellow", "ended": "dim",
}  # fmt: skip
Card = Mapping[str, Any]


def _listed(result: dict[str, Any]) -> RenderableType:
    if not result["workers"]:
        return say("No workers. ", ("`rook spawn TASK` starts one; `rook workers --all` shows older ones.", "dim"))
    table = new_table("id", "name", "kind", "status", "task", "since", "what")
    for card in result["workers"]:
        table.add_row(
            Text(card["id"], "bold"), Text(one_line(card["name"], 24)), Text(one_line(card["kind"], 14)),
            _status(card), Text(card["task"] or ""), Text(minute(card["since"]), "dim"), _what(card),
        )  # fmt: skip
    return giving_way(table, "what")


def _status(card: Card) -> Text:
    stale = " (stale)" if card["stale"] else ""
    return Text(f"{card['status']}{stale}", "bold red" if stale else STATUS.get(card["status"], ""))


def _what(card: Card) -> Text:
    """What is worth a look comes before what it is for."""
    parts: list[tuple[str, str]] = []
    if card["warning"]:
        parts.append((f"{card['warning']}  ", "bold yellow"))
    if card["state"] == "ended" and card["ending"] not in ("", "ended") and card["report"] != "done":
        code = f" ({card['exit_code']})" if card["exit_code"] is not None else ""
        parts.append((f"{card['ending']}{code}  ", "red"))
    if card["wish"]:
        parts.append((f"to {card['wish']}  ", "yellow"))
    if card["kept"]:
        parts.append((f"kept: {one_line(card['kept'], 60)}  ", "yellow"))
    parts.append((one_line(card["summary"] or card["title"], 70), ""))
    return Text.assemble(*parts)


def _shown(result: dict[str, Any]) -> RenderableType:
    head = say((f"{result['id']} ", "bold"), (result["name"], "bold cyan"), "  ", _status(result).plain, "  ",
               (one_line(result["title"], 100), ""))  # fmt: skip
    rows = [
        ("kind", f"{result['kind']}, {result['host']} on {result['backend']}" + _model(result)),
        ("task", result["task"] or ""), ("warning", result["warning"]), ("why", one_line(result["why"], 200)),
        ("result", one_line(f"{result['outcome']} {result['summary']}", 300)), ("tree", result["tree"] or ""),
        ("root", result["root"]), ("process", str(result["pid"] or "")), ("parent", result["parent"] or ""),
        ("kept", one_line(result["kept"] or "", 200)), ("since", clock(result["since"])),
    ]  # fmt: skip
    lines = [say((f"  {name:<9}", "dim"), value) for name, value in rows if value.strip()]
    lines += [_run(run) for run in result["runs"]]
    tail = [say(("  last lines", "dim"))] if result["tail"].strip() and not result["pid"] else []
    tail += [Text(f"  | {one_line(line, 200)}") for line in result["tail"].strip().splitlines()[-10:]] if tail else []
    return Group(head, *lines, *tail)


def _model(card: Card) -> str:
    used = card["tokens"]
    tokens = f"; {used['input']:,} + {used['output']:,} tokens" if used["input"] or used["output"] else ""
    return (f" with {one_line(card['model'], 60)}" if card["model"] else "") + tokens


def _run(run: Card) -> Text:
    code = f" ({run['exit_code']})" if run["exit_code"] is not None else ""
    how = f"{run['reason']}{code} {clock(run['ended_at'])}" if run["ended_at"] else "runs"
    return say((f"  run {run['n']:<5}", "dim"), f"{clock(run['at'])}  {how}")


def _spawned(result: dict[str, Any]) -> RenderableType:
    return Group(
        say((result["id"], "bold"), " ", (result["name"], "bold cyan"), f" is {result['status']}: ",
            one_line(result["title"], 100)),
        *(say(("! ", "bold yellow"), one_line(note, 300)) for note in result.get("notes", ())),
        say((f"`rook workers` shows how it is, `rook peek {result['id']}` what it does.", "dim")),
    )  # fmt: skip


def _moved(result: dict[str, Any]) -> RenderableType:
    now = f"to {result['wish']}" if result["wish"] else result["status"]
    return say((result["id"], "bold"), " ", (result["name"], "bold cyan"), f": {now}.")


def _deleted(result: dict[str, Any]) -> RenderableType:
    return say((result["id"], "bold"), " is forgotten; its files go when everything in them is somewhere else too.")


SHOWS: Mapping[str, Callable[[dict[str, Any]], RenderableType]] = {
    "workers": _listed, "worker.show": _shown, "spawn": _spawned, "stop": _moved, "respawn": _moved,
    "delete": _deleted,
}  # fmt: skip
