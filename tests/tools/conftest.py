"""A real `rook mcp` at the other end of a pipe, spoken to by the protocol's own client.

Its package is imported where it is used: it takes a second and a half, and every worker collects every test.
"""

import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp.client.stdio import StdioServerParameters

ROOK = str(Path(sys.executable).with_name("rook"))
TEAM = "crew"


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
    return StdioServerParameters(command=ROOK, args=["mcp"], env=environ, cwd=tmp_path)


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
