"""Rules: what is decided without a person, as data in the ledger, because a worker can write to the repository.

They are asked in the transaction of the report, in their order; the first that matches decides, and the decision names
it. They look only at what was recorded: the kind the worker was started as, the paths of its change set, test runs that
were seen to pass. What a worker says of itself matches nothing.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from rookery.core import docket, errors, text, times
from rookery.core.docket import Action
from rookery.store.port import Row

from .tx import Tx
from .verbs import Arg
from .world import ReadFirst

if TYPE_CHECKING:
    from rookery.extensions import Policy

NAME_LIMIT = 60
MOST = 100  # rules of a team
Name = Annotated[str, Arg("what it is called: each decision names it", positional=True, metavar="NAME")]


def add(
    tx: Tx,
    name: Name,
    *,
    kinds: Annotated[list[str] | None, Arg("only results of this kind of worker (repeatable)", flag="--kind")] = None,
    hosts: Annotated[list[str] | None, Arg("only of this agent program (repeatable)", flag="--host")] = None,
    paths: Annotated[list[str] | None, Arg("only if all it changed is in here (repeatable)", flag="--path")] = None,
    max_files: Annotated[int | None, Arg("at most so many files", metavar="N")] = None,
    max_lines: Annotated[int | None, Arg("at most so many lines added and removed", metavar="N")] = None,
    policies: Annotated[
        list[str] | None, Arg("only if this policy of an extension says so, too (repeatable)", flag="--policy")
    ] = None,
    checks: Annotated[
        str, Arg("green: recorded test runs, at least one, all passed", choices=(docket.ANY, docket.GREEN))
    ] = docket.GREEN,
    risk: Annotated[str, Arg("at most this risk", choices=("low", "medium", "high"))] = "low",
) -> dict[str, Any]:
    """A rule of that name is replaced. What is not said does not narrow it, but checks and risk always do."""
    matches = {
        "kinds": kinds or [], "hosts": hosts or [], "paths": paths or [], "files": max_files, "lines": max_lines,
        "policies": policies or [], "checks": checks, "risk": risk,
    }  # fmt: skip
    docket.check_rule(matches)
    _check_policies(tx, policies or [])
    known = tx.all("rules")
    named = _checked(name)
    if len(known) >= MOST and not any(row["name"] == named for row in known):
        raise errors.Refused(f"There are {MOST} rules already.", "`rook rule remove NAME`.", code="TOO_MANY_RULES")
    tx.run("put_rule", name=named, matches=json.dumps(matches), verdict=Action.PROMOTE, by=tx.me()["id"], at=tx.wall)
    tx.event("rule.add", tx.me()["name"], ref=named, preview=_told(matches))
    tx.beat()
    return next(card(row) for row in tx.all("rules") if row["name"] == named)


def listed(tx: Tx) -> dict[str, Any]:
    return {"rules": [card(row) for row in tx.all("rules")]}


def remove(tx: Tx, name: Name) -> dict[str, Any]:
    if not tx.run("drop_rule", name=name):
        raise errors.UnknownName(f"No rule {text.quoted(name, 40)}.", "`rook rule list`.", code="UNKNOWN_RULE")
    tx.event("rule.remove", tx.me()["name"], ref=name)
    tx.beat()
    return {"name": name, "removed": True}


def _checked(name: str) -> str:
    said = text.check_text(name, "the name").strip()
    if not said or len(said) > NAME_LIMIT or not said.isprintable() or said.startswith("-"):
        raise errors.BadInput(f"{text.quoted(name, 40)} is no name for a rule.", "As `small-docs`.", code="BAD_NAME")
    return said


def first(tx: Tx, seen: docket.Seen) -> str:
    """The name of the rule that decides; "" if a person has to."""
    return next((row["name"] for row in tx.all("rules") if row["active"] and _fits(tx, row, seen)), "")


def _fits(tx: Tx, row: Row, seen: docket.Seen) -> bool:
    matches = json.loads(row["matches"])
    return docket.fits(matches, seen) and _agreed(tx, matches.get("policies") or [], row["verdict"], seen)


def _agreed(tx: Tx, named: Sequence[str], verdict: str, seen: docket.Seen) -> bool:
    """Does each of these policies say the same? One that is not there, fails or takes long does not."""
    if not named:
        return True
    known = _installed(tx)
    return all(name in known and known[name](docket.facts(seen)) == verdict for name in named)


def _installed(tx: Tx) -> "dict[str, Policy]":
    from rookery import extensions  # few rules name one

    if not extensions.is_loaded(extensions.POLICIES):
        raise ReadFirst(lambda: extensions.found(extensions.POLICIES))
    return extensions.policies(tx.settings)


def _check_policies(tx: Tx, named: Sequence[str]) -> None:
    known = _installed(tx) if named else {}
    for name in named:
        if name not in known:
            raise errors.UnknownName(
                f"No policy {text.quoted(name, 40)} is installed.", f"There are: {', '.join(sorted(known)) or 'none'}.",
                code="UNKNOWN_POLICY",
            )  # fmt: skip


def _told(matches: dict[str, Any]) -> str:
    """A rule in a line."""
    parts: list[str] = []
    for name, word in (("kinds", "kind"), ("hosts", "host"), ("paths", "in"), ("policies", "policy")):
        given: Sequence[str] = matches.get(name) or ()
        parts += [f"{word} {', '.join(given)}"] if given else []
    parts += [f"at most {matches[name]} {name}" for name in docket.RULE_NUMBERS if matches.get(name) is not None]
    parts += ["checks green"] if matches.get("checks") == docket.GREEN else []
    return "; ".join([*parts, f"risk {matches['risk']} or less"])


def card(row: Row) -> dict[str, Any]:
    matches = json.loads(row["matches"])
    return {
        "name": row["name"], "position": row["position"], "matches": matches, "told": _told(matches),
        "verdict": row["verdict"], "active": bool(row["active"]), "by": row["by"] or "", "at": times.iso(row["at"]),
    }  # fmt: skip
