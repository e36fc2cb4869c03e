"""A real `rook mcp` at the other end of a pipe, or a real daemon, spoken to by the protocol's own client.

Its package is imported where it is used: it takes a second and a half, and every worker collects every test.
"""

import os
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from tests.support.doors import TOKEN, Door, Running, running
from tests.support.procs import ABOVE, PATIENCE_S

if TYPE_CHECKING:
    from httpx2 import AsyncClient
    from mcp import ClientSession
    from mcp.client.stdio import StdioServerParameters

ROOK = str(Path(sys.executable).with_name("rook"))
TEAM = "crew"
_teams = count(1)


class Model:
    """What a model sees of a tool: its text, and whether it was refused."""

    def __init__(self, session: "ClientSession") -> None:
        self.session = session

    async def call(self, tool: str, **args: Any) -> str:
        answer = await self.session.call_tool(tool, args)
        text = answer.content[0].text  # pyright: ignore[reportAttributeAccessIssue]
        assert not answer.is_error, text
        return text

    async def refused(self, tool: str, **args: Any) -> str:
        answer = await self.session.call_tool(tool, args)
        assert answer.is_error, answer.content
        return answer.content[0].text  # pyright: ignore[reportAttributeAccessIssue]


Seats = Callable[..., AbstractAsyncContextManager[Model]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def program(home: Path, tmp_path: Path) -> "StdioServerParameters":
    from mcp.client.stdio import StdioServerParameters

    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ROOK_HOME": str(home), "ROOK_TEAM": TEAM}
    # A program of its own above each server, as a model has: below one program there is one agent.
    return StdioServerParameters(command=ABOVE[0], args=[*ABOVE[1:], ROOK, "mcp"], env=environ, cwd=tmp_path)


@pytest.fixture
def seats(program: "StdioServerParameters") -> Seats:
    from mcp import ClientSession
    from mcp.client.stdio import stdio_client

    @asynccontextmanager
    async def seat(heard: Any = None, **more: str) -> AsyncGenerator[Model]:
        started = program.model_copy(update={"env": {**(program.env or {}), **more}})
        async with stdio_client(started) as (incoming, outgoing):  # noqa: SIM117
            async with ClientSession(incoming, outgoing, message_handler=heard) as session:
                await session.initialize()
                yield Model(session)

    return seat


# -- the daemon's ------------------------------------------------------------------------------------------------


class Hall:
    """The daemon's door for models, for one team."""

    def __init__(self, daemon: Running, team: str) -> None:
        self.daemon = daemon
        self.team = team
        self.door = daemon.door.of(team)
        self.path = f"/mcp?{urlencode({'teamId': team})}"
        self.url = daemon.door.url + self.path

    def anyone(self, token: str | None = None) -> Door:
        return Door(self.daemon.door.url, token, self.team)

    def token(self, **more: Any) -> str:
        made = self.door.operator.post("/v1/call/token.new", **more)
        assert made.status == 200, made
        return made.body["token"]

    def connection(self, token: str = TOKEN, **headers: str) -> "AsyncClient":
        import httpx2

        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}", **named}, timeout=PATIENCE_S)

    @asynccontextmanager
    async def seat(
        self, token: str = TOKEN, heard: Any = None, stays: bool = False, **headers: str
    ) -> AsyncGenerator[Model]:
        """A model with a session. One that `stays` goes without a word."""
        from mcp import ClientSession
        from mcp.client.streamable_http import streamable_http_client

        async with (
            self.connection(token, **headers) as http,
            streamable_http_client(self.url, http_client=http, terminate_on_close=not stays) as streams,
            ClientSession(streams[0], streams[1], message_handler=heard) as session,
        ):
            await session.initialize()
            yield Model(session)

    def events(self, *kinds: str) -> dict[str, Any]:
        """Waits until the ledger has one of these kinds; the newest of them."""
        after = 0
        while True:
            page = self.door.get("/v1/events", after=after, wait=PATIENCE_S)
            found = [event for event in page.body["events"] if event["type"] in kinds]
            if found:
                return found[-1]
            assert page.body["events"], f"none of {kinds} happened"
            after = page.body["cursor"]


@pytest.fixture(scope="session")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with running(tmp_path_factory.mktemp("daemon")) as started:
        yield started
        assert started.stop() == (0, ""), "the daemon complained"


@pytest.fixture
def hall(daemon: Running) -> Hall:
    return Hall(daemon, f"team-{next(_teams)}")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
