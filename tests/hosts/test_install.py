"""The pins say one thing and name no host; an installation that was damaged gives way; one that cannot be made ends."""

import json
import os
import re
import select
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hosts import install, steps
from tests.hosts.install import COMMANDS, HERE, PINS, RECORD, whole
from tests.hosts.programs import ALL
from tests.hosts.stage import ROOT
from tests.hosts.steps import Failed, Step, Steps

LOCK = json.loads((HERE / "package-lock.json").read_text())["packages"]


def test_the_lock_holds_the_pins_with_hashes_and_without_hosts() -> None:
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in PINS.values())
    assert LOCK[""]["dependencies"] == PINS
    packages = [entry for name, entry in LOCK.items() if name]
    assert all("integrity" in entry and "resolved" not in entry for entry in packages)
    assert "omit-lockfile-registry-resolved=true" in (HERE / ".npmrc").read_text().splitlines()


def test_every_program_is_pinned_and_every_pin_is_run() -> None:
    assert {program.package: program.executable for program in ALL.values()} == COMMANDS
    assert set(COMMANDS) == set(PINS)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and a small thing in the place of 1.6 GB."""
    monkeypatch.setenv("ROOK_HOSTS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(install, "fill", small)
    return install.wanted()


def small(part: Path, *_: object) -> None:
    (part / "claude").write_text("a program")
    (part / RECORD).write_text(json.dumps({"claude": 9}))


def test_an_installation_is_made_once(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not whole(elsewhere)
    assert install.install() == elsewhere
    monkeypatch.setattr(install, "fill", lambda *_: pytest.fail("made a second time"))
    assert install.install() == elsewhere


def test_a_damaged_installation_is_made_anew(elsewhere: Path) -> None:
    install.install()
    (elsewhere / "claude").write_text("a prog")
    assert not whole(elsewhere)
    install.install()
    assert whole(elsewhere)
    assert [path.name for path in elsewhere.parent.iterdir()] == [elsewhere.name]


def halfway(part: Path, *_: object) -> None:
    (part / "claude").write_text("a pro")
    raise Failed("the registry is asleep")


def test_a_failed_installation_leaves_nothing(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "fill", halfway)
    with pytest.raises(Failed, match="asleep"):
        install.install()
    assert list(elsewhere.parent.iterdir()) == []


def test_what_failed_is_tried_once_more(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = [small, halfway]
    monkeypatch.setattr(install, "fill", lambda part, *_: tries.pop()(part))
    install.install()
    assert whole(elsewhere)
    assert tries == []


def test_a_full_disk_is_told_before_it_is_filled(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "DISK", 1 << 60)
    with pytest.raises(Failed, match="MB free, and the programs need"):
        install.install()
    assert not elsewhere.exists()


def test_where_another_was_faster_its_installation_stays(elsewhere: Path, tmp_path: Path) -> None:
    first = install.install()
    late = tmp_path / "cache" / "late.part-1"
    late.mkdir()
    small(late)
    install.put_in_place(late, first)
    assert late.exists()
    assert whole(first)


def test_every_program_that_is_not_as_pinned_is_named(tmp_path: Path) -> None:
    commands = tmp_path / "node_modules" / ".bin"
    commands.mkdir(parents=True)
    (commands / "claude").write_text("#!/bin/sh\necho 1.2.3\n")
    (commands / "claude").chmod(0o755)
    install.verify(tmp_path, Steps(30), {"claude": "1.2.3"})
    with pytest.raises(
        Failed, match=r"(?s)claude should be 2\.0\.0 and says: 1\.2\.3\n.*codex could not be started: .*No such"
    ):
        install.verify(tmp_path, Steps(30), {"claude": "2.0.0", "codex": "3.0.0"})


def shell(tmp_path: Path, script: str, limit_s: float) -> Step:
    return Step("the shell", ["/bin/sh", "-c", script], tmp_path, {"PATH": os.defpath}, limit_s)


@pytest.mark.slow
def test_a_step_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "held")
    held = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(Failed, match="the shell was ended after 1 s"):
            Steps(30).run(shell(tmp_path, "exec 3> held; echo here >&3; sleep 1000 & wait", 1))
        assert os.read(held, 10) == b"here\n"
        assert select.select([held], [], [], 30)[0]  # readable now means that nobody is left who could write
    finally:
        os.close(held)


@pytest.mark.slow
def test_all_steps_together_have_a_deadline(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="was ended"):
        Steps(0.2).run(shell(tmp_path, "sleep 1000", 900))
    assert Steps(30).run(shell(tmp_path, "echo well", 900)) == "well\n"
    with pytest.raises(Failed, match=r"the shell failed with 3\.\noh"):
        Steps(30).run(shell(tmp_path, "echo oh; exit 3", 900))


@pytest.mark.slow
def test_a_long_step_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(steps, "TELL_EVERY_S", 0.05)
    os.mkfifo(tmp_path / "news")
    told = iter(["one MB", "two MB"])

    def progress() -> str:
        now = next(told, "more")
        if now == "more":
            (tmp_path / "news").write_text("go\n")
        return now

    Steps(30).run(shell(tmp_path, "read word < news", 30), progress)
    assert re.match(r"  the shell: one MB after 0 s\n  the shell: two MB after", capsys.readouterr().out)


# --- the real npm, and a registry that is not well ---


@pytest.fixture
def alone(tmp_path: Path) -> dict[str, str]:
    """An empty home, and nothing fetched before."""
    return {
        "HOME": str(tmp_path / "home"),
        "PATH": os.defpath,
        "ROOK_HOSTS_CACHE": str(tmp_path / "cache"),
        "ROOK_HOSTS_DEADLINE_S": "6",
    }


def make_hosts(environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.hosts.install"], cwd=ROOT, env=environ, capture_output=True, text=True
    )


@pytest.mark.slow
def test_a_registry_that_does_not_answer_ends_at_the_deadline(alone: dict[str, str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        done = make_hosts(alone | {"npm_config_registry": f"http://127.0.0.1:{silent.getsockname()[1]}/"})
        assert select.select([silent], [], [], 0)[0]  # it was the registry that the caller named
    assert done.returncode == 1
    assert "700 MB to fetch" in done.stdout
    assert "npm install was ended after 3 s" in done.stdout
    assert "trying once more" in done.stdout
    assert "npm install was ended after" in done.stderr
    assert "What to do:" in done.stderr
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.slow
def test_a_registry_that_is_not_there_is_named(alone: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        registry = f"http://127.0.0.1:{gone.getsockname()[1]}/"
    settings = {"npm_config_registry": registry, "npm_config_fetch_retries": "0", "ROOK_HOSTS_DEADLINE_S": "60"}
    done = make_hosts(alone | settings)
    assert done.returncode == 1
    assert "ECONNREFUSED" in done.stderr
    assert registry in done.stderr
    assert "What to do:" in done.stderr


def test_a_deadline_that_is_no_number_is_told(alone: dict[str, str]) -> None:
    done = make_hosts(alone | {"ROOK_HOSTS_DEADLINE_S": "soon"})
    assert done.returncode == 1
    assert "'soon'" in done.stderr
