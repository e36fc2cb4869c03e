"""The ways to an agent besides its own asking: what the programs and doors beside its session told, as rows.

A way belongs to a session and goes with it: a new session begins without those of the one before, and whoever leaves
has none. One way of each kind is enough, and the one told last counts. An address says where something is on one
machine in one boot, so it is believed of processes of this machine only: nobody who shows an agent's token can have
mail typed into a terminal that it names.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rookery.core import errors, locality
from rookery.core.delivery import KEEPER
from rookery.store.port import Row

from .tx import REACHED, Tx

DOOR, QUEUE, TERMINAL, RESUME = "door", "queue", "terminal", "resume"  # those that a session has
ADDRESS_LIMIT = 8_000  # characters, as JSON
_written = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


def register(tx: Tx, agent: Row, session: str, channel: str, address: Mapping[str, Any], host: str, boot: str) -> None:
    """From now on this session is reached there too. Told again, it stays as it is, with what was tried."""
    tx.run(
        "endpoint_put", agent=agent["id"], session=session, channel=channel, address=written(address), host=host,
        boot=boot,
    )  # fmt: skip
    tx.raise_flags(REACHED)
    tx.ring(KEEPER)  # mail may have waited for a way


def register_told(tx: Tx, agent: Row, session: str, ways: Mapping[str, Mapping[str, Any] | None]) -> None:
    """What a door told beside a join, as far as it can be believed."""
    for channel, address in ways.items():
        if address and tx.caller.process is not None and locality.is_local(tx.caller, tx.world.host):
            register(tx, agent, session, channel, address, tx.caller.host, tx.caller.boot)


def forget(tx: Tx, agent: Row, session: str) -> None:
    """Nothing that session was reached by is used any more."""
    tx.run("endpoint_forget", agent=agent["id"], session=session)


def of_agent(tx: Tx, agent: Row) -> Sequence[Row]:
    """All ways to an agent. `address` is an object."""
    return [{**row, "address": json.loads(row["address"])} for row in tx.all("endpoint_rows", agent=agent["id"])]


def written(address: Mapping[str, Any]) -> str:
    """One text for one address, whatever the order it was told in."""
    try:
        text = _written(address)
        text.encode()
    except (ValueError, TypeError, RecursionError):
        text = ""
    if not text or "\\u0000" in text or len(text) > ADDRESS_LIMIT:
        raise errors.BadInput(
            "That is no address of a way to an agent.", f"Plain JSON of at most {ADDRESS_LIMIT} characters.",
            code="BAD_ADDRESS",
        )  # fmt: skip
    return text
