"""What is loaded into an agent's context: references to evidence, a line each, that become all of it when used.

A reference (a chip, `bundle-0001#2`) is a row of its agent. Its line is put before the agent by its hooks, with its
mail, and `told` is written down once that was done; a session that begins anew is told again. It is used when the agent
asks for it (`expand`), when a prompt names it, or when it was loaded whole: that is written down too, and consumes the
bundle if it was loaded so.
"""

import json
from collections.abc import Sequence
from typing import Annotated, Any

from rookery.core import bundles, errors, names, text
from rookery.core.hooks import Moment
from rookery.store.port import Row

from . import artifacts, evidence, workers
from . import bundles as saved
from .tx import LOADED, Tx
from .verbs import Arg

MOST = 500  # references of one agent
REFERENCE, FULL = "reference", "full"

Full = Annotated[bool, Arg("put all of it before the agent once, as far as there is room")]


# -- loading ---------------------------------------------------------------------------------------------------------


def load_bundle(
    tx: Tx,
    id: saved.Id,
    *,
    full: Full = False,
    consume: Annotated[bool, Arg("it is consumed when the first of its references is used")] = False,
    again: Annotated[bool, Arg("even if it was consumed")] = False,
) -> dict[str, Any]:
    row = saved.find(tx, id)
    if row["state"] == "consumed" and not again:
        raise bundles.consumed(row["id"], row["consumer"], tx.shown(row["consumed_at"]))
    return _load(tx, row["id"], row["title"], saved.entries_of(row), full=full, consume=consume)


def load_worker(tx: Tx, id: workers.Id, *, full: Full = False) -> dict[str, Any]:
    """Its newest result with what that rests on; of one that has reported nothing, the most telling of its evidence."""
    row = workers.find(tx, id)
    latest = tx.one("bundle_result_latest", worker=row["id"])
    entries = _result_with_evidence(tx, latest) if latest else saved.best_of(tx, row)
    if not entries:
        raise errors.Refused(
            f"{row['id']} has made nothing that could be loaded.", f"`rook worker show {row['id']}` tells how it is.",
            code="NOTHING_TO_LOAD",
        )  # fmt: skip
    return _load(tx, row["id"], row["title"], entries, full=full)


def _result_with_evidence(tx: Tx, result: Row) -> list[dict[str, Any]]:
    """What it named as evidence may be a commit or a note, which is no row."""
    refs: list[str] = [ref for ref in json.loads(result["evidence"]) if isinstance(ref, str)]
    found = (_known(tx, ref) for ref in dict.fromkeys(refs))
    return [saved.result_entry(result), *(saved.entry(row) for row in found if row is not None)][: bundles.ITEMS]


def _known(tx: Tx, word: str) -> Row | None:
    try:
        return evidence.find(tx, word)
    except errors.UnknownName:
        return None


def _load(
    tx: Tx, source: str, title: str, entries: Sequence[dict[str, Any]], *, full: bool, consume: bool = False
) -> dict[str, Any]:
    me = _reader(tx)
    tx.run("unload_source", agent=me["id"], source=source)
    there = len(tx.all("loaded_of", agent=me["id"], limit=MOST))
    if there + len(entries) > MOST:
        raise errors.TooLarge(f"{me['name']} has {there} references loaded; {MOST} is the most.",
                              "`rook loaded` lists them, `rook bundle unload ID` takes some out.")  # fmt: skip
    tx.raise_flags(LOADED)
    for number, entry in enumerate(entries, 1):
        tx.run(
            "load_chip", agent=me["id"], source=source, chip=number, ref=entry["ref"], consume=int(consume),
            mode=FULL if full else REFERENCE, line=bundles.line(source, number, entry), at=tx.wall,
        )  # fmt: skip
    tx.event("bundle.loaded", me["name"], target=me["name"], ref=source, preview=title, count=len(entries), full=full,
             consume=consume)  # fmt: skip
    tx.beat()
    return {"agent": me["name"], "source": source, "title": title, "count": len(entries), "full": full,
            "consume": consume, "chips": _listed(tx, me, source)}  # fmt: skip


def _reader(tx: Tx) -> Row:
    me = tx.me()
    if me["name"] == names.PERSON or not me["id"]:
        raise errors.BadInput(
            "Whose context? A person has none.", "Say for which agent: --as NAME; `rook bundle show ID` is for you.",
            code="NO_CONTEXT",
        )  # fmt: skip
    return me


def unload_bundle(tx: Tx, id: saved.Id) -> dict[str, Any]:
    """It need not be there any more."""
    return _unload(tx, id)


def unload_worker(tx: Tx, id: workers.Id) -> dict[str, Any]:
    """It may be forgotten by now."""
    return _unload(tx, id if bundles.is_source(id) else workers.find(tx, id)["id"])


def _unload(tx: Tx, source: str) -> dict[str, Any]:
    me = _reader(tx)
    count = tx.run("unload_source", agent=me["id"], source=source)
    if not count:
        raise errors.UnknownName(
            f"Nothing of {text.one_line(source, 40)} is loaded for {me['name']}.", "`rook loaded` lists what is.",
            code="NOT_LOADED",
        )  # fmt: skip
    tx.event("bundle.unloaded", me["name"], target=me["name"], ref=source, count=count)
    tx.beat()
    return {"agent": me["name"], "source": source, "count": count}


# -- looking ---------------------------------------------------------------------------------------------------------


def loaded(tx: Tx) -> dict[str, Any]:
    me = tx.me()
    return {"agent": me["name"], "chips": _listed(tx, me)}


def _listed(tx: Tx, me: Row, source: str = "") -> list[dict[str, Any]]:
    rows = tx.all("loaded_of", agent=me["id"], limit=MOST) if me["id"] else []
    return [_chip(tx, row) for row in rows if source in ("", row["source"])]


def _chip(tx: Tx, row: Row) -> dict[str, Any]:
    return {
        "chip": bundles.chip_of(row["source"], row["chip"]), "source": row["source"], "ref": row["ref"],
        "line": row["line"], "mode": row["mode"], "consume": bool(row["consume"]), "told": bool(row["told"]),
        "used": tx.shown(row["used_at"]) if row["used_at"] else None,
    }  # fmt: skip


# -- using -----------------------------------------------------------------------------------------------------------


def expand(tx: Tx, chip: Annotated[str, Arg("the reference, as bundle-0001#2", positional=True)]) -> dict[str, Any]:
    """All that stands behind a reference of the caller's."""
    me = _reader(tx)
    row = _find(tx, me, chip)
    entry, body, file = behind(tx, row)
    use(tx, me, row)
    tx.beat()
    card = {"chip": bundles.chip_of(row["source"], row["chip"]), **entry, "text": body, "whole": not file}
    if file:
        tx.after.append(lambda _heard: card.update(_whole(tx, file)))
    return card


def _find(tx: Tx, me: Row, chip: str) -> Row:
    source, number = bundles.parsed(chip)
    row = tx.one("loaded_chip", agent=me["id"], source=source, chip=number)
    if row is None:
        raise errors.UnknownName(
            f"{source}#{number} is not loaded for {me['name']}.", "`rook loaded` lists what is.", code="NOT_LOADED"
        )
    return row


def behind(tx: Tx, row: Row) -> tuple[dict[str, Any], str, Row | None]:
    """What a reference stands for, its text, and the row whose file holds more of that."""
    result = saved.result(tx, row["ref"])
    if result is not None:
        return saved.result_entry(result), saved.result_text(result), None
    found = _known(tx, row["ref"])
    if found is not None:
        more = found if found["file"] or found["shared_file"] else None
        return saved.entry(found), found["body"], more
    kept = _as_saved(tx, row)
    return kept, kept["excerpt"], None


def _as_saved(tx: Tx, row: Row) -> dict[str, Any]:
    """Of what is gone, a bundle still has the beginning."""
    bundle = tx.one("bundle", id=row["source"])
    found = [entry for entry in (saved.entries_of(bundle) if bundle else []) if entry["ref"] == row["ref"]]
    if not found:
        raise errors.Refused(
            f"What {row['source']}#{row['chip']} stood for is gone.", f"`rook bundle unload {row['source']}`",
            code="EVIDENCE_GONE",
        )  # fmt: skip
    return found[0]


def _whole(tx: Tx, row: Row) -> dict[str, Any]:
    """After the commit. A file that is gone leaves what the row holds, and that is said."""
    file = {name: row[name] for name in ("id", "bytes", "digest")} | {"file": row["shared_file"] or row["file"]}
    try:
        read = artifacts.content(tx, file)
    except errors.RookError:
        return {}
    return {"text": text.plain(read["content"]), "whole": True} if read["encoding"] == "text" else {}


def use(tx: Tx, me: Row, row: Row) -> None:
    """It was shown whole."""
    tx.run("use_chip", agent=me["id"], source=row["source"], chip=row["chip"])
    if row["used_at"] is None:
        tx.event("bundle.used", me["name"], target=me["name"], ref=row["source"], chip=row["chip"], of=row["ref"])
    if row["consume"]:
        saved.use_up(tx, me, row["source"])


# -- in its context --------------------------------------------------------------------------------------------------


def offered(tx: Tx, me: Row, moment: Moment, named: Sequence[str], room: int) -> dict[str, Any]:
    """What to put before an agent of what it has loaded: what its prompt names whole, the others as lines."""
    whole, used = _named(tx, me, named, min(room, bundles.FULL_LIMIT))
    rows = tx.all("loaded_of" if moment is Moment.START else "loaded_untold", agent=me["id"], limit=MOST)
    fresh = [row for row in rows if bundles.chip_of(row["source"], row["chip"]) not in used]
    if moment is not Moment.START and any(row["mode"] == FULL for row in fresh):
        full = [bundles.chip_of(row["source"], row["chip"]) for row in fresh if row["mode"] == FULL]
        more, shown = _named(tx, me, full, min(room, bundles.FULL_LIMIT) - len(whole) - 2)
        whole, used = "\n\n".join(filter(None, (whole, more))), [*used, *shown]
        fresh = [row for row in fresh if row["mode"] != FULL]
    lines, chips = bundles.lines(me["name"], [_chip(tx, row) for row in fresh], room - len(whole) - 2)
    said = "\n\n".join(filter(None, (lines, whole)))
    return {"text": said, "chips": chips, "used": used} if said else {}


def _named(tx: Tx, me: Row, chips: Sequence[str], room: int) -> tuple[str, list[str]]:
    """Those of them that are loaded, whole, as many as there is room for."""
    parts: list[str] = []
    used: list[str] = []
    for chip in chips:
        source, number = bundles.parsed(chip)
        row = tx.one("loaded_chip", agent=me["id"], source=source, chip=number)
        if row is None:
            continue
        try:
            entry, body, more = behind(tx, row)
        except errors.Refused:
            continue
        said = bundles.whole(chip, entry, body, room, cut=more is not None)
        if not said:
            break
        parts.append(said)
        used.append(chip)
        room -= len(said) + 2
    return "\n\n".join(parts), used


def told(tx: Tx, me: Row, moment: Moment, chips: Sequence[str], used: Sequence[str]) -> None:
    """It was put before the agent."""
    if moment is Moment.START:
        tx.run("forget_told", agent=me["id"])
    for chip in chips:
        source, number = bundles.parsed(chip)
        tx.run("told_chip", agent=me["id"], source=source, chip=number)
    for chip in used:
        source, number = bundles.parsed(chip)
        row = tx.one("loaded_chip", agent=me["id"], source=source, chip=number)
        if row is not None:
            use(tx, me, row)
