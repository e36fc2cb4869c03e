"""`rook init`, and the question that its git hook asks. (The design is in `front.init`.)"""

from collections.abc import Mapping, Sequence
from typing import Any

from rookery.core import errors, text
from rookery.front.init import plan
from rookery.runtime import settling

from . import show_init
from .call import Desk, Reply
from .router import document

YES = ("y", "yes")
ASKED_AT_ONCE = 900
TOLD = 10


def run(desk: Desk, read: dict[str, Any]) -> Reply:
    _check_alone(desk)
    where = plan.ground(desk)
    made = _planned(desk, read, where)
    told: dict[str, Any] = {
        "root": where.root, "undo": read["undo"], "changes": plan.mapping(made, where.root), "notes": made.notes,
        "done": False,
    }  # fmt: skip
    if read["dry_run"] or not made.changes:
        _forget(read, where, made)
        return _shown(desk, told)
    if not read["yes"] and not _agreed(desk, told):
        return Reply("Nothing was written.\n")
    settling.apply(made.changes, where.record_at, made.record)
    settling.remove_folders(made.folders)
    return _shown(desk, told | {"done": True})


def _shown(desk: Desk, told: Mapping[str, Any]) -> Reply:
    if desk.options.json:
        return Reply(document(told))
    return Reply(show_init.shown(told, terminal=desk.call.terminal))


def _check_alone(desk: Desk) -> None:
    """It asks, and it looks at the caller's PATH: a daemon can do neither for it."""
    try:
        desk.call.emit("")
    except errors.BadInput:
        raise errors.Refused(
            "`rook init` can not run inside the daemon.", "`rook down`, then `rook init` again.", code="RUNS_ALONE"
        ) from None


def _planned(desk: Desk, read: Mapping[str, Any], where: plan.Ground) -> plan.Plan:
    if read["undo"]:
        if others := [flag for flag in ("host", "closed", "http", "git_hook") if read[flag]]:
            shown = ", ".join(f"--{flag.replace('_', '-')}" for flag in others)
            raise errors.BadInput(f"--undo takes back all of it, and goes without {shown}.", "rook init --undo",
                                  code="USAGE")  # fmt: skip
        return plan.take_back(desk, where)
    chosen = plan.hosts(desk, where.root, read["host"])
    want = plan.wanted(desk, where.root, closed=read["closed"], http=read["http"])
    return plan.put_in(desk, where, chosen, want, git_hook=read["git_hook"])


def _forget(read: Mapping[str, Any], where: plan.Ground, made: plan.Plan) -> None:
    """Where nothing is left to bring back, the record goes too."""
    if read["undo"] and not read["dry_run"]:
        settling.apply([], where.record_at, None)


def _agreed(desk: Desk, told: Mapping[str, Any]) -> bool:
    if desk.options.json or desk.call.ask is None:
        raise errors.BadInput(
            "There is nobody here who could be asked.", "--yes writes it, --dry-run shows it.", code="NOBODY_TO_ASK"
        )
    desk.call.emit(_shown(desk, told).out)
    question = "Bring this back? [y/N] " if told["undo"] else "Write this? [y/N] "
    return desk.call.ask(question).strip().lower() in YES


# -- for git -----------------------------------------------------------------------------------------------------------


def can_commit(desk: Desk, _read: dict[str, Any]) -> Reply:
    """Exit 1: someone else holds one of them. What goes wrong here itself is told, and stops no commit."""
    given = [_nameable(name) for name in desk.call.read_stdin().split("\0") if name]
    try:
        parts = [given[start : start + ASKED_AT_ONCE] for start in range(0, len(given), ASKED_AT_ONCE)]
        told_of = [desk.verb("can-write", {"paths": part}) for part in parts]
    except errors.RookError as error:
        told = f"rook: this commit was not checked against what other agents hold. {error.message}\n"
        return Reply(document({"checked": False, **error.as_dict()}) if desk.options.json else "", told)
    refused = [each for told in told_of for each in told["paths"] if not each["allow"]]
    held = [each for each in refused if each.get("holder") or each.get("bound")]
    if desk.options.json:
        return Reply(document({"checked": True, "allow": not held, "paths": held}), code=1 if held else 0)
    if held:
        return Reply(err=_refusal(held), code=1)
    warned = [text.one_line(each, 300) for told in told_of for each in told["warnings"]]
    return Reply(err="".join(f"rook: {each}\n" for each in warned[:TOLD]))


def _nameable(name: str) -> str:
    """A name that is no UTF-8 can not be held by itself; the folder above it can."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _refusal(held: Sequence[Mapping[str, Any]]) -> str:
    if held[0].get("bound"):
        return f"rook: not committed: {held[0]['reason']}.\n"
    lines = [f"rook: this commit touches what {'another agent holds' if len(held) == 1 else 'other agents hold'}:"]
    lines += [f"      {text.one_line(each['path'], 120)}: {text.one_line(each['reason'], 300)}" for each in held[:TOLD]]
    if len(held) > TOLD:
        lines.append(f"      ... and {len(held) - TOLD} more")
    holder = held[0]["holder"]
    lines += [
        "      Leave them out (`git restore --staged PATH`), or ask: `rook send "
        f'{holder} -s "May I commit {text.one_line(held[0]["path"], 60)}?"`.',
        "      A person who knows better: `git commit --no-verify`.",
    ]
    return "\n".join(lines) + "\n"
