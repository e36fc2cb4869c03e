"""`rook trust`: show what a repository asks for beyond what it may set itself, and accept it."""

from collections.abc import Mapping, Sequence
from typing import Any

from rookery.core import errors
from rookery.core.text import one_line, plain

from .call import Desk, Reply
from .router import document

YES = ("y", "yes")


def run(desk: Desk, read: dict[str, Any]) -> Reply:
    if desk.house.remote is not None:
        raise errors.Refused("Trust is kept on this machine.", "Run it without ROOK_URL.", code="REMOTE")
    if read["revoke"]:
        done = desk.verb("trust.revoke", {})
        told = f"{done['revoked']} acceptances revoked. `rook trust` shows what the repository asks for.\n"
        return Reply(document(done) if desk.options.json else told)
    look = desk.verb("trust.look", {})
    new = [each for each in look["requests"] if not each["in_force"]]
    if read["show"] or not new:
        return Reply(document(look) if desk.options.json else _text(look))
    if not read["yes"] and not _agreed(desk, look, len(new)):
        return Reply("Nothing was accepted.\n", code=1)
    done = desk.verb("trust.accept", {"accepted": _lines(new)})
    told = f"Accepted: {_items(len(new))} of {plain(look['repository'])}.\n"
    return Reply(document(look | done) if desk.options.json else told)


def _lines(new: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """By digest: a file that asks for several things has one."""
    lines: dict[str, str] = {}
    for each in new:
        line = one_line(f"{each['key']} = {each['value']}", 120)
        lines[each["digest"]] = f"{lines[each['digest']]}, {line}" if each["digest"] in lines else line
    return lines


def _agreed(desk: Desk, look: Mapping[str, Any], count: int) -> bool:
    if desk.options.json or desk.call.ask is None:
        raise errors.BadInput(
            "Not a terminal: nobody can be asked.",
            "`rook trust --show`, then `rook trust --yes`.",
            code="NOBODY_TO_ASK",
        )
    desk.call.emit(_text(look))
    return desk.call.ask(f"Accept {_items(count)}? [y/N] ").strip().lower() in YES


def _items(count: int) -> str:
    return "1 request" if count == 1 else f"{count} requests"


def _text(look: Mapping[str, Any]) -> str:
    if not look["requests"]:
        return plain(f"{look['repository']} asks for nothing that needs your trust.\n")
    lines = [plain(f"{look['repository']} asks for:\n")]
    for each in look["requests"]:
        state = "in force" if each["in_force"] else "not in force"
        lines.append(f"  {one_line(each['key'], 60)} = {one_line(each['value'], 100)}  ({state})\n")
        lines.append(f"      {one_line(each['allows'], 200)}\n      {one_line(each['file'], 200)}\n")
    return "".join(lines)


# -- for other commands ----------------------------------------------------------------------------------------------


def note(desk: Desk) -> str:
    """One line about settings of the repository that are not in force, said once for exactly these."""
    waiting = [each for each in desk.house.settings.requests if not each.accepted]
    if not waiting or not desk.house.acceptances.tell_once([each.digest for each in waiting]):
        return ""
    keys = ", ".join(one_line(each.key, 40) for each in waiting[:5]) + (", ..." if len(waiting) > 5 else "")
    return plain(f"rook: {waiting[0].file} asks for {keys}: not in force. `rook trust` shows and accepts it.\n")
