"""One connection: how the bytes of an answer leave, and when the connection is closed.

The head and the body of an answer leave in one write: the server underneath writes them one after the other, and on the
loopback a write costs as much as finding the answer. `admission` has the limits; here they are applied.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rookery.core import errors

from .admission import LAST_WORDS, LINGER_S, LINGERING, Admission, full, too_slow, written

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


CONNECTION = "rook.connection"  # in the scope of a request: what is known of its connection, the same for all of them


class Connection(dict[str, Any]):
    """What the requests of one connection share."""

    is_stream = False  # the answer under way can be ended with a reason
    is_stalled = False  # its reader did not read for too long


class Protocol(HttpToolsProtocol):
    """A connection that is admitted or refused, and closed when its request or its reader takes too long."""

    def __init__(self, *args: Any, admission: Admission, **more: Any) -> None:
        super().__init__(*args, **more)
        self._admission = admission
        self._limits = admission.limits
        self._connection = Connection()
        self._has_begun = False  # a request, of which the headers are not all here
        self._is_parting = False
        self._is_ending = False  # with the daemon
        self._asking: asyncio.TimerHandle | None = None  # while a request is expected or has begun
        self._stalling: asyncio.TimerHandle | None = None  # while something waits for the reader

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        transport.set_write_buffer_limits(0)  # whatever the kernel does not take at once waits for the reader
        self._joined = Joined(transport)
        super().connection_made(self._joined)  # type: ignore[arg-type]
        if self._admission.enter(self):
            self._expect_request()
        else:
            self._part(full(self._limits.connections), is_awaited=True)

    def connection_lost(self, exc: Exception | None) -> None:
        self._admission.leave(self)
        for timer in (self._asking, self._stalling):
            if timer is not None:
                timer.cancel()
        self._asking = self._stalling = None
        super().connection_lost(exc)

    # -- a request ---------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._is_parting:
            return
        super().data_received(data)
        if self._asking is None and self._is_idle():
            self._expect_request()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._has_begun = True
        self.scope[CONNECTION] = self._connection  # type: ignore[typeddict-unknown-key]

    def on_headers_complete(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None
        self._has_begun = False
        self._admission.begin(self)
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        self._joined.flush()  # an answer without a body, to HEAD
        super().on_response_complete()
        if self._is_idle():
            self._admission.end(self)

    def _is_idle(self) -> bool:
        """Nothing is asked that was not answered."""
        return (self.cycle is None or self.cycle.response_complete) and not self.pipeline

    def _expect_request(self) -> None:
        self._asking = self.loop.call_later(self._limits.header_s, self._give_up_request)

    def _give_up_request(self) -> None:
        self._asking = None
        self._admission.closed["header"] += 1
        self._part(too_slow(self._limits.header_s, "daemon.header_s"), is_awaited=self._has_begun)

    # -- a reader ----------------------------------------------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        seconds = LINGER_S if self._is_ending else self._limits.stall_s
        self._stalling = self.loop.call_later(seconds, self._give_up_reader)

    def resume_writing(self) -> None:
        if self._stalling is not None:
            self._stalling.cancel()
            self._stalling = None
        super().resume_writing()

    def _give_up_reader(self) -> None:
        """A stream may write one more piece, which tells why; its reader has some time to take that."""
        if self._connection.is_stream and not self._connection.is_stalled:
            self._connection.is_stalled = True
            self.flow.resume_writing()
            self._stalling = self.loop.call_later(LAST_WORDS * self._limits.stall_s, self._give_up_reader)
        else:
            self._admission.closed["stall"] += 1
            self.transport.abort()

    # -- the end -----------------------------------------------------------------------------------------------------

    def make_room(self) -> None:
        """Close this connection, which has no request under way, for another one."""
        self._part(full(self._limits.connections), is_awaited=self._has_begun)

    def shutdown(self) -> None:
        self._is_ending = True
        if self.flow.write_paused:  # nobody knows when it is read
            self.transport.abort()
        else:
            super().shutdown()

    def _part(self, error: errors.RookError, *, is_awaited: bool) -> None:
        """Close, and say why where an answer is awaited: otherwise a client could take it for the answer to what it
        asks next. What still comes is read for a moment, because closing with bytes unread would discard the answer."""
        self._is_parting = True
        self._admission.leave(self)
        self._unset_keepalive_if_required()
        if not is_awaited or self.transport.is_closing() or len(self._admission.lingering) >= LINGERING:
            self.transport.abort()
            return
        self._admission.lingering.add(self)
        self.transport.write(written(error))
        self.transport.write_eof()
        self._asking = self.loop.call_later(LINGER_S, self.transport.abort)
