"""Evidence: what happened, taken in once, kept within its cap, found by its id, its ref or its words.

Long texts are files on the shelf before the transaction begins (`shelve`), without secrets like everything here. Who is
no keeper and no person tells of itself only. Past the cap the oldest go and are counted (H31); what was pinned, was
shared, or is named by a decision, a result or a bundle stays.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from rookery.core import artifacts as shared
from rookery.core import errors, names, text, times
from rookery.core import evidence as law
from rookery.store.port import Row

from . import decide, held
from .mailbox import checked_limit
from .tx import TASK, Tx
from .verbs import Arg
from .world import World

BATCH = 2_000  # dropped in one go
DAY_MS = 86_400_000
LIST_KINDS = ("", *law.KINDS, *shared.KINDS, shared.RUN)
Ref = Annotated[str, Arg("what: e3, artifact-0001, a result as w3/2, or a whole ref", positional=True, metavar="REF")]


# -- taking it in ------------------------------------------------------------------------------------------------------


def shelve(world: World, args: Mapping[str, Any]) -> dict[str, Any]:
    """Before the transaction: secrets are taken out, and what is too long for a row becomes a file."""
    if len(args["found"]) > law.MOST:
        raise errors.BadInput(f"{len(args['found'])} pieces at once are too many.", f"At most {law.MOST}.")
    found = [law.read(each) for each in args["found"]]
    return {**args, "found": [], "ready": [shelved(world, each)._asdict() for each in found]}


def shelved(world: World, found: law.Found) -> law.Fitted:
    """One piece as its row will be, with all of it on the disk."""
    row, whole = law.fitted(found, world.settings["evidence.body_limit"])
    if not whole:
        return row
    kept = world.shelf.keep_same(law.FOLDER, shared.shortened(whole.decode(), world.settings["artifacts.limit"]))
    return row._replace(file=kept.file, bytes=kept.bytes, digest=kept.digest)


def take(
    tx: Tx,
    found: Annotated[
        list[dict[str, Any]], Arg("{kind, ref, title, body?, data?, failed?}, each", kind="json", cleans=True)
    ],
    *,
    worker: Annotated[str, Arg("the worker it is of")] = "",
    agent: Annotated[str, Arg("the agent it is of; left out: the caller")] = "",
    run: Annotated[str, Arg("the run; left out: the worker's newest")] = "",
    task: Annotated[str, Arg("the task; left out: the worker's")] = "",
    ready: Annotated[list[dict[str, Any]] | None, Arg("as they are stored", hidden=True)] = None,
) -> dict[str, Any]:
    """What is known already is left as it is, so the same transcript may be read again."""
    assert ready is not None, "shelved before"
    whose, row = _whose(tx, worker, agent)
    task = held.find(tx, task)["id"] if task else row["task"] if row else ""
    made: list[tuple[int, str]] = []
    bucket = row["id"] if row else ""
    run = text.one_line(run, 100) or (row["run"] if row else "")
    for each in ready:
        told = int(not _is_trusted(tx))
        done = _insert(tx, law.Fitted(**each), worker=bucket, agent=whose["id"], task=task, run=run, told=told)
        made += [done] if done else []
    dropped = _keep_to_cap(tx, bucket, row, made[-1][0]) if made else 0
    if made:
        tx.event("evidence", whose["name"], ref=bucket, target=whose["name"], ids=[id for _, id in made],
                 preview=_told(ready, made), dropped=dropped)  # fmt: skip
    if tx.me()["name"] not in (names.SYSTEM, names.PERSON):
        tx.beat()
    return {"taken": [id for _, id in made], "known": len(ready) - len(made), "dropped": dropped}


def _told(ready: Sequence[Mapping[str, Any]], made: Sequence[tuple[int, str]]) -> str:
    return ready[-1]["title"] if len(made) == 1 else f"{len(made)} pieces"


def _is_trusted(tx: Tx) -> bool:
    """A background service or the user. What others tell of themselves is recorded as that, and is nobody's check."""
    if tx.caller.daemon_token or tx.caller.grant is not None:
        return False
    return tx.me()["name"] == names.SYSTEM or decide.is_user(tx)


def _whose(tx: Tx, worker: str, agent: str) -> tuple[Row, Row | None]:
    """Of whom it is, and the worker that one is or was. A keeper and the person may name anyone, others themselves."""
    if tx.caller.agent == names.SYSTEM:
        from .supervising import as_system

        as_system(tx)
    me = tx.me()
    row: Row | None = None
    if worker:
        from . import workers

        row = workers.find(tx, worker)
    named = row["name"] if row else agent
    whose = tx.find_agent(named) if named else me
    if whose is None:
        raise tx.unknown(names.check_address(named))
    if not _is_trusted(tx) and whose["id"] != me["id"]:
        raise errors.NotYours(f"You are {me['name']}, not {whose['name']}.", "Tell of what you did yourself.")
    return whose, row or tx.one("worker_of_agent", agent=whose["id"])


def put(tx: Tx, found: law.Found | law.Fitted, *, agent: int, worker: str = "", task: str = "", run: str = "") -> str:
    """One piece inside of another verb; its id. Known already, it is the one that is there. (What is to be read whole
    later was `shelved` before the transaction.)"""
    fitted = found if isinstance(found, law.Fitted) else law.fitted(found, tx.settings["evidence.body_limit"])[0]
    made = _insert(tx, fitted, worker=worker, agent=agent, task=task, run=run)
    if made is None:
        known = tx.one("evidence_known", ref=fitted.ref)
        assert known is not None
        return known["id"]
    _keep_to_cap(tx, worker, tx.one("worker", id=worker) if worker else None, made[0])
    return made[1]


def share(tx: Tx, id: str, name: str, kind: str, task: str, agent: int, kept: Mapping[str, Any], content: str) -> None:
    """What an agent shared is evidence of it. Its file is as it was put; its row can be searched."""
    found = law.Found(law.OUTPUT, id, f"{kind} {name}", content, {"name": name, "kind": kind})
    fitted, _ = law.fitted(found, tx.settings["evidence.body_limit"])
    row = tx.one("worker_of_agent", agent=agent)
    _insert(
        tx, fitted._replace(bytes=kept["bytes"], digest=kept["digest"]), worker=row["id"] if row else "", agent=agent,
        task=task, run=row["run"] if row else "", held=1,
    )  # fmt: skip


def _insert(
    tx: Tx, fitted: law.Fitted, *, worker: str, agent: int, task: str, run: str, held: int = 0, told: int = 0
) -> tuple[int, str] | None:
    """Its number and id; None if it is there."""
    if tx.one("evidence_known", ref=fitted.ref) is not None:
        return None
    number = tx.one("raise_counter", name=f"evidence.{law.LETTERS[fitted.kind]}")
    assert number is not None
    id = law.short_id(fitted.kind, number["value"])
    values = fitted._asdict()
    values.pop("secrets")
    values |= {"worker": worker, "agent": agent, "task": task, "run": run, "held": held, "told": told, "at": tx.wall}
    row = tx.one("new_evidence", id=id, **values)
    assert row is not None
    return row["n"], id


# -- letting go --------------------------------------------------------------------------------------------------------


def _keep_to_cap(tx: Tx, bucket: str, worker: Row | None, newest: int) -> int:
    """The oldest go, as many as are too many; how many that were (H31)."""
    of_kind = json.loads(worker["profile"]).get("max_artifacts", 0) if worker else 0
    cap = law.cap(tx.settings["evidence.cap"], of_kind)
    if not cap:
        return 0
    spare = tx.one("spare_evidence", worker=bucket, limit=cap + BATCH)
    over = spare["kept"] - cap if spare else 0
    if over <= 0:
        return 0
    return _dropped(tx, bucket, tx.run("drop_oldest_evidence", worker=bucket, newest=newest, limit=over))


def _dropped(tx: Tx, bucket: str, count: int) -> int:
    if count:
        tx.run("count_dropped", worker=bucket, dropped=count)
    return count


def let_go(tx: Tx, batch: int) -> int:
    """What is past its time; how much that was."""
    days = tx.settings["evidence.keep_days"]
    rows = tx.all("old_evidence", before=tx.now - days * DAY_MS, limit=batch) if days else []
    for row in rows:
        tx.run("remove_evidence", n=row["n"])
    for bucket in {row["worker"] for row in rows}:
        _dropped(tx, bucket, sum(row["worker"] == bucket for row in rows))
    return len(rows)


# -- looking -----------------------------------------------------------------------------------------------------------


def listed(
    tx: Tx,
    *,
    worker: Annotated[str, Arg("only of this worker", flag="-w")] = "",
    task: Annotated[str, Arg("only of this task", flag="-t")] = "",
    kind: Annotated[str, Arg("only of this kind", flag="-k", choices=LIST_KINDS)] = "",
    failed: Annotated[bool, Arg("only what did not succeed")] = False,
    since: Annotated[int | None, Arg("only newer: 2h ago as 2h, or a time", kind="past")] = None,
    limit: Annotated[int | None, Arg("how many at most", flag="-n")] = None,
) -> dict[str, Any]:
    if kind not in LIST_KINDS:
        raise errors.BadInput(f"No kind {text.quoted(kind)}.", f"One of: {', '.join(LIST_KINDS[1:])}.")
    most = checked_limit(limit, 100)
    if kind == shared.RUN:
        from . import artifacts

        return {"artifacts": artifacts.kept_of_runs(tx, task, most), "dropped": 0}
    if worker:
        from . import workers

        worker = workers.find(tx, worker)["id"]
    form = kind if kind in shared.KINDS else ""
    asked = {"worker": worker, "task": task, "kind": law.OUTPUT if form else kind, "failed": int(failed)}
    rows = _rows(tx, asked, {"since": since or 0, "form": form, "limit": most})
    gone = tx.one("evidence_dropped", worker=worker) if worker else tx.one("evidence_dropped_of_all")
    return {"artifacts": [card(row) for row in rows], "dropped": gone["dropped"] if gone else 0}


def _rows(tx: Tx, asked: Mapping[str, Any], more: Mapping[str, Any]) -> list[Row]:
    """By the index of what narrows it most; the rest is compared."""
    ways = {
        "worker": ("evidence_of_worker", ("worker", "task", "kind", "failed")),
        "task": ("evidence_of_task", ("task", "kind", "failed")),
        "failed": ("evidence_that_failed", ("kind",)),
        "kind": ("evidence_of_kind", ("kind",)),
    }
    query, names = next((ways[name] for name in ways if asked[name]), ("evidence_listed", ()))
    return tx.all(query, **{name: asked[name] for name in names}, **more)


def find(tx: Tx, word: str) -> Row:
    """By its short id, or by its ref: of what was shared that is artifact-0001."""
    row = tx.one("evidence_by_id", id=word) if law.is_short_id(word) else tx.one("evidence_by_ref", ref=word)
    if row is None:
        raise errors.UnknownName(
            f"No artifact {text.one_line(word, 60)}.", "`rook artifacts` lists them.", code="UNKNOWN_ARTIFACT"
        )
    return row


def resolve(tx: Tx, words: Sequence[str]) -> list[str]:
    """The refs of what was named by ids or refs, each once and in order; a result (w3/2) is its own."""
    return list(dict.fromkeys(word if _result(tx, word) else find(tx, word)["ref"] for word in words))


def _result(tx: Tx, word: str) -> Row | None:
    if "/" not in word or ":" in word:
        return None
    from . import bundles

    return bundles.result(tx, word)


def show(
    tx: Tx,
    ref: Ref,
    *,
    full: Annotated[bool, Arg("all of its text, where the ledger holds only its ends")] = False,
) -> dict[str, Any]:
    result = _result(tx, ref)
    if result is not None:
        return _shown_result(result)
    row = find(tx, ref)
    told = card(row) | {"body": row["body"], "encoding": "text", "whole": not row["file"] and not row["shared"]}
    if full and not told["whole"]:
        tx.after.append(lambda _heard: told.update(_whole(tx, row)))
    return told


def _shown_result(row: Row) -> dict[str, Any]:
    """A worker's result, as evidence is shown."""
    from . import bundles

    id, body = f"{row['worker']}/{row['version']}", bundles.result_text(row)
    title = text.one_line(f"{row['outcome']}: {row['summary']}", law.TITLE_LIMIT)
    return {
        "schemaVersion": "1.0.0", "id": id, "short": id, "ref": id, "kind": "result", "title": title, "name": title,
        "failed": False, "pinned": False, "worker": row["worker"], "run": row["run"], "by": row["agent_name"],
        "taskId": row["task"] or None, "data": {name: row[name] for name in ("outcome", "change", "head", "state")},
        "bytes": len(body.encode()), "digest": row["digest"], "file": row["file"], "at": times.iso(row["at"]),
        "body": body, "encoding": "text", "whole": True,
    }  # fmt: skip


def _whole(tx: Tx, row: Row) -> dict[str, Any]:
    """After the transaction: its file, which must be what was put there."""
    from . import artifacts

    file = {"id": row["ref"] if row["shared"] else row["id"], "file": row["shared_file"] or row["file"],
            "bytes": row["bytes"], "digest": row["digest"]}  # fmt: skip
    read = artifacts.content(tx, file)
    return {"body": read["content"], "encoding": read["encoding"], "whole": True}


def pin(
    tx: Tx,
    refs: Annotated[list[str], Arg("what: e3, artifact-0001, or a whole ref", positional=True, metavar="REF")],
) -> dict[str, Any]:
    """It stays, however much comes after it."""
    return _pinned(tx, refs, 1)


def unpin(
    tx: Tx,
    refs: Annotated[list[str], Arg("what: e3, artifact-0001, or a whole ref", positional=True, metavar="REF")],
) -> dict[str, Any]:
    return _pinned(tx, refs, 0)


def _pinned(tx: Tx, refs: Sequence[str], pinned: int) -> dict[str, Any]:
    rows = {row["n"]: row for row in (find(tx, ref) for ref in refs)}
    changed = [row["id"] for n, row in rows.items() if tx.run("pin_evidence", n=n, pinned=pinned)]
    for row in rows.values():
        if row["id"] in changed:
            from . import items  # what records evidence has no use for it

            items.pinned(tx, row, pinned)
    if changed:
        tx.event("evidence.pin", tx.me()["name"], preview=" ".join(changed), ids=changed, pinned=bool(pinned))
    tx.beat()
    return {"pinned": bool(pinned), "changed": changed, "ids": [row["id"] for row in rows.values()]}


def card(row: Row) -> dict[str, Any]:
    """Without its text. What was shared is called as it was, and answers to its short id as well."""
    return {
        "schemaVersion": "1.0.0", "id": row["shared"] or row["id"], "short": row["id"], "ref": row["ref"],
        "kind": row["shared_kind"] or row["kind"], "title": row["title"], "name": row["name"] or row["title"],
        "failed": bool(row["failed"]), "pinned": bool(row["pinned"]), "worker": row["worker"] or None,
        "taskId": row["task"] if row["task"].startswith(TASK) else None, "run": row["run"], "by": row["agent_name"],
        "data": json.loads(row["data"]), "bytes": row["bytes"], "digest": row["digest"],
        "file": row["shared_file"] or row["file"], "at": times.iso(row["at"]),
    }  # fmt: skip
