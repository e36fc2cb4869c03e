"""Bytes on their way out: the head and the body of an answer leave in one write.

The server underneath writes them one after the other, and on the loopback a write costs as much as finding the answer.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_HEAD, _HEAD_ENDS = b"HTTP/1.1 ", b"\r\n\r\n"
_CONTINUE = b"HTTP/1.1 1"


class Joined:
    """A transport that keeps the head of an answer until something follows it, or the answer is complete."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if self._head:
            data, self._head = self._head + data, b""
        elif data.startswith(_HEAD) and data.endswith(_HEAD_ENDS) and not data.startswith(_CONTINUE):
            self._head = data
            return
        self._transport.write(data)

    def flush(self) -> None:
        if self._head:
            self.write(b"")

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        self.flush()
        self._transport.close()


class Protocol(HttpToolsProtocol):
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._joined = Joined(transport)
        super().connection_made(self._joined)  # type: ignore[arg-type]

    def on_response_complete(self) -> None:
        self._joined.flush()  # an answer without a body, to HEAD
        super().on_response_complete()
