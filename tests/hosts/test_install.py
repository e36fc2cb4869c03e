"""The pins say one thing, name no host, and an installation that was damaged is seen and gives way."""

import json
import re
from pathlib import Path

import pytest

from tests.hosts import install
from tests.hosts.install import COMMANDS, HERE, PINS, RECORD, Failed, whole
from tests.hosts.programs import ALL

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


def small(part: Path) -> None:
    (part / "claude").write_text("a program")
    (part / RECORD).write_text(json.dumps({"claude": 9}))


def test_an_installation_is_made_once(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not whole(elsewhere)
    assert install.install() == elsewhere
    monkeypatch.setattr(install, "fill", lambda part: pytest.fail("made a second time"))
    assert install.install() == elsewhere


def test_a_damaged_installation_is_made_anew(elsewhere: Path) -> None:
    install.install()
    (elsewhere / "claude").write_text("a prog")
    assert not whole(elsewhere)
    install.install()
    assert whole(elsewhere)
    assert [path.name for path in elsewhere.parent.iterdir()] == [elsewhere.name]


def test_a_failed_installation_leaves_nothing(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def halfway(part: Path) -> None:
        (part / "claude").write_text("a pro")
        raise Failed("the registry is asleep")

    monkeypatch.setattr(install, "fill", halfway)
    with pytest.raises(Failed, match="asleep"):
        install.install()
    assert list(elsewhere.parent.iterdir()) == []


def test_where_another_was_faster_its_installation_stays(elsewhere: Path, tmp_path: Path) -> None:
    first = install.install()
    late = tmp_path / "cache" / "late.part-1"
    late.mkdir()
    small(late)
    install.put_in_place(late, first)
    assert late.exists()
    assert whole(first)


def test_a_program_of_another_version_is_refused(tmp_path: Path) -> None:
    commands = tmp_path / "node_modules" / ".bin"
    commands.mkdir(parents=True)
    (commands / "claude").write_text("#!/bin/sh\necho 1.2.3\n")
    (commands / "claude").chmod(0o755)
    install.verify(tmp_path, "claude", "1.2.3")
    with pytest.raises(Failed, match=r"claude should be 2\.0\.0 and says: 1\.2\.3"):
        install.verify(tmp_path, "claude", "2.0.0")
