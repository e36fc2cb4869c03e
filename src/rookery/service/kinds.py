"""Kinds of workers: which there are, and one of them as it holds now.

Files are ours, the person's and the repository's; what was registered is taken before all of them. A file that can not
be read is an error to whoever uses that kind and a warning to whoever lists them; the others go on as they are.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from rookery.core import errors, kinds, names, text
from rookery.core.kinds import Found, Kind
from rookery.core.record import NamedTuple
from rookery.store.port import Row

from .tx import Tx
from .verbs import Arg

Name = Annotated[str, Arg("the kind", positional=True, metavar="NAME")]


class Standing(NamedTuple):
    """A kind as it holds, the text it was taken from, and the texts that this one takes the place of."""

    kind: Kind
    found: Found
    instead_of: Sequence[Found]


# -- for others --------------------------------------------------------------------------------------------------------


def find(tx: Tx, name: str) -> Kind:
    """The kind of that name, or why there is none."""
    return _standing(_written(tx, name) or _unknown(tx, name)).kind


# -- verbs -------------------------------------------------------------------------------------------------------------


def listed(tx: Tx) -> dict[str, Any]:
    """Each with what is most asked about it; one that can not be used says why."""
    by_key: dict[str, list[Found]] = {}
    for found in [*tx.world.directory.kinds(), *(_registered(row) for row in tx.all("registered_kinds"))]:
        by_key.setdefault(names.key(found.name), []).append(found)
    return {"kinds": [_row(by_key[key]) for key in sorted(by_key)]}


def show(tx: Tx, name: Name) -> dict[str, Any]:
    """All of a kind, as a worker of it would be bound and told."""
    from rookery.core import briefs

    standing = _standing(_written(tx, name) or _unknown(tx, name))
    return {
        **kinds.as_data(standing.kind), **_place(standing), "guardrails": briefs.guardrails(standing.kind),
        "written": standing.found.written,
    }  # fmt: skip


def add(
    tx: Tx,
    written: Annotated[str, Arg("the kind as Markdown with front matter", hidden=True)],
) -> dict[str, Any]:
    """Registered for this team. It takes the place of a file of that name until it is dropped."""
    me = tx.me()
    if len(written.encode()) > kinds.LIMIT:
        raise errors.TooLarge(f"A kind has at most {kinds.LIMIT:,} bytes.", "Shorten it.")
    kind = kinds.parse(written, "the given text")
    before = _written(tx, kind.name)
    tx.run("register_kind", key=names.key(kind.name), written=written, set_by=me["id"], at=tx.wall)
    loosened = _loosened(kind, before)
    tx.event("kind.added", me["name"], target=kind.name, preview=kind.description, loosened=loosened)
    tx.beat()
    standing = Standing(kind, Found(kind.name, kinds.REGISTERED, f"registered by {me['name']}", written), before)
    note = f"It no longer has {loosened}, which {before[-1].where} has." if loosened else ""
    return {"name": kind.name, **_place(standing), **({"warning": note} if note else {})}


def drop(tx: Tx, name: Name) -> dict[str, Any]:
    """No longer registered; a file of that name holds again."""
    me = tx.me()
    if not tx.run("drop_kind", key=names.key(name)):
        _unknown(tx, name, "No kind {name} is registered.")
    tx.event("kind.dropped", me["name"], target=name)
    tx.beat()
    return {"name": name, "instead": [found.where for found in _written(tx, name)][-1:]}


# -- what holds --------------------------------------------------------------------------------------------------------


def _written(tx: Tx, name: str) -> list[Found]:
    """All texts of that name, the one that holds last."""
    found = list(tx.world.directory.kind(names.check_name(name)))
    row = tx.one("registered_kind", key=names.key(name))
    return [*found, _registered(row)] if row else found


def _registered(row: Row) -> Found:
    return Found(row["name"], kinds.REGISTERED, f"registered by {row['set_by'] or names.SYSTEM}", row["written"])


def _standing(found: Sequence[Found]) -> Standing:
    """What the last of these texts says; refused if that can not be read, or loosens what a repository may not."""
    last, before = found[-1], found[:-1]
    kind = _parsed(last)
    if last.layer == kinds.REPOSITORY and (loosened := _loosened(kind, before)):
        hint = f"Give it another name; or whoever leads registers it: `rook kinds add {text.word(last.where)}`."
        said = f"it gives up {loosened}, which the kind {kind.name} has elsewhere; a repository can not do that"
        raise kinds.refused(last.where, 1, said, hint)
    return Standing(kind, last, before)


def _parsed(found: Found) -> Kind:
    if found.problem:
        raise kinds.refused(found.where, 1, found.problem, "Correct or remove it.")
    return kinds.parse(found.written, found.where, "" if found.layer == kinds.REGISTERED else found.name)


def _loosened(kind: Kind, before: Sequence[Found]) -> str:
    """Which bound of a text of that name this one gives up. One that can not be read bounds nothing."""
    for found in before:
        try:
            given_up = kinds.loosens(kind, _parsed(found))
        except errors.BadInput:
            continue
        if given_up:
            return given_up
    return ""


def _unknown(tx: Tx, name: str, said: str = "No kind {name}.") -> Any:
    known = sorted({found.name for found in tx.world.directory.kinds()})
    hint = names.did_you_mean(name, known) or "`rook kinds` lists them; others go to .rook/kinds/NAME.md."
    raise errors.UnknownName(said.format(name=text.quoted(name, 40)), hint, code="UNKNOWN_KIND")


# -- as it is shown ----------------------------------------------------------------------------------------------------


def _row(found: Sequence[Found]) -> dict[str, Any]:
    try:
        standing = _standing(found)
    except errors.BadInput as error:
        last = found[-1]
        return {"name": last.name, "layer": last.layer, "source": last.where, "problem": error.message,
                "hint": error.hint}  # fmt: skip
    kind = standing.kind
    shown = ("description", "host", "model", "read_only", "plan_gate", "worktree", "can_spawn", "max_active")
    return {"name": kind.name, **_place(standing), **{key: getattr(kind, key) for key in shown}}


def _place(standing: Standing) -> dict[str, Any]:
    return {
        "layer": standing.found.layer, "source": standing.found.where,
        "instead_of": [found.where for found in standing.instead_of],
    }  # fmt: skip
