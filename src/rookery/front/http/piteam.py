"""The pi-team contract on the wire: the codes, senders, numbers and inbox events that its clients expect.

The routes of the contract call the same verbs as everything else. What they refuse is renamed here to the codes of
pi-team's own server, with its status 400 for what makes no sense.
"""

import math
from collections.abc import Mapping
from typing import Any

from rookery.core import errors, names, text

from .ask import Ask

PROTOCOL = "1.0.0"  # of the contract, in /healthz and in every record
LIMIT, MOST = 20, 200  # messages of a tail
TTL_MS_LIMIT = 10**15
NO_EPOCH = -1  # no claim has it: compared like any other, so that every refusal keeps its place in the order

CODES: Mapping[str, tuple[str, int]] = {
    "UNKNOWN_TEAM": ("TEAM_NOT_FOUND", 404),
    "UNKNOWN_TASK": ("TASK_NOT_FOUND", 404),
    "UNKNOWN_THREAD": ("THREAD_NOT_FOUND", 404),
    "UNKNOWN_DEP": ("INVALID_TASK", 400),
    "RESOURCE_HELD": ("TASK_NOT_CLAIMABLE", 409),
    "BAD_JSON": ("INVALID_JSON", 400),
}
NAMES = ("BAD_NAME", "RESERVED_NAME")
TYPES = {"task_start": "task_claimed", "task_done": "task_completed"}  # the ledger's words, and the contract's
SILENT = ("task_created", "thread_new", "thread_link")  # of the ledger; the contract has no such events


def rename(error: errors.RookError, invalid: str) -> errors.RookError:
    """The refusal under the contract's code. `invalid` is what the route calls a request that makes no sense."""
    if error.code in CODES:
        error.facts["cause"] = error.code
        error.code, error.http_status = CODES[error.code]
    elif isinstance(error, errors.BadInput) and not isinstance(error, errors.TooLarge) and error.http_status == 422:
        code = invalid or ("INVALID_AGENT_ID" if error.code in NAMES else "")
        if code:
            error.facts["cause"] = error.code
            error.code, error.http_status = code, 400
    return error


def check_team(ask: Ask) -> None:
    """A text that can be no team's name names no team."""
    try:
        ask.team()
    except errors.BadInput as error:
        raise errors.UnknownName(error.message, error.hint, code="TEAM_NOT_FOUND") from None


def check_id(ask: Ask, path: str) -> None:
    """A text that no store could hold is the id of nothing."""
    if "id" not in ask.params or path.startswith("/v1/teams"):
        return
    try:
        text.check_text(ask.path("id"), "the id")
    except errors.BadInput as error:
        code = "THREAD_NOT_FOUND" if path.startswith("/v1/threads") else "TASK_NOT_FOUND"
        raise errors.UnknownName(error.message, error.hint, code=code) from None


def check_sender(ask: Ask, *, needed: bool = True) -> None:
    """Refuse what is no agent's name before anything else is looked at."""
    try:
        agent = ask.agent()
    except errors.BadInput as error:
        raise invalid_agent(error.message) from None
    if needed and agent is None:
        raise invalid_agent("Missing: agentId.")


def invalid_agent(message: str) -> errors.BadInput:
    return errors.BadInput(message, names.NAME_CHARS, code="INVALID_AGENT_ID", http=400)


# -- numbers -------------------------------------------------------------------------------------------------------


def epoch(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return NO_EPOCH
    return int(value) if value == int(value) and abs(value) < TTL_MS_LIMIT else NO_EPOCH


def ttl_ms(value: Any, longest: int) -> Any:
    """Any positive number of milliseconds; more than the longest lease is that. The verb refuses everything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        return 0 if isinstance(value, float) else value
    return min(longest, math.ceil(value))


def count(written: str, otherwise: int, most: int) -> int:
    """A number that people wrote, within its bounds; without one, the default."""
    number = int(written) if written.isascii() and written.isdigit() and len(written) <= 15 else 0
    return min(number, most) or otherwise


def cursor(written: str) -> int:
    return int(written) if written.isascii() and written.isdigit() and len(written) <= 15 else 0


# -- texts ---------------------------------------------------------------------------------------------------------


def title(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def listed(value: Any) -> Any:
    """A list of texts without the empty ones; anything else as it is, for the verb to refuse."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        return value
    return list(dict.fromkeys(each.strip() for each in value if each.strip()))


# -- the inbox -----------------------------------------------------------------------------------------------------


def inbox(page: Mapping[str, Any], team: str, agent: str) -> dict[str, Any]:
    """A page of notices as the contract has it: `nextSince` is a text, as its clients take nothing else."""
    told = [_event(event, team, agent) for event in page["events"] if event["type"] not in SILENT]
    return {"events": told, "nextSince": str(page["nextSince"]), "more": page["more"]}


def _event(event: Mapping[str, Any], team: str, agent: str) -> dict[str, Any]:
    content = event.get("content")
    shown = {"summary": content[:120]} if content else {}
    return {
        "schemaVersion": PROTOCOL, "cursor": event["seq"], "teamId": team, "agentId": agent, **event, **shown,
        "type": TYPES.get(event["type"], event["type"]),
    }  # fmt: skip
