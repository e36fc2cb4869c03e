"""Change sets and landings, for people."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from rookery.core.text import one_line

from .showing import clock, giving_way, new_table, say, short

STATE = {"queued": "cyan", "working": "bold cyan", "landed": "green", "failed": "bold red", "undoing": "yellow",
         "undone": "yellow", "dropped": "dim"}  # fmt: skip
FILE = {"A": "green", "D": "red", "M": "", "R": "cyan"}


def _state(row: dict[str, Any]) -> Text:
    return Text(f"{row['state']} {row['step']}".strip(), STATE[row["state"]])


def landings(result: dict[str, Any]) -> RenderableType:
    if not result["landings"]:
        return say("Nothing was put in line to land. ", ("`rook changes` lists what could be.", "dim"))
    told = any(row["reason"] for row in result["landings"])  # mostly there is nothing to tell
    table = new_table("id", "state", "branch", "by", "when", "what", *(["why"] if told else []))
    for row in result["landings"]:
        table.add_row(
            row["id"], _state(row), one_line(row["branch"], 24), one_line(row["author"], 24),
            Text(short(row["landedAt"] or row["at"]), "dim"),
            one_line(row["title"] or row["change"], 40 if told else 80),
            *([Text(one_line(row["reason"], 120), "dim")] if told else []),
        )  # fmt: skip
    hint = "`rook land retry, undo` or `drop ID`; `rook changes show CHANGE` tells of checks."
    return Group(giving_way(table, "why" if told else "what"), Text(hint, "dim"))


def landing(result: dict[str, Any]) -> RenderableType:
    parts: list[RenderableType] = [
        say(
            (result["id"], "bold"),
            " (",
            result["change"],
            f") on {result['branch']}: ",
            (result["state"], STATE[result["state"]]),
        )
    ]
    parts += [say(("warning: ", "bold yellow"), one_line(each, 300)) for each in result.get("warnings", ())]
    if result["state"] in ("queued", "undoing"):
        parts.append(Text("A daemon on its machine goes on with it; `rook land list` shows how it stands.", "dim"))
    return Group(*parts)


def changes(result: dict[str, Any]) -> RenderableType:
    if not result["changes"]:
        return say("No worker has changed anything yet.")
    table = new_table("id", "by", "task", "files", "lines", "branch", "when")
    for row in result["changes"]:
        lines = Text.assemble((f"+{row['added']}", "green"), " ", (f"-{row['removed']}", "red"))
        table.add_row(
            row["id"], row["author"] or row["worker"], one_line(f"{row['task']} {row['title']}".strip(), 60),
            str(row["paths"]), lines, row["branch"], short(row["at"]),
        )  # fmt: skip
    giving_way(table, "task")
    return Group(table, Text("`rook changes show ID` tells more; `rook land add ID` puts it in line to land.", "dim"))


def change(result: dict[str, Any]) -> RenderableType:
    where = f"{result['base'][:12]}..{result['head'][:12]} for {result['branch'] or 'no branch'}"
    lands = f", {result['landing']['id']} {result['landing']['state']}" if result["landing"] else ""
    parts: list[RenderableType] = [
        say((result["id"], "bold"), f" by {result['author'] or result['worker']}{lands}"),
        Text(f"{where}, {clock(result['at'])}", "dim"),
    ]
    table = new_table("", "lines", "file")
    for file in result["files"]:
        lines = "binary" if file.get("binary") else f"+{file['added']} -{file['removed']}"
        before = f" (from {one_line(file['from'], 60)})" if "from" in file else ""
        table.add_row(
            Text(file["status"], FILE.get(file["status"], "")), lines, f"{one_line(file['path'], 100)}{before}"
        )
    parts.append(table)
    if result["paths"] > len(result["files"]):
        parts.append(Text(f"and {result['paths'] - len(result['files'])} more", "dim"))
    parts += [_checked(each) for each in result["checks"]]
    if result["patch"]:
        parts.append(Text(f"`rook artifacts show {result['patch']} --raw` is its patch.", "dim"))
    return Group(*parts)


def _checked(row: dict[str, Any]) -> Text:
    passed = row["exit"] == 0 and not row["timedOut"]
    word = (
        ("passed", "green") if passed else ("took too long" if row["timedOut"] else f"exit {row['exit']}", "bold red")
    )
    return say("check ", (one_line(" ".join(row["argv"]), 60), "bold"), f" on {row['on'][:12]}: ", word,
               (f" after {row['ms'] / 1000:.1f} s, {row['log']}", "dim"))  # fmt: skip


SHOWS = {"changes": changes, "changes.show": change, "land.list": landings, "land.add": landing, "land.retry": landing,
         "land.undo": landing, "land.drop": landing}  # fmt: skip
