"""`GET /v1/events`: the ledger as a stream of server-sent events, or as JSON a page at a time."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from time import monotonic
from typing import Any

from starlette.responses import Response, StreamingResponse
from starlette.types import Send

from rookery.core import errors

from .answer import encoded, json_answer
from .ask import Ask
from .wire import CONNECTION, Connection

PAGE = 500
QUIET_S = 15.0  # a comment now and then keeps proxies from closing a stream, and finds readers that have gone


async def events(ask: Ask) -> Any:
    """A stream; for those who accept only JSON a page, which may be waited for."""
    after = ask.whole("after", _last_seen(ask))
    look = {"after": after, "limit": 1}  # a cursor that is too old is refused before the stream
    if "application/json" in ask.header("accept"):
        await ask.wait_for("events", look)
        return await page(ask, {"after": after, "limit": ask.whole("limit", PAGE)})
    ask.daemon.pages.check_room()
    await ask.call("events", look)
    return EventStream(_stream(ask, after))


async def page(ask: Ask, args: dict[str, Any]) -> Response:
    """What the verb answers, encoded beside the event loop: it may be ten thousand events."""
    return json_answer(await ask.daemon.pages.document(ask.team(), args, ask.caller()))


def _last_seen(ask: Ask) -> int:
    """What a browser says when it comes back."""
    seen = ask.header("last-event-id")
    return int(seen) if seen.isascii() and seen.isdigit() and len(seen) <= 15 else 0


class EventStream(StreamingResponse):
    """Ends at once when its reader is gone."""

    def __init__(self, parts: AsyncGenerator[bytes]) -> None:
        super().__init__(parts, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        self._parts = parts

    async def stream_response(self, send: Send) -> None:
        async with aclosing(self._parts):
            await super().stream_response(send)


async def _stream(ask: Ask, after: int) -> AsyncGenerator[bytes]:
    """Ends with a reason when its token was revoked, the store does not answer, or its reader is too slow."""
    connection: Connection = ask.scope.get(CONNECTION, Connection())
    try:
        async with aclosing(_parts(ask, after)) as parts:
            async for cursor, part in parts:
                connection.is_stream = True
                yield part
                if connection.is_stalled:
                    raise _too_slow(cursor)
    except errors.RookError as error:
        yield b"event: refused\ndata: %s\n\n" % encoded(error.as_dict())
    finally:
        connection.is_stream = connection.is_stalled = False


async def _parts(ask: Ask, after: int) -> AsyncGenerator[tuple[int, bytes]]:
    """Pages of the ledger and the cursor after each, and now and then a comment."""
    news, pages, team, caller = ask.daemon.news, ask.daemon.pages, ask.team(), ask.caller()
    quiet, judged_at = 0.0, monotonic()
    with pages.stream(), news.of(team) as bell:
        yield after, b": events of the ledger\n\n"
        while not news.closing:
            await pages.take_turn()
            if monotonic() - judged_at < ask.daemon.poll_s:
                page = await pages.shared(team, after, caller)
            else:
                page = await pages.own(team, after, caller)
                judged_at = monotonic()
            if page.body:
                quiet, after = 0.0, page.cursor
                yield after, page.body
                continue
            await bell.wait(ask.daemon.poll_s)
            quiet += ask.daemon.poll_s
            if quiet >= QUIET_S:
                quiet = 0.0
                yield after, b": still here\n\n"


def _too_slow(after: int) -> errors.Refused:
    return errors.Refused(
        "This stream was not read for too long.",
        f"Go on with the header Last-Event-ID: {after}. The limit: daemon.stall_s.",
        code="SLOW_READER",
        cursor=after,
    )
