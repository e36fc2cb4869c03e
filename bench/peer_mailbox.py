"""A stand-in for a mailbox of files: every message a JSON file and an entry of a dict, which a check scans.

Written for comparison. A message is written to a temporary file and renamed, so no reader sees half of it; without
`durable` nothing is synced, and what was "sent" in the last seconds is gone after a power failure.
"""

import json
import os
import uuid
from datetime import datetime
from typing import Any


class PeerMailbox:
    def __init__(self, folder: str, *, durable: bool = False) -> None:
        self._folder = folder
        self._durable = durable
        self._messages: dict[str, dict[str, Any]] = {}
        os.makedirs(folder, exist_ok=True)

    def send(self, sender: str, to: str, subject: str, body: str, priority: int = 2) -> str:
        message = {
            "id": f"MSG-{uuid.uuid4().hex[:12]}", "from_agent": sender, "to_agent": to, "swarm_name": None,
            "type": "request", "subject": subject, "body": body, "payload": {}, "priority": priority,
            "created_at": datetime.now().isoformat(), "expires_at": None, "status": "unread", "read_at": None,
            "completed_at": None, "reply_to": None, "thread_id": None, "context": {}, "attachments": [], "tags": [],
        }  # fmt: skip
        self._save(message)
        self._messages[message["id"]] = message
        return message["id"]

    def check(self, agent: str) -> list[dict[str, Any]]:
        """All unread mail of an agent, most urgent first, then oldest. It looks at every message there is."""
        now = datetime.now().isoformat()
        found = [
            message
            for message in self._messages.values()
            if message["to_agent"] == agent
            and message["status"] == "unread"
            and (message["expires_at"] is None or message["expires_at"] > now)
        ]
        return sorted(found, key=lambda message: (-message["priority"], message["created_at"]))

    def _save(self, message: dict[str, Any]) -> None:
        folder = os.path.join(self._folder, message["to_agent"].replace("/", "_"), "inbox")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"{message['id']}.json")
        with open(f"{path}.tmp", "w", encoding="utf-8") as file:
            json.dump(message, file, indent=2)
            if self._durable:
                file.flush()
                os.fsync(file.fileno())
        os.rename(f"{path}.tmp", path)
        if self._durable:
            _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    """Until the folder is synced, the renamed file may be missing after a power failure."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
