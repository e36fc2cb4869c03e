"""Kinds of workers: which there are, and one of them as it holds now.

Files are ours, the user's and the repository's; what was registered is taken before all of them. A repository's file
narrows what is below it; what it would widen holds once the user accepted it. A file that can not be read is an error
to whoever uses that kind and a warning to whoever lists them; the others go on as they are.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

from rookery.core import errors, kinds, names, text, trust
from rookery.core.kinds import Found, Kind
from rookery.core.record import NamedTuple
from rookery.store.port import Row

from .tx import Tx
from .verbs import Arg

ALLOWS = "Start workers with this {key} instead of {below}."
DEFAULT = "default"  # the kind of a worker for which none is named
Name = Annotated[str, Arg("the kind", positional=True, metavar="NAME")]


class Standing(NamedTuple):
    """A kind as it holds, the text it was taken from, and the texts that this one takes the place of."""

    kind: Kind
    found: Found
    instead_of: Sequence[Found]
    not_in_force: Sequence[str] = ()  # fields of a repository's text that the user would have to accept


# -- for others --------------------------------------------------------------------------------------------------------


def find(tx: Tx, name: str) -> Kind:
    """The kind of that name, or why there is none."""
    return _standing(tx, _written(tx, name) or _unknown(tx, name)).kind


def notes(tx: Tx, name: str) -> list[str]:
    """What whoever starts a worker of that kind should know: what its file asks for and does not get."""
    standing = _standing(tx, _written(tx, name) or _unknown(tx, name))
    if not standing.not_in_force:
        return []
    return [f"{standing.found.where}: {', '.join(standing.not_in_force)} {trust.NOT_IN_FORCE}."]


def requests(tx: Tx) -> list[trust.Request]:
    """What the repository's kinds ask for and may not have by themselves."""
    by_key: dict[str, list[Found]] = {}
    for found in tx.world.directory.kinds():
        by_key.setdefault(names.key(found.name), []).append(found)
    asked: list[trust.Request] = []
    for *before, last in by_key.values():
        if last.layer == kinds.REPOSITORY and not last.problem:
            with suppress(errors.BadInput):  # one that can not be read asks for nothing
                asked += _asked(last, _parsed(last), _below(tx, before))
    return asked


def _asked(found: Found, kind: Kind, below: Kind) -> list[trust.Request]:
    return [
        trust.Request(found.where, f"kind {kind.name}: {key}", text.one_line(trust.shown(getattr(kind, key)), 80),
                      ALLOWS.format(key=key, below=text.one_line(trust.shown(getattr(below, key)), 60) or "nothing"),
                      found.digest, found.accepted)
        for key in kinds.widened(kind, below)
    ]  # fmt: skip


# -- verbs -------------------------------------------------------------------------------------------------------------


def listed(tx: Tx) -> dict[str, Any]:
    """Each with what is most asked about it; one that can not be used says why."""
    by_key: dict[str, list[Found]] = {}
    for found in [*tx.world.directory.kinds(), *(_registered(row) for row in tx.all("registered_kinds"))]:
        by_key.setdefault(names.key(found.name), []).append(found)
    return {"kinds": [_row(tx, by_key[key]) for key in sorted(by_key)]}


def show(tx: Tx, name: Name) -> dict[str, Any]:
    """All of a kind, as a worker of it would be bound and told."""
    from rookery.core import briefs

    standing = _standing(tx, _written(tx, name) or _unknown(tx, name))
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


def _standing(tx: Tx, found: Sequence[Found]) -> Standing:
    """What the last of these texts says; refused if that can not be read. A repository's narrows what is below it, and
    no more, until the user accepted it."""
    last, before = found[-1], found[:-1]
    kind = _parsed(last)
    if last.layer != kinds.REPOSITORY or last.accepted:
        return Standing(kind, last, before)
    below = _below(tx, before)
    return Standing(kinds.narrowed(kind, below), last, before, kinds.widened(kind, below))


def _below(tx: Tx, before: Sequence[Found]) -> Kind:
    """What a repository's kind may narrow: the nearest one below it that can be read, else the default kind."""
    for found in (*reversed(before), *reversed(tx.world.directory.kind(DEFAULT))):
        if found.layer != kinds.REPOSITORY:
            with suppress(errors.BadInput):
                return _parsed(found)
    return Kind(DEFAULT)


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


def _row(tx: Tx, found: Sequence[Found]) -> dict[str, Any]:
    try:
        standing = _standing(tx, found)
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
        **({"not_in_force": list(standing.not_in_force)} if standing.not_in_force else {}),
    }  # fmt: skip
