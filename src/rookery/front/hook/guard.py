"""May what a tool is about to write be written? The tool's own words are read; nothing is run and nothing written."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rookery.core import text
from rookery.core.hooks import NOTHING, Answer, Deed, Event
from rookery.core.record import NamedTuple
from rookery.front.cli.call import Desk
from rookery.runtime import resolve

if TYPE_CHECKING:
    from rookery.core.shell import Write

TOLD = 3  # refused paths that are told of in full
ASKED = 900  # paths asked about at once


class Target(NamedTuple):
    """What would be written, as `can-write` is asked about it."""

    paths: Sequence[str]
    patterns: Sequence[str] = ()
    untold: Sequence[str] = ()  # parts that do not tell, and why
    records: Sequence[str] = ()  # parts that change what git keeps for itself
    bound: str = ""  # why the caller may write nothing, wherever; what is above counts then too


def judged(desk: Desk, event: Event) -> Answer:
    target = _target(desk, event)
    if target is None:
        return NOTHING
    refused, warned = _refused(desk, target)
    if refused:
        return Answer(deny=_denial(refused))
    if target.bound and (target.untold or target.records):
        return Answer(deny=_bound(target))
    answer = Answer(context="\n".join(warned))
    return _untold(desk, event, target.untold, answer) if target.untold else answer


def _target(desk: Desk, event: Event) -> Target | None:
    if event.deed is Deed.EDIT:
        untold = [f"{event.tool}: {event.untold}"] if event.untold else []
        return Target(event.paths, untold=untold, bound=desk.verb("turn.others", {})["bound"] if untold else "")
    if event.deed is Deed.SHELL and event.command:
        return _of_command(desk, event.command)
    return None


def _of_command(desk: Desk, command: str) -> Target | None:
    kept = desk.verb("turn.others", {})
    if _is_nothing_kept(desk, kept):
        return None
    from rookery.runtime import shell

    home = desk.call.environ.get("HOME")
    reading = shell.writes(command, desk.call.cwd, home=home, is_folder=os.path.isdir)
    root = desk.house.places.root
    spelled = [(write, _spelled(write, root)) for write in reading.writes]
    wide = [path for write, path in spelled if write.pattern or path == root]
    narrow = [path for write, path in spelled if not write.pattern and path != root]
    untold = [f"{text.one_line(each.fragment, 60)}: {each.reason}" for each in reading.opaque[:TOLD]]
    records = [text.one_line(each, 60) for each in reading.records[:TOLD]]
    return Target(narrow, wide, untold, records, kept["bound"])


def _is_nothing_kept(desk: Desk, kept: Mapping[str, Any]) -> bool:
    """Nobody else holds anything, and no rule is about what nobody holds: then no command need be read."""
    settings = desk.house.settings
    if settings["guard.opaque"] in ("ask", "deny") or settings["guard.outside"] == "deny":
        return False
    return not (kept["patterns"] or kept["strict"] or kept["bound"])


def _spelled(write: "Write", root: str) -> str:
    """As `can-write` takes it. What reaches all of the workspace is the workspace; a repository too, for only git knows
    which of its files it will write."""
    if write.reach == "file":
        return write.path
    if not write.pattern and resolve.is_around(write.path, root):
        return root
    inside = write.reach == "repository" and resolve.is_around(root, write.path)
    return root if inside else f"{write.path}/"


# -- what the ledger says ----------------------------------------------------------------------------------------------


def _refused(desk: Desk, target: Target) -> tuple[list[Mapping[str, Any]], list[str]]:
    """(verdicts that refuse, warnings)."""
    paths, patterns = list(dict.fromkeys(target.paths)), list(dict.fromkeys(target.patterns))
    if len(paths) + len(patterns) > ASKED:
        return [{"path": f"{len(paths) + len(patterns)} files", "reason": "too many at once; do it in parts"}], []
    if not paths and not patterns:
        return [], []
    told = desk.verb("can-write", {"paths": paths, "covered": patterns})
    rule = desk.house.settings["guard.outside"]
    outside_refused = rule == "deny" or (rule == "strict" and told["strict"])  # what binds its writer holds anywhere
    refused = [each for each in told["paths"] if not each["allow"] and (outside_refused or not each.get("outside"))]
    return refused, told["warnings"]


def _denial(refused: Sequence[Mapping[str, Any]]) -> str:
    if refused[0].get("bound"):
        paths = ", ".join(text.one_line(each["path"], 200) for each in refused[:TOLD])
        return f"Rookery: not written: {paths}.\n{_sentence(refused[0]['reason'])}"
    lines = [_told(each) for each in refused[:TOLD]]
    if len(refused) > TOLD:
        lines.append(f"... and {len(refused) - TOLD} more: `rook can-write PATH...` tells of each.")
    return "Rookery: not written.\n" + "\n".join(lines)


def _bound(target: Target) -> str:
    """To whoever may write nothing, a command that may write is one that does."""
    parts = [*target.records, *target.untold]
    return f"Rookery: not run ({'; '.join(parts)}).\n{_sentence(target.bound)}"


def _sentence(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:]}."


def _told(verdict: Mapping[str, Any]) -> str:
    """A line of ours; what the holder said is the holder's, and marked as such."""
    path = text.one_line(verdict["path"], 200)
    if "holder" not in verdict:
        hint = verdict.get("hint", "")
        return f"{path}: {verdict['reason']}.{f' {hint}' if hint else ''}"
    where = _where(verdict)
    what = path if path == verdict["holds"] else f"{text.one_line(verdict['holds'], 200)} (you would write {path})"
    lines = [f"{what} is held by {verdict['holder']} until {verdict['until'][11:16]}Z{where}."]
    if verdict.get("why"):
        lines += [f"{verdict['holder']} says why:", text.fence(text.one_line(verdict["why"], 120))]
    return "\n".join([*lines, verdict["hint"]])


def _where(verdict: Mapping[str, Any]) -> str:
    known = (("on", verdict.get("task")), ("in", verdict.get("place")), ("on branch", verdict.get("branch")))
    shown = " ".join(f"{how} {text.one_line(what, 120)}" for how, what in known if what)
    return f", who works {shown}" if shown else ""


# -- what can not be told ----------------------------------------------------------------------------------------------


def _untold(desk: Desk, event: Event, parts: Sequence[str], answer: Answer) -> Answer:
    rule = desk.house.settings["guard.opaque"]
    if rule == "check" and event.deed is Deed.SHELL:
        from . import watch

        watch.begin(desk, event)
    if rule in ("allow", "check"):
        return answer
    said = f"Rookery can not tell which files this writes ({'; '.join(parts)})."
    if rule == "ask":
        return answer._replace(ask=said)
    return answer._replace(deny=f"{said} This team refuses such commands: name the files, or use the edit tool.")
