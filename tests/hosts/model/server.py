"""The scripted model as a process: `python -m tests.hosts.model.server SCRIPT LOG PORT`, on loopback only.

Each request becomes one line of JSON in LOG before it is answered, so that the log of a program that hangs or is ended
is whole. A path that no wire serves is answered with 404 and written down as well: that is how a new need of a program
is found.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from . import anthropic, chat, gemini, responses
from .script import Answer, Asked, Move, Parts, next_move, part, say

WIRES = (anthropic, responses, gemini, chat)
MEANWHILE_S = 60.0


class Model(ThreadingHTTPServer):
    """Port 0 takes a free one; `server_address` tells which."""

    daemon_threads = True

    def __init__(self, script: Path, log: Path, port: int) -> None:
        super().__init__(("127.0.0.1", port), Turn)
        self._script: list[Move] | Parts = json.loads(script.read_text())
        self._log = log
        self._lock = threading.Lock()
        self._life = threading.Lock()
        self._lived: set[tuple[str, int]] = set()
        self._count = 0

    def handle_request_body(self, path: str, body: dict[str, Any]) -> tuple[int, str, Iterator[bytes]]:
        wire = next((wire for wire in WIRES if wire.serves(path)), None)
        if wire is None:
            self._write_down({"path": path, "body": body, "status": 404})
            return 404, "application/json", iter([b'{"error": {"message": "the scripted model has no such path"}}'])
        asked = wire.read(body)
        chosen = self._chosen(asked)
        count = self._write_down({"path": path, "body": body, "asked": asked._asdict(), "answer": chosen._asdict()})
        return 200, *wire.answer(path, body, chosen.move, f"{count:04}")

    def _chosen(self, asked: Asked) -> Answer:
        who, moves = part(self._script, asked)
        return self._live_through((who, asked.turns), next_move(moves, asked))

    def _live_through(self, turn: tuple[str, int], chosen: Answer) -> Answer:
        """What happens meanwhile happens once, however often the program asks."""
        with self._life:
            if turn not in self._lived and chosen.meanwhile:
                self._lived.add(turn)
                if said := next(filter(None, map(failure, chosen.meanwhile)), ""):
                    return Answer(say(said), unmet=said)
        return chosen

    def _write_down(self, line: dict[str, Any]) -> int:
        with self._lock, self._log.open("a") as log:
            self._count += 1
            log.write(json.dumps(line) + "\n")
            return self._count


def failure(happening: Move) -> str:
    command, told = happening["meanwhile"], {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    try:
        done = subprocess.run(command, env=happening["env"], cwd=happening["cwd"], timeout=MEANWHILE_S, **told)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{command} failed: {error}"
    return f"{command} failed: {done.stdout}{done.stderr}" if done.returncode else ""


class Turn(BaseHTTPRequestHandler):
    server: Model  # pyright: ignore[reportIncompatibleVariableOverride]  # no other server makes it
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {"unreadable": repr(raw[:200])}
        self._reply(*self.server.handle_request_body(urlsplit(self.path).path, body))

    def do_GET(self) -> None:
        self._reply(*self.server.handle_request_body(f"GET {urlsplit(self.path).path}", {}))

    def _reply(self, status: int, kind: str, frames: Iterator[bytes]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")  # the end of the connection is the end of the answer
        with suppress(ConnectionError):  # the program was interrupted, and no longer wants to know
            self.end_headers()
            for frame in frames:
                self.wfile.write(frame)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on standard error: the log is the place."""


if __name__ == "__main__":
    with Model(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])) as model:
        print(model.server_address[1], flush=True)
        model.serve_forever()
