"""Inboxes rebuilt from the audit export, knowing nothing of the ledger's rows.

What the lines do not carry is the text of messages, which stays with them: `text_of` gives it where an inbox quotes it.
An answer given by `reply` is known by its `reply_to`; that a plain send quoted the same message looks alike here.
"""

from collections.abc import Callable, Sequence
from typing import Any

Line = dict[str, Any]

STEPS = {"mail_read": "read", "mail_processing": "processing", "mail_completed": "completed", "mail_failed": "failed",
         "mail_archived": "archived", "mail_rerouted": "completed"}  # fmt: skip
SEEN = ("mail_read", "mail_processing", "mail_completed", "mail_failed", "mail_rerouted")
LAPSING = ("unread", "read")
UNTOLD = ("mail_expired", "swept", "inbox_open")
FOR_ALL = ("task_start", "task_done", "task_failed")


class Rebuilt:
    def __init__(self, lines: Sequence[Line], text_of: Callable[[str], str] = lambda id: "") -> None:
        self.lines = lines
        self._text_of = text_of
        self._renames = [(line["seq"], line["target"], line["actor"]) for line in lines if line["type"] == "rename"]
        self._removed = {id for line in lines if line["type"] == "swept" for id in line["data"]["messages"]}

    def names_of(self, agent: str) -> set[str]:
        """What it is and was called."""
        found = {agent}
        for _, old, new in reversed(self._renames):
            if new in found:
                found.add(old)
        return found

    def _now_called(self, name: str, seq: int) -> str:
        for at, old, new in self._renames:
            if at > seq and old == name:
                name = new
        return name

    def _messages(self, agent: str) -> list[Line]:
        mine = self.names_of(agent)
        return [
            line
            for line in self.lines
            if line["type"] == "message"
            and mine & set(line["data"]["to"])
            and line["refs"]["messageId"] not in self._removed
        ]

    # -- seed 002's inbox --------------------------------------------------------------------------------------------

    def notices(self, agent: str) -> list[dict[str, Any]]:
        mine = self.names_of(agent)
        mail = {line["seq"] for line in self._messages(agent)}
        opened = [line["seq"] for line in self.lines if line["type"] == "inbox_open" and line["actor"] in mine]
        found: list[dict[str, Any]] = []
        for line in self.lines:
            if line["type"] == "message":
                if line["seq"] in mail:
                    found.append(self._mail_notice(line))
            elif line["type"] in FOR_ALL and opened and line["seq"] > opened[0]:
                found.append(_notice(line))
            elif line["type"] not in UNTOLD and line["actor"] not in mine:
                concerned = {name.strip() for name in line["target"].split(",")} | set(line["data"].get("for", []))
                if concerned & mine:
                    found.append(_notice(line))
        return found

    def _mail_notice(self, line: Line) -> dict[str, Any]:
        refs = line["refs"]
        told = _notice(line)
        told["type"] = "thread_message" if refs["threadId"].startswith("thread-") else "message"
        told["threadId"] = refs["threadId"]
        told["payload"] |= {**refs, "body": self._text_of(refs["messageId"])[:500]}
        if told["type"] == "thread_message":
            told["content"] = self._text_of(refs["messageId"])
        return told

    # -- the mailbox -------------------------------------------------------------------------------------------------

    def mail(self, agent: str, now: str) -> dict[str, dict[str, Any]]:
        """Every message of an agent by its id, as it stands at that time."""
        return {line["refs"]["messageId"]: self._standing(agent, line, now) for line in self._messages(agent)}

    def _standing(self, agent: str, line: Line, now: str) -> dict[str, Any]:
        id, data, mine = line["refs"]["messageId"], line["data"], self.names_of(agent)
        imported: dict[str, Any] = data.get("imported", {})
        steps = [each for each in self.lines if each["refs"].get("messageId") == id and each["type"] in STEPS]
        steps = [each for each in steps if each["target" if each["type"] == "mail_rerouted" else "actor"] in mine]
        expired = [e for e in self.lines if e["type"] == "mail_expired" and e["refs"] == {"messageId": id}]
        state = imported.get("state", "unread")
        for each in sorted([*steps, *(e for e in expired if e["target"] in mine)], key=lambda each: each["seq"]):
            state = STEPS.get(each["type"], "expired")
        expires = data.get("expires")
        if expires and expires <= now and state in LAPSING:
            state = "expired"
        return {
            "id": id, "seq": line["seq"], "from": self._now_called(line["actor"], line["seq"]), "to": line["target"],
            "type": data["type"], "priority": data["priority"], "subject": line["summary"], "thread": data["thread"],
            "reply_to": data.get("reply_to"), "asks": data.get("asks", False), "group": data.get("group"),
            "created_at": imported.get("at") or line["ts"], "expires_at": expires, "state": state,
            "read_at": imported.get("read_at") or _first(steps, SEEN),
            "completed_at": imported.get("completed_at") or _first(steps, ("mail_completed", "mail_rerouted")),
            "answered_at": self._answered(mine, id),
        }  # fmt: skip

    def _answered(self, mine: set[str], id: str) -> str | None:
        answers = [e for e in self.lines if e["type"] == "message" and e["data"].get("reply_to") == id]
        return next((each["ts"] for each in answers if each["actor"] in mine), None)

    # -- tasks -------------------------------------------------------------------------------------------------------

    def statuses(self) -> dict[str, str]:
        """The last status that was told of each task."""
        told = {line["refs"]["taskId"]: line["data"]["status"] for line in self.lines if "taskId" in line["refs"]}
        return {task: status for task, status in told.items() if status != "deleted"}


def _first(steps: Sequence[Line], types: Sequence[str]) -> str | None:
    return next((each["ts"] for each in steps if each["type"] in types), None)


def _notice(line: Line) -> dict[str, Any]:
    payload = {name: value for name, value in line["data"].items() if name != "for"}
    told = {"id": line["id"], "seq": line["seq"], "type": line["type"], "ts": line["ts"], "actor": line["actor"],
            "summary": line["summary"], "payload": payload}  # fmt: skip
    for name in ("taskId", "threadId"):
        if name in line["refs"]:
            told[name] = payload[name] = line["refs"][name]
    return told
