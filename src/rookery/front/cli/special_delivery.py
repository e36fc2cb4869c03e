"""`rook wake NAME --test`: proves the way to an agent from end to end, with a message and its receipts."""

import time
from collections.abc import Mapping
from typing import Any

from rookery.client import waiting
from rookery.core import errors, names, times
from rookery.wake.port import EVERYONE

from .call import Desk, Reply
from .router import answer

TIMEOUT_S = 60.0
SUBJECT = "Wake test"
BODY = "This tests whether you can be woken. Nothing is asked of you; `rook ack {id}` when you see it, or let it be."
ARRIVED = ("handed-over", "seen", "acknowledged")
OVER = (*ARRIVED, "dead", "expired")


def wake(desk: Desk, read: dict[str, Any]) -> Reply:
    if not read["test"]:
        return answer(desk, "wake", desk.verb("wake", {"name": read["name"]}))
    limit_s = times.parse_span(read["timeout"]) / 1000 if read["timeout"] else TIMEOUT_S
    if names.key(desk.verb("pending", {})["agent"]) == names.key(read["name"]):
        raise errors.BadInput("That is you.", "Test another agent, or have one test you.")
    sent = desk.verb(
        "send", {"to": [read["name"]], "subject": SUBJECT, "body": BODY.format(id="ID"), "type": "notification"}
    )
    began = time.monotonic()
    steps: list[dict[str, Any]] = [{"stage": "accepted", "after_ms": 0, "channel": "", "detail": ""}]

    def look() -> bool:
        _note(steps, desk.verb("receipts", {"id": sent["id"]}), began)
        return steps[-1]["stage"] in OVER

    if not _has_a_way(desk, sent):
        limit_s = 0.0  # nothing would come of waiting
    with desk.house.client.listen(EVERYONE) as bell:
        waiting.until(bell, look, timeout_s=limit_s, poll_s=desk.house.settings["poll.s"])
    arrived = any(step["stage"] in ARRIVED for step in steps)
    told = {"name": sent["recipients"][0]["name"], "id": sent["id"], "how": sent["recipients"][0]["how"],
            "woken": arrived, "steps": steps}  # fmt: skip
    return answer(desk, "wake.test", told, code=0 if arrived else 1)


def _has_a_way(desk: Desk, sent: Mapping[str, Any]) -> bool:
    """Or hooks, which show mail in its next turn."""
    told = desk.verb("whois", {"name": sent["recipients"][0]["name"]})
    return bool(told["ways"]) or sent["recipients"][0]["state"] == "woken" or bool(told.get("phase"))


def _note(steps: list[dict[str, Any]], receipts: Mapping[str, Any], began: float) -> None:
    """What is new on the receipt, with how long after the send it was seen from here."""
    after = round((time.monotonic() - began) * 1000)
    for receipt in receipts["recipients"][0]["receipts"][len(steps) :]:
        steps.append({"stage": receipt["stage"], "after_ms": after, "channel": receipt.get("channel", ""),
                      "detail": receipt.get("detail", "")})  # fmt: skip
