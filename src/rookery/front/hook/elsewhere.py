"""Targets in other working trees than the event's: the team that works there is asked, whatever folder or team the
event names.

A target lies in every tree around it: its repository, a folder with a rookery.toml above that, a tree in which someone
holds something. In another team the caller is a stranger, unless its process has a session there too.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rookery.core import errors, hook_failures, text
from rookery.core.record import NamedTuple
from rookery.front.cli.call import Desk
from rookery.runtime import places

from . import asking
from .targets import Target, folders_above, spelled_in

LIMIT = 8  # working trees asked about for one tool
BOUNDARIES = (".git", places.REPO_FILE)  # what makes a folder the root of a working tree


class Workspace(NamedTuple):
    team: str
    tree: str


class Judged(NamedTuple):
    refused: Sequence[Mapping[str, Any]] = ()
    warned: Sequence[str] = ()
    failed: Sequence[str] = ()


def judged(desk: Desk, targets: Sequence[Target], *, held: bool) -> Judged:
    """`held`: the store knows of paths that are held in other trees; else only the disk is asked which there are."""
    refused: list[Mapping[str, Any]] = []
    warned: list[str] = []
    failed: list[str] = []
    for workspace in _workspaces(desk, targets, failed, held=held):
        try:
            told = _asked(desk, workspace, targets)
        except (errors.BadInput, OSError, ValueError) as error:  # its settings, say; that hides no other tree
            failed.append(f"{text.one_line(workspace.tree, 80)} ({hook_failures.describe(error)})")
            continue
        refused += told.refused
        warned += told.warned
        failed += told.failed
    return Judged(refused, warned, failed)


def held_near(desk: Desk, targets: Sequence[Target]) -> Iterator[tuple[str, Sequence[str]]]:
    """The other working trees around these paths, each with the patterns that are held there."""
    for workspace in _workspaces(desk, targets, [], held=True):
        visiting = _is_visiting(desk, workspace)
        visit = _desk_of(desk, workspace, visiting)
        try:
            yield workspace.tree, asking.others(visit, visiting=visiting)["patterns"]
        except (errors.RookError, OSError, ValueError):
            continue  # `judged` asks there too, and says why it could not
        finally:
            visit.close()


def _workspaces(desk: Desk, targets: Sequence[Target], failed: list[str], *, held: bool) -> Iterator[Workspace]:
    found = dict.fromkeys(_of_store(desk, targets)) if held else {}
    found |= dict.fromkeys(_of_disk(desk, targets, failed))
    for number, workspace in enumerate(found):
        if number >= LIMIT:
            failed.append(f"it writes in more than {LIMIT} working trees")
            break
        yield workspace


def _own(desk: Desk) -> Workspace:
    return Workspace(desk.house.team, desk.house.places.root)


def _of_disk(desk: Desk, targets: Sequence[Target], failed: list[str]) -> Iterator[Workspace]:
    """By the files that mark the root of a tree. The event's team may have been chosen by hand (ROOK_TEAM, --team):
    then it may hold something in any of these trees too. What can not be read is added to `failed`."""
    own = _own(desk)
    environ = {name: value for name, value in desk.call.environ.items() if name != "ROOK_TEAM"}
    chosen = bool(desk.options.team or desk.call.environ.get("ROOK_TEAM"))
    for folder in folders_above(targets, own.tree):
        if not any(os.path.lexists(os.path.join(folder, name)) for name in BOUNDARIES):
            continue
        try:
            there = places.find(cwd=folder, environ=environ)
        except (errors.BadInput, OSError, ValueError) as error:
            failed.append(f"{text.one_line(folder, 80)} ({hook_failures.describe(error)})")
            continue
        for team in dict.fromkeys((there.team, own.team) if chosen else (there.team,)):
            if Workspace(team, there.root) != own:
                yield Workspace(team, there.root)


def _of_store(desk: Desk, targets: Sequence[Target]) -> Iterator[Workspace]:
    files = [target.path for target in targets if not target.folder]
    folders = [target.folder for target in targets if target.folder]
    told = desk.verb("turn.workspaces", {"paths": files, "folders": folders})
    for each in told["workspaces"]:
        yield Workspace(each["team"], each["tree"])


def _asked(desk: Desk, there: Workspace, targets: Sequence[Target]) -> Judged:
    paths, patterns = spelled_in(there.tree, targets)
    if not paths and not patterns:
        return Judged()
    visiting = _is_visiting(desk, there)
    visit = _desk_of(desk, there, visiting)
    try:
        told = asking.can_write(visit, paths, patterns, visiting=visiting)
    except errors.NotYours:
        return Judged()  # a token is for one team: what lies elsewhere is outside to its bearer, as it was before
    finally:
        visit.close()
    refused = [_placed(there, each) for each in told.verdicts if not each["allow"] and not each.get("outside")]
    return Judged(refused, told.warned, told.failed)


def _is_visiting(desk: Desk, there: Workspace) -> bool:
    return there.team != desk.house.team or isinstance(desk, asking.Stranger)


def _desk_of(desk: Desk, there: Workspace, visiting: bool) -> Desk:
    """In another team no name counts, only the process."""
    call = desk.call._replace(cwd=there.tree)
    options = desk.options._replace(team=there.team)
    if visiting:
        environ = {name: value for name, value in call.environ.items() if name not in ("ROOK_AGENT", "ROOK_TEAM")}
        call, options = call._replace(environ=environ), options._replace(agent=None)
    made = Desk(call, options)
    made.house = call.open_house(cwd=there.tree, environ=call.environ, team=there.team, root=there.tree)
    return made


def _placed(there: Workspace, verdict: Mapping[str, Any]) -> Mapping[str, Any]:
    """A refusal as someone elsewhere has to read it: with the full path, the team, and how to ask from here."""
    full = {name: os.path.join(there.tree, verdict[name]) for name in ("path", "holds") if name in verdict}
    hint = ""
    if "holder" in verdict:
        name = text.one_line(os.path.basename(full["path"]), 60)
        subject = text.word(f"May I have {name}?")
        hint = f"Ask: `rook --team {text.word(there.team)} send {verdict['holder']} -s {subject}`."
    return {**verdict, **full, "team": there.team, "hint": hint or verdict.get("hint", "")}
