"""Discussions and shared outputs for people, and whether a path may be written."""

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from rookery.core.text import one_line, plain

from .showing import clock, new_table, say, short


def _card(thread: dict[str, Any]) -> RenderableType:
    about = f", about {', '.join(thread['tasks'])}" if thread["tasks"] else ""
    return say(
        (thread["id"], "bold cyan"), f" {one_line(thread['title'], 100)} ",
        (f"({', '.join(thread['participants'])}{about})", "dim"),
    )  # fmt: skip


def _said(message: dict[str, Any]) -> RenderableType:
    head = say((message["from"], "bold"), (f"  {clock(message['ts'])}  {message['id']}", "dim"))
    return Group(head, Padding(Text(plain(message["body"])), (0, 0, 1, 2)))


def _posted(result: dict[str, Any]) -> RenderableType:
    to = ", ".join(result["to"]) or "nobody else yet"
    return say("Said in ", (result["threadId"], "bold cyan"), f" to {to} ({result['id']}).")


def _tail(result: dict[str, Any]) -> RenderableType:
    said = [_said(message) for message in result["messages"]] or [Text("Nothing was said yet.", "dim")]
    return Group(_card(result), Text(""), *said)


def _listed(result: dict[str, Any]) -> RenderableType:
    if not result["threads"]:
        return Text("No discussions. `rook thread new TITLE --with NAME` starts one.", "dim")
    table = new_table("id", "since", "title", "with", "tasks")
    for thread in result["threads"]:
        table.add_row(
            Text(thread["id"], "bold"), short(thread["createdAt"]), one_line(thread["title"], 60),
            one_line(", ".join(thread["participants"]), 40), ", ".join(thread["tasks"][:4]),
        )  # fmt: skip
    return table


def _found(result: dict[str, Any]) -> RenderableType:
    if not result["messages"]:
        return Text("Nobody said that in a discussion. `rook search` looks through all mail.", "dim")
    lines = [
        say((f"{m['threadId']} ", "bold cyan"), (f"{m['from']}: ", "bold"), one_line(m["snippet"], 160))
        for m in result["messages"]
    ]
    return Group(*lines)


def _may_write(result: dict[str, Any]) -> RenderableType:
    words = {True: ("may be written", "green"), False: ("may not be written", "bold red")}
    lines = [
        say((one_line(each["path"], 200), "bold"), " ", words[each["allow"]], f": {_told(each)}.")
        for each in result["paths"]
    ]
    return Group(*lines, *(Text(one_line(warning, 400), "yellow") for warning in result["warnings"]))


def _told(each: dict[str, Any]) -> str:
    """Why, and what to do about it, where the reason does not end with that."""
    reason, hint = each["reason"].rstrip("."), each.get("hint", "").rstrip(".")
    return one_line(reason if reason.endswith(hint) else f"{reason}. {hint}", 400)


# -- shared outputs ------------------------------------------------------------------------------------------------


def _artifact(result: dict[str, Any]) -> RenderableType:
    about = f" for {result['taskId']}" if result["taskId"] else ""
    return Group(
        say(
            (result["id"], "bold cyan"), f" {result['kind']} ", (result["name"], "bold"), f"{about}, by {result['by']}"
        ),
        say((f"{result['bytes']:,} bytes, {clock(result['at'])}, {result['file']}", "dim")),
    )


def _artifact_whole(result: dict[str, Any]) -> RenderableType:
    text = plain(result["content"]) if result["encoding"] == "text" else "(not text)"
    return Group(_artifact(result), Text(""), Text(text))


SHOWS = {
    "thread.new": _card, "thread.link": _card, "thread.post": _posted, "thread.tail": _tail, "thread.list": _listed,
    "thread.search": _found, "can-write": _may_write, "artifacts.add": _artifact,
    "artifacts.show": _artifact_whole,
}  # fmt: skip
