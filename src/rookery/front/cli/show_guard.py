"""Reservations and slots for people."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from rookery.core.text import one_line

from .showing import new_table, say, short


def granted(result: dict[str, Any]) -> RenderableType:
    what = ", ".join(result["paths"])
    mode = " (shared)" if result["mode"] == "shared" else ""
    told = f" {_verb(result)} yours{mode} until {short(result['expiresAt'])}, and longer while you work."
    parts: list[RenderableType] = [say((what, "bold"), told)]
    if result["waiting"]:
        parts.append(Text(f"In line for it: {', '.join(result['waiting'])}.", "yellow"))
    give = f"`rook slot give {what}`" if result["kind"] == "slot" else "`rook release PATH` or `--all`"
    return Group(*parts, Text(f"{give} gives it back.", "dim"))


def _verb(result: dict[str, Any]) -> str:
    return "are" if len(result["paths"]) > 1 else "is"


def released(result: dict[str, Any]) -> RenderableType:
    if not result["released"]:
        return Text("You held nothing.", "dim")
    of = f", held by {', '.join(result['holders'])}" if result.get("holders") else ""
    return say("Free: ", (", ".join(result["released"]), "bold"), of)


def transferred(result: dict[str, Any]) -> RenderableType:
    return say((", ".join(result["paths"]), "bold"), f" is {result['to']}'s now; the handoff is {result['message']}.")


def reservations(result: dict[str, Any]) -> RenderableType:
    if not result["reservations"]:
        return say("Nothing is reserved. ", ("`rook reserve PATH` keeps a file for you.", "dim"))
    shown = new_table("path", "who", "how", "until", "reason", "where")
    for row in result["reservations"]:
        why = row["reason"] if not row["task"] else f"{row['task']} {row['reason']}"
        where = " ".join(filter(None, (row["branch"], row["cwd"])))
        path, told = Text(one_line(row["path"], 60), "bold"), one_line(why, 40)
        shown.add_row(path, row["agent"], _how(row), short(row["expiresAt"]), told, Text(one_line(where, 40), "dim"))
    whole = [_longest(result, key, most) for key, most in (("path", 40), ("agent", 24), ("reason", 24))]
    for column, least in zip(shown.columns, (*whole[:2], 7, 12, whole[2], 0), strict=True):
        column.min_width = least  # what one acts on is not cut
    more = [Text("More: --limit, or name a path.", "dim")] if result["more"] else []
    return Group(shown, *more)


def _how(row: dict[str, Any]) -> Text:
    if row["state"] == "waiting":
        return Text("waiting", "yellow")
    return Text("shared", "cyan") if row["mode"] == "shared" else Text("held")


def _longest(result: dict[str, Any], key: str, most: int) -> int:
    return min(most, max(len(row[key]) for row in result["reservations"]))


def slots(result: dict[str, Any]) -> RenderableType:
    if not result["slots"]:
        return say("No slots. ", ("`rook slot take NAME -- COMMAND` takes one; `rook slot set` says how many.", "dim"))
    shown = new_table("slot", "free", "held by", "in line")
    for slot in result["slots"]:
        shown.add_row(
            Text(slot["name"], "bold"), Text(f"{slot['free']} of {slot['capacity']}", "" if slot["free"] else "yellow"),
            _users(slot["holders"]), _users(slot["waiting"]),
        )  # fmt: skip
    return shown


def _users(users: list[dict[str, Any]]) -> str:
    return ", ".join(one_line(f"{u['agent']} ({u['reason']})" if u["reason"] else u["agent"], 50) for u in users)


def capacity(result: dict[str, Any]) -> RenderableType:
    return slots({"slots": [result]})


SHOWS = {
    "reserve": granted,
    "release": released,
    "transfer": transferred,
    "reservations": reservations,
    "slot.take": granted,
    "slot.give": released,
    "slot.list": slots,
    "slot.set": capacity,
}
