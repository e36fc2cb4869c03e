"""A home is private: files 0600 and folders 0700 under any umask, nobody else's place is used, and errors are clear.

Everything happens in processes of its own, because a umask and a user belong to a process.
"""

import os
import stat
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import rookery
from rookery.core import errors
from tests.support import tenants
from tests.support.procs import child, environment

IS_ROOT = os.geteuid() == 0


@pytest.fixture
def ground() -> Generator[Path]:
    """A folder that every user can reach: pytest's own is closed to others."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="rkp", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
    shutil.rmtree(folder)


def lived(home: Path | str, **args: Any) -> dict[str, str]:
    with child(tenants.live_in, environment(HOME="/nonexistent"), home=str(home), **args) as tenant:
        return tenant.finish()[0]


LESSER = [pytest.param(0o022, marks=pytest.mark.slow), pytest.param(0o177, marks=pytest.mark.slow)]


@pytest.mark.slow
@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777, *LESSER])
def test_everything_is_private_under_any_umask(ground: Path, umask: int) -> None:
    home = ground / "home"
    modes = lived(home, umask=umask)
    assert {"rookery.db", "rookery.db-wal", "rookery.db-shm", "run/bell"} <= modes.keys(), modes
    for name, mode in modes.items():
        kind = "0700" if (home / name).is_dir() else "0600"
        assert mode == kind, f"{name} has the mode {mode} under umask {umask:03o}"


@pytest.mark.slow
def test_a_home_that_stood_open_is_closed(ground: Path) -> None:
    home = ground / "home"
    lived(home)
    for path in (home, home / "run", home / "run" / "bell", home / "rookery.db"):
        path.chmod(0o777)
    modes = lived(home)
    assert modes["."] == "0700"
    assert modes["rookery.db"] == "0600"


@pytest.mark.slow
def test_a_store_elsewhere_is_private_too(ground: Path) -> None:
    (ground / "elsewhere").mkdir()
    store = ground / "elsewhere" / "team.db"
    modes = lived(ground / "home", umask=0, store=str(store))
    assert "rookery.db" not in modes
    assert stat.S_IMODE(store.stat().st_mode) == 0o600


@pytest.mark.slow
def test_a_symlinked_home_is_refused(ground: Path) -> None:
    (ground / "real").mkdir(mode=0o700)
    (ground / "home").symlink_to(ground / "real")
    told = lived(ground / "home")
    assert told["code"] == "STORE_UNUSABLE"
    assert str(ground / "home") in told["message"]
    assert "symlink" in told["message"]
    assert told["hint"]
    assert list((ground / "real").iterdir()) == []


@pytest.mark.parametrize(
    "folder",
    ["run", "run/bell", pytest.param("logs", marks=pytest.mark.slow), pytest.param("teams", marks=pytest.mark.slow)],
)
def test_a_symlinked_folder_inside_is_refused(ground: Path, folder: str) -> None:
    home = ground / "home"
    (ground / "real").mkdir(mode=0o755)
    (home / folder).parent.mkdir(parents=True)
    home.chmod(0o700)
    (home / folder).symlink_to(ground / "real")
    told = lived(home)
    assert told.get("code") == "STORE_UNUSABLE", told
    assert list((ground / "real").iterdir()) == []


def test_a_symlinked_database_is_refused(ground: Path) -> None:
    home = ground / "home"
    home.mkdir(mode=0o700)
    (ground / "real.db").write_bytes(b"")
    (home / "rookery.db").symlink_to(ground / "real.db")
    told = lived(home)
    assert told["code"] == "STORE_UNUSABLE"
    assert "rookery.db" in told["message"]
    assert (ground / "real.db").read_bytes() == b""


def test_a_file_in_the_place_of_the_home(ground: Path) -> None:
    (ground / "home").write_text("mine")
    told = lived(ground / "home")
    assert told["code"] == "STORE_UNUSABLE"
    assert str(ground / "home") in told["message"]
    assert (ground / "home").read_text() == "mine"


def unprivileged(ground: Path) -> int | None:
    """Permissions mean nothing to root: as root the tenant becomes nobody, who then owns the ground."""
    if not IS_ROOT:
        return None
    os.chown(ground, tenants.NOBODY, tenants.NOBODY)
    return tenants.NOBODY


@pytest.mark.slow
def test_a_home_where_nothing_may_be_written(ground: Path) -> None:
    uid = unprivileged(ground)
    home = ground / "closed" / "home"
    home.parent.mkdir(mode=0o555)
    told = lived(home, uid=uid)
    assert told["code"] == "STORE_READ_ONLY", told
    assert str(home) in told["message"]
    assert "ROOK_HOME" in told["hint"]


@pytest.mark.slow
def test_a_home_that_became_read_only(ground: Path) -> None:
    uid = unprivileged(ground)
    home = ground / "home"
    assert "code" not in lived(home, uid=uid)
    before = {path: path.stat().st_size for path in home.rglob("*") if path.is_file()}
    for path in (home / "rookery.db",):
        path.chmod(0o400)
    home.chmod(0o500)
    told = lived(home, uid=uid)
    assert told["code"] in ("STORE_READ_ONLY", "STORE_UNUSABLE"), told
    assert str(home) in told["message"]
    assert told["hint"]
    home.chmod(0o700)
    (home / "rookery.db").chmod(0o600)
    assert {path: path.stat().st_size for path in before} == before
    assert "code" not in lived(home, uid=uid)


def test_a_home_of_another_user_is_refused(ground: Path) -> None:
    home = ground / "home"
    if IS_ROOT:
        home.mkdir(mode=0o700)
        os.chown(home, tenants.NOBODY, tenants.NOBODY)
    else:
        home = Path("/usr")
    before = sorted(home.iterdir())
    told = lived(home)
    assert told["code"] == "STORE_UNUSABLE"
    assert "another user" in told["message"]
    assert sorted(home.iterdir()) == before


def test_a_home_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.Unreachable) as caught:
        rookery.connect(team="t", home=str(tmp_path / "file" / "home"))
    assert "file" in caught.value.message
    assert caught.value.hint


@pytest.mark.slow
def test_a_home_with_a_strange_name(ground: Path) -> None:
    home = ground / "ho me\n'\"; -x é"
    assert "code" not in lived(home)
