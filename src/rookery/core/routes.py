"""The law of routes: who may send what to whom, by the team's own rules.

    [routes.reports]
    from = ["worker-*", "role:worker"]        # whom the rule binds; left out: everyone
    to = ["lead", "role:reviewer"]            # whom they may write to
    types = ["update", "task-complete"]       # types or TX's words for them; left out: any
    status = ["complete", "block*"]           # what the message's status may be; left out: any, none too

Rules allow. Whoever no rule binds is free; whoever one does may send what one of those that bind it allows. The person
and the system are bound by nothing, and the person can always be written to. `*` stands for any characters, case does
not count, `role:`, `program:` and `kind:` (of a worker) look at what an agent is instead of its name.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rookery.core.record import NamedTuple

from . import errors, names, text

KINDS = ("role", "program", "kind")


class Route(NamedTuple):
    name: str
    senders: tuple[str, ...]
    to: tuple[str, ...]
    types: tuple[str, ...]
    status: tuple[str, ...]


class Party(NamedTuple):
    name: str
    role: str = ""
    program: str = ""
    kind: str = ""  # of the worker it is; empty for whoever is none


class Verdict(NamedTuple):
    refused: tuple[str, ...]  # recipients that no rule lets the sender write this to
    bound_by: tuple[str, ...]  # the rules that bind it


FREE = Verdict((), ())


def parse(table: Mapping[str, Mapping[str, Any]]) -> list[Route]:
    return [_route(name, entry) for name, entry in table.items()]


def _route(name: str, entry: Mapping[str, Any]) -> Route:
    senders, to = (tuple(_checked(name, each) for each in entry.get(side, ["*"])) for side in ("from", "to"))
    types, status = (tuple(entry.get(side, ["*"])) for side in ("types", "status"))
    return Route(name, senders, to, types, status)


def _checked(route: str, pattern: str) -> str:
    kind, colon, _ = pattern.partition(":")
    if colon and kind not in KINDS:
        raise errors.BadInput(
            f"The rule {text.quoted(route, 40)} speaks of {text.quoted(pattern, 40)}.",
            f"A name with `*` in it, or one of {', '.join(f'{each}:' for each in KINDS)}.",
            code="BAD_SETTING",
        )
    return pattern


def judge(
    routes: Sequence[Route], sender: Party, recipients: Sequence[Party], types: Sequence[str], status: str
) -> Verdict:
    if names.key(sender.name) in names.RESERVED:
        return FREE
    binding = [route for route in routes if _any(route.senders, sender)]
    if not binding:
        return FREE
    fitting = [route for route in binding if _says(route.types, types) and _says(route.status, (status,))]
    refused = [
        each.name
        for each in recipients
        if names.key(each.name) != names.PERSON and not any(_any(route.to, each) for route in fitting)
    ]
    return Verdict(tuple(refused), tuple(route.name for route in binding))


def covered(patterns: Sequence[str], party: Party, setting: str) -> bool:
    """Is it one of those that a list of patterns in a setting means?"""
    return _any([_checked(setting, pattern) for pattern in patterns], party)


def _any(patterns: Sequence[str], party: Party) -> bool:
    return any(_covers(pattern, party) for pattern in patterns)


def _covers(pattern: str, party: Party) -> bool:
    kind, colon, rest = pattern.partition(":")
    if not colon:
        return matches(pattern, party.name)
    known: dict[str, str] = {"role": party.role, "program": party.program, "kind": party.kind}
    return bool(known[kind] or kind != "kind") and matches(rest, known[kind])


def _says(patterns: Sequence[str], words: Sequence[str]) -> bool:
    return any(matches(pattern, word) for pattern in patterns for word in words)


def matches(pattern: str, word: str) -> bool:
    """`*` is any characters, none too; each part is placed as far left as it goes, which no later part loses by."""
    first, *rest = names.key(pattern).split("*")
    word = names.key(word)
    if not rest:
        return word == first
    *middle, last = rest
    if len(word) < len(first) + len(last) or not word.startswith(first) or not word.endswith(last):
        return False
    at, end = len(first), len(word) - len(last)
    for part in middle:
        found = word.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def refusal(verdict: Verdict, sender: str, type: str) -> errors.NotYours:
    return errors.NotYours(told(verdict, sender, type), _REMEDY, code="NO_ROUTE", routes=list(verdict.bound_by))


_REMEDY = "Send it to whom they name, or `rook escalate`; `rook config routes` shows them."


def told(verdict: Verdict, sender: str, type: str) -> str:
    whom = ", ".join(verdict.refused[:5]) + (" and others" if len(verdict.refused) > 5 else "")
    rules = ", ".join(text.one_line(name, 50) for name in verdict.bound_by[:5])
    return f"{sender} has no route to {whom} for a {type}: it is bound by {rules}."
