"""Records that agent programs keep of their sessions, for whoever reads evidence out of them: which, and how far.

A hook only says where a record is, once, when its session begins: it has no time to read. A keeper reads on from where
it was, whenever there is one. Workers have their own (`keeper.metering`), so theirs are not listed.
"""

from typing import Annotated, Any

from rookery.core import locality
from rookery.store.port import Row

from .tx import Tx
from .verbs import Arg

LOOK = 500
KEPT_MS = 30 * 86_400_000  # so long a session that is over may go on and be read on
PATH_LIMIT, PLACE_LIMIT = 1_000, 100


def own_record(tx: Tx, me: Row, host: str, host_id: str, path: str) -> str:
    """The path of the session's record if it may be read, "" otherwise.

    Only a process of this machine registers one, only below its own program's folder of records, and not while it
    belongs to a session of another agent or another team (H47).
    """
    process = tx.caller.process
    if not path or process is None or not locality.is_local(tx.caller, tx.world.host):
        return ""
    found = tx.world.machine.own_record(host, host_id, path, process)
    taken = tx.one("store_transcript_of_another", path=found, agent=me["id"]) if found else None
    return found if taken is None and len(found) <= PATH_LIMIT else ""


def opened(tx: Tx, me: Row, session: str, host: str, host_id: str, path: str) -> None:
    """Have the record of a session read, but for workers: their supervisor does."""
    if path and tx.one("worker_of_agent", agent=me["id"]) is None:
        tx.run("open_transcript", path=path, host=host, host_id=host_id, session=session, at=tx.wall)


def teams(tx: Tx) -> dict[str, Any]:
    return {"teams": [row["name"] for row in tx.all("store_teams_with_transcripts")]}


def due(tx: Tx) -> dict[str, Any]:
    rows = tx.all("open_transcripts", machine=tx.world.host, limit=LOOK)
    return {
        "transcripts": [
            {"path": row["path"], "host": row["host"], "host_id": row["host_id"], "session": row["session"],
             "place": row["place"], "agent": row["name"], "cwd": row["cwd"], "over": row["ended_at"] is not None}
            for row in rows
        ]
    }  # fmt: skip


def read(
    tx: Tx,
    path: Annotated[str, Arg("the record")],
    *,
    session: Annotated[str, Arg("whose it was")],
    place: Annotated[str, Arg("how far it was read, in the reader's own words")],
    closed: Annotated[bool, Arg("to its end, and its session is over")] = False,
) -> dict[str, Any]:
    """After what was read was taken in: whoever is killed in between reads it again, and adds nothing."""
    told = tx.run(
        "read_transcript", path=path, session=session, place=place[:PLACE_LIMIT], closed=int(closed), at=tx.wall
    )
    if closed:
        tx.run("forget_transcripts", before=tx.wall - KEPT_MS)
    return {"path": path, "fenced": not told}
