"""Records that agent programs keep of their sessions, for whoever reads evidence out of them: which, and how far.

A hook only says where a record is, once, when its session begins: it has no time to read. A keeper reads on from where
it was, whenever there is one. Workers have their own (`keeper.metering`), so theirs are not listed.
"""

from typing import Annotated, Any

from rookery.store.port import Row

from .tx import Tx
from .verbs import Arg

LOOK = 500
KEPT_MS = 30 * 86_400_000  # so long a session that is over may go on and be read on
PATH_LIMIT, PLACE_LIMIT = 1_000, 100


def opened(tx: Tx, me: Row, session: str, host: str, host_id: str, path: str) -> None:
    """A session tells where it is written down."""
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
