"""Idempotency keys: for a day, a repeat of a call by the same agent gets the same answer; another call is refused."""

import json
from collections.abc import Mapping
from typing import Any

from rookery.core import errors, mail, text
from rookery.store.port import Row

from .tx import Tx

KEY_LIMIT = 200


def remembered(tx: Tx, agent: Row, key: str, args: Mapping[str, Any]) -> dict[str, Any] | None:
    row = tx.one("remembered", agent=agent["id"], key=checked(key), after=oldest(tx))
    if row is None:
        return None
    if row["digest"] != digest(args):
        raise errors.Refused(
            "This idempotency key was used for another call.",
            "Use a new key for a new call.",
            code="IDEMPOTENCY_MISMATCH",
            http=422,
        )
    return json.loads(row["result"]) | {"replayed": True}


def remember(tx: Tx, agent: Row, key: str, args: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    tx.run("remember", agent=agent["id"], key=checked(key), digest=digest(args), result=json.dumps(result))


def oldest(tx: Tx) -> int:
    """What was answered then or before is no longer known, swept or not."""
    return tx.now - tx.settings.ms("retention.keys_s")


def checked(key: str) -> str:
    if len(key) > KEY_LIMIT:
        raise errors.TooLarge(
            f"The key has {len(key)} characters; {KEY_LIMIT} are allowed.", "A UUID will do.", http=422
        )
    return text.check_text(key, "the key")


def digest(args: Mapping[str, Any]) -> str:
    import hashlib

    said = json.loads(mail.as_json(dict(args), "the call"))
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
