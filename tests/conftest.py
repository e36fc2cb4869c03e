"""What every test stands on: an environment of its own, and the rules about skipping.

A test sees no setting, home or git variable of the person who runs it. A marker that names a component (tmux, node,
browser) skips where the component is missing; with ROOK_NO_SKIPS=1, as in `make test-all`, a skip is a failure.

The folders of tests lie in memory where that can be, because half of a run on a disk is waiting for it. With
ROOK_NO_SKIPS=1 they lie on the disk; PYTEST_DEBUG_TEMPROOT names another place.
"""

import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from rookery.runtime import agent_mark

NO_SKIPS = os.environ.get("ROOK_NO_SKIPS") == "1"
COMPONENTS = {
    "tmux": ("tmux",),
    "node": ("node",),
    "browser": ("chromium", "chromium-browser", "google-chrome"),
}
# Looked up once, before any test changes PATH.
LACKING = [name for name, commands in COMPONENTS.items() if not any(map(shutil.which, commands))]

MEMORY = "/dev/shm"


def memory_will_do() -> bool:
    """Whether there is room, and programs may be run from there, as some tests do."""
    try:
        there = os.statvfs(MEMORY)
    except OSError:
        return False
    room = there.f_bavail * there.f_frsize
    return room > 1 << 30 and not there.f_flag & os.ST_NOEXEC and os.access(MEMORY, os.W_OK)


if not NO_SKIPS and memory_will_do():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)

settings.register_profile("dev", deadline=None, max_examples=20)
settings.register_profile("ci", deadline=None, max_examples=100, derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

# The home of a test that has no folder of its own: nothing can be made there. A real one for each would take longer to
# make and to remove than most of these tests take.
NOWHERE = Path("/dev/null")


@pytest.fixture(autouse=True)
def unmarked() -> Generator[None]:
    """A command that takes this process for an agent program marks it for good (`runtime/agent_mark.py`), and every
    process that later tests start. Such a command needs a process of its own above it."""
    was_marked = agent_mark.is_marked()
    yield
    assert was_marked or not agent_mark.is_marked(), "this test made an agent program of pytest"


@pytest.fixture(autouse=True)
def hermetic(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("ROOK_", "GIT_", "XDG_")):
            monkeypatch.delenv(name)
    folder = NOWHERE
    if "tmp_path" in request.fixturenames:
        folder = request.getfixturevalue("tmp_path")
        (folder / "home").mkdir()
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.setenv("ROOK_HOME", str(folder / "rook"))


def pytest_report_header() -> list[str]:
    folders = f"folders: in {os.environ.get('PYTEST_DEBUG_TEMPROOT') or tempfile.gettempdir()}"
    if not LACKING:
        return [folders, "components: tmux, node and a browser are here"]
    fate = "fail" if NO_SKIPS else "are skipped"
    return [folders, f"components: this machine lacks {', '.join(LACKING)}; tests that need them {fate}"]


def pytest_runtest_setup(item: pytest.Item) -> None:
    for name in LACKING:
        if item.get_closest_marker(name):
            pytest.skip(f"this machine lacks {name}")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if not hasattr(report, "wasxfail"):  # an expected failure is reported as a skip too
        refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    refuse_skip(report)
    return report


def refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if NO_SKIPS and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"skipped, which ROOK_NO_SKIPS=1 forbids: {report.longrepr}"
