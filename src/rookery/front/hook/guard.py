"""May what a tool is about to write be written? The tool's own words are read; nothing is run and nothing written."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rookery.core import errors, hook_failures, text
from rookery.core.hook_failures import Failure
from rookery.core.hooks import NOTHING, Answer, Deed, Event
from rookery.core.record import NamedTuple
from rookery.front.cli.call import Desk

from . import asking, elsewhere, targets
from .targets import Target

if TYPE_CHECKING:
    from rookery.core.shell.reading import Reading

TOLD = 3  # refused paths that are told of in full


class Asked(NamedTuple):
    """What a tool would write, as far as its words tell."""

    targets: Sequence[Target]
    failed: Sequence[str] = ()  # parts whose targets could not be found out, and why
    untold: Sequence[str] = ()  # parts that do not tell, and why
    records: Sequence[str] = ()  # parts that change what git keeps for itself
    bound: str = ""  # why the caller may write nothing, wherever; what is above counts then too
    kept: Sequence[str] | None = None  # what others hold here, if that was asked already
    strict: bool = False  # a strict team refuses a command that does not tell what it writes


def judged(desk: Desk, event: Event, *, closed: bool = False) -> Answer:
    """What is refused is refused, whatever else could not be judged; that is left to the policy."""
    try:
        return _judged(desk, event, closed=closed)
    except errors.RookError as error:
        if hook_failures.kind_of(error) is not Failure.CALLER:
            raise
        stranger = asking.Stranger(desk)
        try:
            answer = _judged(stranger, event, closed=closed)
        finally:
            stranger.close()
        if answer.deny:
            return answer
        raise  # nothing it would write is held: the policy for a caller that is not known decides


def _judged(desk: Desk, event: Event, *, closed: bool) -> Answer:
    asked = _asked(desk, event)
    if asked is None:
        return NOTHING
    told = _told_of(desk, asked)
    if told.refused:
        return Answer(deny=_denial(told.refused))
    if asked.bound and (asked.untold or asked.records or asked.failed):
        return Answer(deny=_bound(asked))
    answer = Answer(context="\n".join(told.warned))
    if asked.untold:
        answer = _untold(desk, event, asked, answer)
    failed = [*asked.failed, *told.failed]
    return _unjudged(desk, event, failed, answer, closed) if failed and not answer.deny else answer


def _asked(desk: Desk, event: Event) -> Asked | None:
    if event.deed is Deed.EDIT:
        untold = [f"{event.tool}: {event.untold}"] if event.untold else []
        found, failed = targets.of_paths(event.paths, desk.call.cwd, desk.call.environ.get("HOME"))
        bound = asking.others(desk)["bound"] if untold or failed else ""
        return Asked(found, [*failed, *untold], bound=bound)
    if event.deed is Deed.SHELL and event.command:
        asked = _of_command(desk, event.command)
        if not event.paths:
            return asked
        found, failed = targets.of_paths(event.paths, desk.call.cwd, desk.call.environ.get("HOME"))
        asked = asked or Asked(())
        return asked._replace(targets=[*asked.targets, *found], failed=[*asked.failed, *failed])
    return None


def _of_command(desk: Desk, command: str) -> Asked | None:
    kept = asking.others(desk)
    if _is_nothing_kept(desk, kept):
        return None
    from rookery.runtime import shell

    home = desk.call.environ.get("HOME")
    root = desk.house.places.root
    # Programs encode half a surrogate pair as U+FFFD; a NUL they refuse, or end the command there.
    readable = text.well_formed(command).replace("\0", "")
    unreadable = ["the command contains a NUL character"] if "\0" in command else []
    try:
        reading = shell.writes(
            readable, desk.call.cwd, home=home, is_folder=os.path.isdir, root=root, read_text=shell.small_text
        )
    except Exception as error:  # whatever breaks the reader: the command is one that does not tell
        part = f"{text.one_line(readable, 60)}: {hook_failures.describe(error)}"
        return Asked((), [part], [part], bound=kept["bound"], strict=kept["strict"])
    found, failed = targets.of_writes(reading.writes, desk.call.cwd)
    found += _named(desk, reading, kept, home)
    untold = [f"{text.one_line(each.fragment, 60)}: {each.reason}" for each in reading.opaque[:TOLD]]
    records = [text.one_line(each, 60) for each in reading.records[:TOLD]]
    return Asked(found, [*unreadable, *failed], untold, records, kept["bound"], kept["patterns"], kept["strict"])


def _named(desk: Desk, reading: "Reading", kept: Mapping[str, Any], home: str | None) -> list[Target]:
    """What others hold and an opaque part of the command names: it may well write that."""
    if not (reading.may_write and (kept["patterns"] or kept["elsewhere"])):
        return []
    from rookery.core.shell import mentions
    from rookery.runtime import shell

    def search(held: Sequence[str], root: str) -> list[Target]:
        found = mentions.named(reading, held, root, cwd=desk.call.cwd, home=home, real=shell.real_path)
        return [Target(os.path.join(root, each.path), pattern=each.pattern) for each in found]

    found = search(kept["patterns"], desk.house.places.root)
    if kept["elsewhere"]:
        near = [Target(path) for path in mentions.places(reading, desk.call.cwd, home)]
        for root, held in elsewhere.held_near(desk, near):
            found += search(held, root)
    return found


def _is_nothing_kept(desk: Desk, kept: Mapping[str, Any]) -> bool:
    """Nobody else holds anything, and no rule is about what nobody holds: then no command need be read."""
    settings = desk.house.settings
    if settings["guard.opaque"] in ("ask", "deny") or settings["guard.outside"] == "deny":
        return False
    return not (kept["patterns"] or kept["strict"] or kept["bound"] or kept["elsewhere"])


# -- what the ledger says ----------------------------------------------------------------------------------------------


def _told_of(desk: Desk, asked: Asked) -> elsewhere.Judged:
    """The event's own workspace first; then those of other trees and teams that a target lies in."""
    if not asked.targets:
        return elsewhere.Judged()
    found = [*asked.targets, *_hard_links(desk, asked)]
    root = desk.house.places.root
    paths, patterns = targets.spelled_in(root, found, outside=True)
    told = asking.can_write(desk, paths, patterns)
    rule = desk.house.settings["guard.outside"]
    outside_refused = rule == "deny" or (rule == "strict" and told.strict)  # what binds its writer holds anywhere
    refused = [each for each in told.verdicts if not each["allow"] and (outside_refused or not each.get("outside"))]
    there = elsewhere.judged(desk, found, held=told.elsewhere) if not refused else elsewhere.Judged()
    return elsewhere.Judged([*refused, *there.refused], [*told.warned, *there.warned], [*told.failed, *there.failed])


def _hard_links(desk: Desk, asked: Asked) -> list[Target]:
    """Files that others hold and that a target is a second name of."""
    from rookery.runtime import hardlinks

    wide = [target.wide for target in asked.targets if target.folder]
    files = [target.path for target in asked.targets if not target.pattern]
    if asked.kept == [] or not hardlinks.may_be_shared(files, wide):
        return []
    held = asking.others(desk)["patterns"] if asked.kept is None else asked.kept
    return [Target(path) for path in hardlinks.linked(desk.house.places.root, held, files, wide)] if held else []


def _denial(refused: Sequence[Mapping[str, Any]]) -> str:
    if refused[0].get("bound"):
        paths = ", ".join(text.one_line(each["path"], 200) for each in refused[:TOLD])
        return f"Rookery: not written: {paths}.\n{_sentence(refused[0]['reason'])}"
    lines = [_told(each) for each in refused[:TOLD]]
    if len(refused) > TOLD:
        lines.append(f"... and {len(refused) - TOLD} more: `rook can-write PATH...` tells of each.")
    return "Rookery: not written.\n" + "\n".join(lines)


def _bound(asked: Asked) -> str:
    """To whoever may write nothing, a command that may write is one that does."""
    parts = dict.fromkeys([*asked.records, *asked.untold, *asked.failed])
    return f"Rookery: not run ({'; '.join(parts)}).\n{_sentence(asked.bound)}"


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
    known = (
        ("of team", verdict.get("team")), ("on", verdict.get("task")), ("in", verdict.get("place")),
        ("on branch", verdict.get("branch")),
    )  # fmt: skip
    shown = " ".join(f"{how} {text.one_line(what, 120)}" for how, what in known if what)
    return f", who works {shown}" if shown else ""


# -- what can not be told ----------------------------------------------------------------------------------------------


def _untold(desk: Desk, event: Event, asked: Asked, answer: Answer) -> Answer:
    rule = "deny" if asked.strict else desk.house.settings["guard.opaque"]
    if rule == "check" and event.deed is Deed.SHELL:
        from . import watch

        watch.begin(desk, event)
    if rule in ("allow", "check"):
        return answer
    said = f"Rookery can not tell which files this writes ({'; '.join(asked.untold)})."
    if rule == "ask":
        return answer._replace(ask=said)
    return answer._replace(deny=f"{said} This team refuses such commands: name the files, or use the edit tool.")


def _unjudged(desk: Desk, event: Event, failed: Sequence[str], answer: Answer, closed: bool) -> Answer:
    """Part of what is written could not be judged, and nothing of the rest is refused."""
    from . import failures

    policy = failures.policy_of(desk, closed, Failure.TARGET)
    decided = hook_failures.decide(event.moment, Failure.TARGET, "; ".join(dict.fromkeys(failed[:TOLD])), policy)
    context = "\n".join(filter(None, (answer.context, decided.context)))
    ask = "" if decided.deny else decided.ask or answer.ask
    return Answer(deny=decided.deny, ask=ask, context=context)
