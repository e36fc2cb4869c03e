"""Programs that are called for their own session: by argument vector, in time, with a reason where it failed."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.delivery import Outcome, Reason
from rookery.hosts import reaching
from rookery.keeper.blocking import BlockingPool
from rookery.keeper.courier import Job
from rookery.keeper.reaching import KNOCK, Reacher, queued, resumed

POOL = BlockingPool("tests", 2)
ID = "01a1e315-923b-7cb2-bd11-5d33be507b70"
HOSTILE = "--help\n$(touch made) `touch made`; touch made\n'\"\\ \u202e\x1b[201~"
# Stands for an agent program: writes down how it was called, and ends as it was told to.
PROGRAM = """
import json, os, sys
here = os.path.dirname(os.path.abspath(__file__))
with open(here + "/called.jsonl", "a") as log:
    log.write(json.dumps([sys.argv[1:], sys.stdin.read(), os.getcwd(), dict(os.environ)]) + "\\n")
how = json.load(open(here + "/how.json"))
if how.get("hangs"):
    if os.fork() == 0:
        os.read(os.open(here + "/fifo", os.O_RDONLY), 1)  # a child that holds our pipes
    os.read(os.open(here + "/fifo", os.O_RDONLY), 1)
sys.stderr.write(how.get("says", ""))
sys.exit(how.get("code", 0))
"""


class Program:
    def __init__(self, folder: Path, host: str) -> None:
        self.folder = folder
        (folder / "program.py").write_text(PROGRAM)
        self.ends(code=0)
        words = [sys.executable, str(folder / "program.py")]
        found = reaching.address(host, words, ID, str(folder), {"PATH": os.defpath, "ANTHROPIC_API_KEY": "secret"})
        assert found is not None
        self.address = found

    def ends(self, **how: Any) -> None:
        (self.folder / "how.json").write_text(json.dumps(how))

    @property
    def calls(self) -> list[tuple[list[str], str, str, dict[str, str]]]:
        log = self.folder / "called.jsonl"
        return [tuple(json.loads(line)) for line in log.read_text().splitlines()] if log.exists() else []


def job(program: Program, texts: list[str], *, live: bool) -> Job:
    async def compose() -> str:
        return texts.pop(0)

    async def phase() -> str:
        return "idle"

    return Job("crew", "ada", "queue", program.address, program.address["host"], live, 1, "t", compose, phase)


def reacher() -> Reacher:
    return Reacher(environ={"PATH": "/elsewhere", "KEY": "k", "ROOK_TOKEN": "mine"}, queue_s=60.0, turn_s=60.0)


# -- the calls ---------------------------------------------------------------------------------------------------------


def test_a_text_is_one_argument_of_the_queue_whatever_it_says(tmp_path: Path):
    program = Program(tmp_path, "codex")
    assert asyncio.run(queued(program.address, HOSTILE, 60.0, POOL)) == Outcome(True)
    ((words, stdin, cwd, environ),) = program.calls
    assert (words, stdin, cwd) == (["queue", "--thread", ID, f"--message={HOSTILE}"], "", str(tmp_path))
    assert "ANTHROPIC_API_KEY" not in environ
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("host", ["claude", "codex", "gemini", "opencode", "copilot", "pi"])
def test_a_turn_is_begun_with_a_text_on_standard_input(tmp_path: Path, host: str):
    program = Program(tmp_path, host)
    assert asyncio.run(resumed(program.address, HOSTILE, 60.0, POOL, {"KEY": "k"})) == Outcome(True)
    ((words, stdin, _, environ),) = program.calls
    assert stdin == HOSTILE
    assert ID in " ".join(words)
    assert (environ["KEY"], environ["PATH"]) == ("k", os.defpath)


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"code": 1, "says": "Error: no rollout found for thread id 0123"}, Reason.SESSION_NOT_FOUND),
        ({"code": 1, "says": "No conversation found with session ID: 0123"}, Reason.SESSION_NOT_FOUND),
        ({"code": 3, "says": "out of \x1b[31mpaint\n"}, Reason.INJECTION_FAILED),
    ],
)
def test_a_failure_has_its_reason(tmp_path: Path, how: dict[str, Any], reason: Reason):
    program = Program(tmp_path, "codex")
    program.ends(**how)
    outcome = asyncio.run(queued(program.address, "text", 60.0, POOL))
    assert (outcome.done, outcome.reason) == (False, reason)
    assert outcome.detail.isprintable()


@pytest.mark.slow
def test_one_that_hangs_is_ended_with_all_it_started(tmp_path: Path):
    program = Program(tmp_path, "codex")
    os.mkfifo(tmp_path / "fifo")
    program.ends(hangs=True)
    outcome = asyncio.run(queued(program.address, "text", 1.0, POOL))
    assert outcome == Outcome(False, Reason.INJECTION_FAILED, f"{sys.executable}: took too long")


def test_one_that_is_not_there_and_one_that_has_no_queue(tmp_path: Path):
    program = Program(tmp_path, "codex")
    gone = {**program.address, "program": [str(tmp_path / "gone")]}
    assert asyncio.run(queued(gone, "text", 60.0, POOL)).reason == Reason.INJECTION_FAILED
    assert not asyncio.run(queued({**program.address, "host": "gemini"}, "text", 60.0, POOL)).done
    assert not asyncio.run(queued(program.address, "x" * 200_000, 60.0, POOL)).done, "the kernel takes no such argument"
    assert program.calls == []


# -- the hands ---------------------------------------------------------------------------------------------------------


def test_a_queue_is_for_a_program_that_runs(tmp_path: Path):
    program = Program(tmp_path, "codex")
    assert asyncio.run(reacher().queue(job(program, ["text"], live=True))) == Outcome(True)
    assert asyncio.run(reacher().queue(job(program, [""], live=True))).nothing
    assert asyncio.run(reacher().queue(job(program, ["text"], live=False))).reason == Reason.SESSION_NOT_FOUND
    assert len(program.calls) == 1


def test_a_turn_is_for_a_program_that_is_gone_and_its_hooks_do_the_rest(tmp_path: Path):
    program = Program(tmp_path, "claude")
    assert asyncio.run(reacher().resume(job(program, ["text", ""], live=False))).nothing, "the hooks wrote it down"
    ((_, stdin, _, environ),) = program.calls
    assert (stdin, environ["ROOK_AGENT"], environ["ROOK_TEAM"], environ["KEY"]) == (KNOCK, "ada", "crew", "k")
    assert "ROOK_TOKEN" not in environ
    silent = asyncio.run(reacher().resume(job(program, ["text", "text"], live=False)))
    assert (silent.done, silent.nothing, silent.reason) == (False, False, Reason.INJECTION_FAILED)
    assert asyncio.run(reacher().resume(job(program, ["text"], live=True))).reason == Reason.BUSY
    assert asyncio.run(reacher().resume(job(program, [""], live=False))).nothing


# -- addresses ---------------------------------------------------------------------------------------------------------


@given(st.text(max_size=30))
def test_what_could_be_taken_for_an_option_or_a_path_is_no_session(text: str):
    if reaching.is_id(text):
        assert text
        assert text[0] not in "-."
        assert not set(text) & set(" /\\=\n\0'\"$`;")


@pytest.mark.parametrize("session", ["", "-x", "--resume", "../up", "a b", "a/b", "x" * 300])
def test_such_a_session_has_no_address(session: str):
    assert reaching.address("codex", ["/bin/codex"], session, "/work", {}) is None


def test_no_more_is_kept_than_is_needed():
    assert reaching.address("codex", [], ID, "/work", {}) is None
    assert reaching.address("codex", ["/bin/codex"], ID, "/work", {"PATH": "x" * 7_000}) is None
    found = reaching.address("codex", ["/bin/codex"], ID, "/work", {"HOME": "/h", "OPENAI_API_KEY": "k"})
    assert found is not None
    assert found["environ"] == {"HOME": "/h"}
    assert [reaching.ways(host) for host in ("codex", "claude", "vim")] == [("queue", "resume"), ("resume",), ()]
