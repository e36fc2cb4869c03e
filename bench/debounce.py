"""The peer of `delivery`: a mailbox of files behind a watcher that waits until 50 ms have passed without a new one.

What several systems of this kind do. The sender writes a file beside the box, syncs it and renames it into place; the
watcher is woken by the kernel, puts its timer back with every file that comes, and reads the box when it runs out.
"""

import json
import os
import select
import time
from typing import Any

from rookery.runtime.inotify import Watch

DEBOUNCE_S = 0.05
PATIENCE_S = 30.0


class Box:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._sent = 0

    def send(self, subject: str, body: str) -> None:
        self._sent += 1
        name = f"{self._sent:06d}.json"
        with open(os.path.join(self.folder, f".{name}"), "w", encoding="utf-8") as file:
            json.dump({"subject": subject, "body": body}, file)
            file.flush()
            os.fsync(file.fileno())
        os.rename(file.name, os.path.join(self.folder, name))


def wait_for_files(pipe: Any, folder: str) -> None:
    """Says "about to wait" and, when it has read the box, when that was and how many messages were in it."""
    watch = Watch(folder)
    pipe.send("ready")
    while True:
        try:
            pipe.recv()
        except EOFError:
            return
        pipe.send("about to wait")
        _quiet(watch)
        read = [_taken(os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if name[0] != "."]
        pipe.send((time.monotonic(), len(read)))


def _quiet(watch: Watch) -> None:
    """Until something came, and then nothing more for so long."""
    limit = PATIENCE_S
    while select.select([watch], [], [], limit)[0]:
        watch.drained()
        limit = DEBOUNCE_S


def _taken(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        message = json.load(file)
    os.unlink(path)
    return message
