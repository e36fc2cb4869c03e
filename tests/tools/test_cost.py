"""What the tools cost a model, counted with a tokenizer that models use: each turn of each agent pays it."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from rookery.front.mcp import tools
from rookery.front.mcp.seat import Seat
from rookery.front.mcp.server import Door
from tests.hosts import install
from tests.support.procs import ROOT
from tests.tools import kit

LIMIT_TOKENS = 2_500
LIMIT_BYTES = 9_500
COUNT = """
const { countTokens } = require("gpt-tokenizer/cjs/encoding/o200k_base");
console.log(countTokens(require("node:fs").readFileSync(0, "utf8")));
"""


class Nobody:
    """Who is asked nothing but what it may do."""

    reads_only = False


def listed() -> list[dict[str, Any]]:
    """What `tools/list` answers, as it goes over the wire."""

    async def ask() -> Any:
        nobody: Seat = Nobody()  # pyright: ignore[reportAssignmentType]
        entry = Door(lambda _context: nobody).server.get_request_handler("tools/list")
        assert entry is not None
        return await entry.handler(None, None)  # pyright: ignore[reportArgumentType]

    return anyio.run(ask).model_dump(mode="json", by_alias=True, exclude_none=True)["tools"]


def compact(found: Any) -> str:
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False)


def tokens(text: str) -> int:
    done = kit.node("-e", COUNT, given=text)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_what_is_listed_is_the_table_and_small() -> None:
    found = listed()
    assert [each["name"] for each in found] == [tool.name for tool in tools.TABLE]
    assert all(set(each) == {"name", "description", "inputSchema"} for each in found)
    assert len(compact(found).encode()) <= LIMIT_BYTES


def test_the_versions_are_pinned_with_hashes_and_without_hosts() -> None:
    lock = json.loads((kit.HERE / "package-lock.json").read_text())["packages"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in kit.PINS.values())
    assert lock[""]["dependencies"] == kit.PINS
    assert all("integrity" in entry and "resolved" not in entry for name, entry in lock.items() if name)
    assert (kit.HERE / ".npmrc").read_text() == (install.HERE / ".npmrc").read_text()


@pytest.mark.slow
def test_an_agent_can_afford_the_tools() -> None:
    assert tokens(compact(listed())) < LIMIT_TOKENS


@pytest.mark.slow
def test_tools_that_say_too_much_are_found_out() -> None:
    found = listed()
    fat = [{**each, "description": each["description"] + " Use it wisely, dear agent." * 40} for each in found]
    assert tokens(compact(fat)) > LIMIT_TOKENS
    assert tokens("hello world") == 2
    assert tokens("") == 0


@pytest.mark.slow
def test_a_registry_that_is_not_there_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        registry = f"http://127.0.0.1:{gone.getsockname()[1]}/"
    environ = {
        "HOME": str(tmp_path), "PATH": os.defpath, "ROOK_HOSTS_CACHE": str(tmp_path / "cache"),
        "ROOK_HOSTS_DEADLINE_S": "60", "npm_config_registry": registry, "npm_config_fetch_retries": "0",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "tests.tools.kit"], cwd=ROOT, env=environ, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "ECONNREFUSED" in done.stderr
    assert "What to do:" in done.stderr
    assert list((tmp_path / "cache").iterdir()) == []
