"""Where change sets meet: captured and graded when one is reported, never when somebody looks.

`captured` is for a verb's `before`: it reads which lines the change set touches, and what became of them in the bases
of the others. `record` keeps that and grades it against every other change set that may still land. What nobody could
map to the same lines counts as contested: whoever decides is warned once too often rather than once too seldom.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from rookery.core import errors, overlap, symbols, text
from rookery.core.docket import Risk
from rookery.core.overlap import Grade, Hunk, Met, Shift
from rookery.core.symbols import Hint, Symbol
from rookery.core.workers import SETTLED
from rookery.store.port import Row

from .mailbox import checked_limit
from .tx import Tx
from .verbs import Arg, Ask
from .world import World

OTHERS = 500  # open change sets that one is graded against, the newest of them
BASES = 32  # other bases that lines are mapped to
PATHS, HINTS = 50, 20  # of a pair that are kept
TIDIED = 100  # change sets that are over, whose lines go with each report
Touched = Mapping[str, Sequence[Hunk]]


# -- before the transaction ------------------------------------------------------------------------------------------


def captured(world: World, tree: str, base: str, head: str, ask: Ask | None) -> dict[str, Any]:
    """`hunks`, `symbols`, and for the base of each other change set what became of these files there (`shifts`)."""
    found = world.workspaces.touched(tree, base, head)
    asked: list[str] = ask("conflicts.bases", {})["bases"] if ask is not None else []
    others = [each for each in asked if each != base]
    paths = [path for path in found.hunks if not path.endswith("/")]
    return {
        "hunks": found.hunks,
        "symbols": found.symbols,
        "shifts": {other: world.workspaces.shifts(tree, base, other, paths) for other in others},
    }


def bases(tx: Tx) -> dict[str, Any]:
    """Where the other change sets begin that may still land."""
    from .workers import of_agent

    own = of_agent(tx, tx.me())
    return {"bases": [row["base"] for row in tx.all("other_bases", worker=own["id"] if own else "", limit=BASES)]}


# -- in it -----------------------------------------------------------------------------------------------------------


def record(tx: Tx, worker: Row, change: str, captured: Mapping[str, Any], base: str, task: str) -> None:
    """Keeps what a change set touches, and how close it comes to each of the others."""
    hunks, names = captured["hunks"], captured["symbols"]
    for path, places in hunks.items():
        for each in places:
            tx.run("new_hunk", change=change, path=path, start=each.start, length=each.length)
    for each in names:
        tx.run("new_symbol", change=change, **each._asdict())
    tx.run("graded_change", id=change)
    _tidy(tx)
    others = tx.all("other_changes", worker=worker["id"], task=task, limit=OTHERS)
    there = {other["id"]: _there(hunks, base, other, captured["shifts"], worker) for other in others}
    touched, uses = _of_others(tx, there), _names_of_others(tx, names, [id for id, mine in there.items() if mine])
    for other in others:
        mine, id = there[other["id"]], other["id"]
        met = overlap.meetings(mine, touched.get(id, {})) if mine else []
        hints = _hints(change, names, id, uses.get(id, []))
        if met or hints:
            _meets(tx, worker, change, other, met, hints)


def _there(hunks: Touched, base: str, other: Row, shifts: Mapping[str, Any], worker: Row) -> Touched:
    """The same in lines of the other's base; nothing if that is of another repository."""
    if other["base"] == base:
        return hunks
    if other["base"] in shifts:
        known: Mapping[str, Shift] | None = shifts[other["base"]]
        return overlap.shifted(hunks, known) if known is not None else {}
    if other["root"] != worker["root"]:
        return {}
    return {
        path: [overlap.OPAQUE] for path in hunks if not path.endswith("/")
    }  # reported at this moment: nobody mapped it


def _of_others(tx: Tx, there: Mapping[str, Touched]) -> dict[str, dict[str, list[Hunk]]]:
    if not there:
        return {}
    paths = {path for mine in there.values() for path in mine} | {overlap.EVERYTHING}
    everything = [id for id, mine in there.items() if overlap.EVERYTHING in mine]
    found: dict[str, dict[str, list[Hunk]]] = {id: {} for id in everything}
    rows = tx.all("hunks_met", paths=json.dumps(sorted(paths)), changes=json.dumps([*there]))
    for row in rows:
        places = found.setdefault(row["change"], {}).setdefault(row["path"], [])
        places.append(Hunk(row["start"], row["length"]))
    return found


def _names_of_others(tx: Tx, mine: Sequence[Symbol], changes: Sequence[str]) -> dict[str, list[Symbol]]:
    if not mine or not changes:
        return {}
    found: dict[str, list[Symbol]] = {}
    wanted = sorted({each.name for each in mine})
    for row in tx.all("symbols_met", names=json.dumps(wanted), changes=json.dumps([*changes])):
        symbol = Symbol(row["name"], row["how"], row["detail"], row["path"], row["line"])
        found.setdefault(row["change"], []).append(symbol)
    return found


def _hints(change: str, mine: Sequence[Symbol], other: str, theirs: Sequence[Symbol]) -> list[dict[str, Any]]:
    """In both directions, each with who takes it away and who uses it."""
    if not theirs:
        return []
    pairs = [(change, other, each) for each in symbols.hints(mine, theirs)]
    pairs += [(other, change, each) for each in symbols.hints(theirs, mine)]
    return [
        {"by": by, "usedBy": user, "taken": hint.taken._asdict(), "used": hint.used._asdict()}
        for by, user, hint in pairs[:HINTS]
    ]


def _meets(tx: Tx, worker: Row, change: str, other: Row, met: Sequence[Met], hints: Sequence[Any]) -> None:
    grade = overlap.grade(met)
    paths = [{"path": each.path, "grade": each.grade.word, "lines": each.lines} for each in met[:PATHS]]
    tx.run(
        "new_overlap", change=change, other=other["id"], grade=int(grade), paths=json.dumps(paths),
        hints=json.dumps(hints), at=tx.wall,
    )  # fmt: skip
    if grade is not Grade.CONTESTED:
        return
    where = _where(paths)
    tx.run("risk_of_result", worker=other["worker"], risk=int(Risk.HIGH))
    tx.event("change.contested", tx.me()["name"], target=other["author"], ref=change, preview=where, other=other["id"])
    if other["report"] not in SETTLED:  # it works again, and can do something about it
        from . import held

        held.tell(
            tx, [other["author"]], f"{change} contests lines of yours: {where}"[:500],
            f"{worker['id']} ({tx.me()['name']}) changes the same lines as your {other['id']}: {where}. Whoever lands "
            f"second has a conflict there. `rook conflicts {other['id']}` tells more.", tags=("conflict",),
        )  # fmt: skip


def _tidy(tx: Tx) -> None:
    """Of what can not land any more nothing is compared."""
    for row in tx.all("over_changes", limit=TIDIED):
        tx.run("ungraded_change", id=row["id"])
        for query in ("forget_hunks", "forget_symbols", "forget_overlaps", "forget_overlapped"):
            tx.run(query, change=row["id"])


# -- looking ---------------------------------------------------------------------------------------------------------


def of_change(tx: Tx, change: str, limit: int = 20) -> list[dict[str, Any]]:
    """With whom a change set meets, the closest first: those that may still land, or have since it was reported."""
    rows = tx.all("overlaps_of", change=change, limit=limit)
    names = {change: "this"} | {row["id"]: row["worker"] for row in rows}
    return [
        {"change": row["id"], "worker": row["worker"], "author": row["author"], "task": row["task"],
         "title": row["title"] or "", "landed": bool(row["landed"]), **_graded(row, names)}
        for row in rows
    ]  # fmt: skip


def _graded(row: Row, names: Mapping[str, str]) -> dict[str, Any]:
    hints = [_told(each, names) for each in json.loads(row["hints"])]
    return {"grade": Grade(row["grade"]).word, "paths": json.loads(row["paths"]), "hints": hints}


def _told(hint: Mapping[str, Any], names: Mapping[str, str]) -> str:
    made = Hint(Symbol(**hint["taken"]), Symbol(**hint["used"]))
    return symbols.told(made, names.get(hint["by"], hint["by"]), names.get(hint["usedBy"], hint["usedBy"]))


def warnings(met: Iterable[Mapping[str, Any]]) -> list[str]:
    """What to know before a change set is taken to its branch, a line for each that it may break or be broken by."""
    return [
        f"{each['grade']} with {_whose(each)}: {_where(each['paths'])}" if each["paths"]
        else f"{_whose(each)}: {each['hints'][0]}"
        for each in met if each["grade"] in (Grade.CONTESTED.word, Grade.ADJACENT.word) or each["hints"]
    ]  # fmt: skip


def _whose(each: Mapping[str, Any]) -> str:
    return f"{each['change']} of {each['worker']}{', which has landed' if each['landed'] else ''}"


def _where(paths: Sequence[Mapping[str, Any]]) -> str:
    told = [f"{each['path']}:{each['lines']}" if each["lines"] else each["path"] or "everything" for each in paths[:3]]
    more = f" and {len(paths) - len(told)} more" if len(paths) > len(told) else ""
    return text.one_line(", ".join(told) + more, 200)


def listed(
    tx: Tx,
    of: Annotated[str, Arg("a change set or a worker; left out: all", positional=True, metavar="CHANGE|WORKER")] = "",
    *,
    limit: Annotated[int | None, Arg("how many at most", flag="-n")] = None,
) -> dict[str, Any]:
    """Pairs of change sets that come close to each other and may both still land."""
    most = checked_limit(limit, 50)
    if not of:
        return {"of": "", "conflicts": [_pair(row) for row in tx.all("open_overlaps", limit=most)]}
    own = _found(tx, of)
    if own is None:
        return {"of": of, "conflicts": []}
    return {
        "of": own["id"],
        "conflicts": [
            {"change": own["id"], "worker": own["worker"], "other": each.pop("change"),
             "otherWorker": each.pop("worker"), **each}
            for each in of_change(tx, own["id"], most)
        ],
    }  # fmt: skip


def _pair(row: Row) -> dict[str, Any]:
    names = {row["change"]: row["worker"], row["other"]: row["other_worker"]}
    return {
        "change": row["change"], "worker": row["worker"], "other": row["other"], "otherWorker": row["other_worker"],
        "author": row["other_author"], "task": row["other_task"], "title": row["other_title"] or "", "landed": False,
        **_graded(row, names),
    }  # fmt: skip


def _found(tx: Tx, of: str) -> Row | None:
    """The change set that is meant; None if it, or whatever its worker made, can not land any more."""
    from . import changes

    if of.startswith(changes.PREFIX):
        changes.find(tx, of)
        return tx.one("open_change", id=of)
    worker = tx.one("worker", id=of)
    if worker is None:
        raise errors.UnknownName(
            f"No change set or worker {text.one_line(of, 40)}.", "`rook changes` and `rook workers` list them.",
            code="UNKNOWN_CHANGE",
        )  # fmt: skip
    return tx.one("open_change_of_worker", worker=worker["id"])
