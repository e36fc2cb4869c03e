"""The real programs play one session, and what is made of it is what the recorded sessions in tests/data give.

So those can not go stale in silence. `make hosts-seen` writes them anew.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest

from rookery.core.evidence import Found
from rookery.hosts import launching
from tests.hosts import recording
from tests.hosts.crew import Crew
from tests.hosts.stage import INSTALLED
from tests.hosts.test_launched import HOSTS, NAME, Worker
from tests.support import recorded
from tests.support.families import most

pytestmark = pytest.mark.hosts
WRITE = os.environ.get("ROOK_WRITE_SEEN") == "1"  # before a test loses its variables


@pytest.fixture
def crew() -> Generator[Crew]:
    """Neither in memory nor below /tmp: to Codex's sandbox the one is not there, and the other may be written."""
    with tempfile.TemporaryDirectory(prefix="rook-recorded-", dir="/var/tmp") as base, Crew(Path(base), NAME) as made:
        recording.tools(made.bin)
        yield made


@pytest.mark.parametrize("name", most([*HOSTS, "codex-code"], "opencode"))
def test_a_program_does_what_its_recorded_session_shows(crew: Crew, name: str) -> None:
    worker = Worker(crew, name.partition("-")[0], program=name)
    run, _ = worker.headless(recording.moves(worker.program, worker.tree), permissions=launching.ALL)
    assert not run.complaint(), f"{run.complaint()}\n{run.stdout}\n{run.stderr}"
    written = {"streams": run.stdout.splitlines()}
    if worker.host in recording.PLACES:
        written["transcripts"] = record(worker).splitlines()
    places = [(str(worker.tree), recorded.ROOT), (str(crew.base), "/home/wren"), (str(INSTALLED), "/opt/programs")]
    for kind, lines in written.items():
        if WRITE:
            recording.write_down(kind, name, recording.scrubbed("\n".join(lines), places))
        live = recorded.evidence(kind, name, lines, str(worker.tree))
        assert shapes(live) == shapes(recorded.evidence(kind, name, recorded.lines(kind, name))), kind


def record(worker: Worker) -> str:
    found = worker.member.stage.home.glob(recording.PLACES[worker.host])
    return max(found, key=lambda path: path.stat().st_mtime).read_text()


def shapes(found: list[Found]) -> Counter[tuple[str, str, bool, tuple[str, ...]]]:
    """Everything but ids, commits and what a command printed. The order of two that overlap is chance."""
    return Counter(
        (each.kind, "" if each.kind == "commit" else each.title, each.failed, tuple(sorted(each.data)))
        for each in found
    )
