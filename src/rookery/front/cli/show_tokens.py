"""Tokens for people. A new one's text stands on a line of its own, so that it can be copied whole."""

from collections.abc import Callable
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from rookery.core.caller import Role
from rookery.core.text import one_line

from .showing import clock, new_table, say, short


def _new(result: dict[str, Any]) -> RenderableType:
    what = _holder(result, f"to read team {result['team']}", f"to act as you in team {result['team']}")
    until = f", good until {clock(result['expires_at'])}" if result["expires_at"] else ""
    return Group(
        say((result["id"], "bold"), f" {what}{until}. This is the only time it is shown:"),
        Text(result["token"], "bold", no_wrap=True),
        Text(f"ROOK_URL and ROOK_TOKEN use it; `rook token revoke {result['id']}` ends it.", "dim"),
    )


def _holder(token: dict[str, Any], viewer: str, operator: str) -> str:
    if token["agent"]:
        return f"for {token['agent']}" if "token" in token else token["agent"]
    return operator if token["kind"] == Role.OPERATOR else viewer


def _list(result: dict[str, Any]) -> RenderableType:
    if not result["tokens"]:
        return Text("No token is good. `rook token new --agent NAME` makes one.", "dim")
    table = new_table("id", "for", "state", "made", "by", "until", "note")
    for token in result["tokens"]:
        table.add_row(
            Text(token["id"], "bold"), one_line(_holder(token, "to read", "you (operator)"), 40),
            Text(token["state"], "green" if token["state"] == "good" else "dim"), short(token["at"]), token["by"],
            clock(token["expires_at"]), one_line(token["note"], 60),
        )  # fmt: skip
    return table


def _revoke(result: dict[str, Any]) -> RenderableType:
    return say((result["id"], "bold"), " is revoked." if result["changed"] else " was revoked already.")


SHOWS: dict[str, Callable[[Any], RenderableType]] = {"token.new": _new, "token.list": _list, "token.revoke": _revoke}
