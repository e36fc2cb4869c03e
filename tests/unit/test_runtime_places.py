"""Where things are, and how the home is kept private."""

import errno
import fcntl
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.errors import BadInput, RookError, StoreFull, StoreReadOnly, StoreUnusable
from rookery.core.names import check_team
from rookery.runtime import places
from rookery.runtime.places import Places, create_private, find, prepare_home
from tests.unit.gitrepo import git, repository


def look(cwd: Path, team: str | None = None, **environ: str) -> Places:
    return find(cwd=str(cwd), environ={"HOME": "/home/somebody"} | environ, team=team)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


# --- the team ---------------------------------------------------------------------------------------------------------


def test_flag_then_variable_then_file_then_repository_then_folder(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    assert look(folder).team.startswith("plain-")
    assert look(folder).team_source == f"folder {folder}"

    app = repository(tmp_path / "app")
    assert look(app).team.startswith("app-")
    assert look(app).team_source == f"repository {app}"

    (app / "rookery.toml").write_text('team = "written"\n')
    assert look(app)[1:3] == ("written", str(app / "rookery.toml"))
    assert look(app, ROOK_TEAM="given")[1:3] == ("given", "environment ROOK_TEAM")
    assert look(app, "flagged", ROOK_TEAM="given")[1:3] == ("flagged", "flag")
    assert look(app, ROOK_TEAM="").team == "written"


def test_worktrees_share_the_team_of_their_repository(tmp_path: Path) -> None:
    app = repository(tmp_path / "app")
    (app / "deep" / "er").mkdir(parents=True)
    git("worktree", "add", "-q", str(tmp_path / "linked"), cwd=app)
    teams = {look(cwd).team for cwd in (app, app / "deep" / "er", app / ".git", tmp_path / "linked")}
    assert teams == {look(app).team}
    assert look(tmp_path / "linked").root == str(tmp_path / "linked")
    assert look(app / "deep").root == str(app)


def test_worktrees_of_a_bare_repository_share_its_team(tmp_path: Path) -> None:
    app = repository(tmp_path / "app")
    project = tmp_path / "project"
    git("clone", "-q", "--bare", str(app), str(project / ".bare"), cwd=tmp_path)
    (project / ".git").write_text("gitdir: ./.bare\n")
    for name in ("one", "two"):
        git("worktree", "add", "-q", "-b", name, str(project / name), cwd=project)
    assert len({look(cwd).team for cwd in (project, project / "one", project / "two")}) == 1
    assert look(project).team.startswith("project-")


def test_a_submodule_is_a_team_of_its_own(tmp_path: Path) -> None:
    library = repository(tmp_path / "library")
    app = repository(tmp_path / "app")
    git("submodule", "--quiet", "add", str(library), "vendor/library", cwd=app)
    found = look(app / "vendor" / "library")
    assert found.team.startswith("library-")
    assert found.team not in (look(app).team, look(library).team)
    assert found.root == str(app / "vendor" / "library")


def test_two_repositories_of_one_name_are_two_teams(tmp_path: Path) -> None:
    assert look(repository(tmp_path / "a" / "app")).team != look(repository(tmp_path / "b" / "app")).team


def test_a_symlink_to_a_folder_is_the_same_team(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert look(tmp_path / "link").team == look(tmp_path / "real").team


def test_a_settings_file_makes_its_folder_the_team(tmp_path: Path) -> None:
    (tmp_path / "rookery.toml").write_text("[mesh]\nstuck_s = 5\n")
    (tmp_path / "a" / "b").mkdir(parents=True)
    found = look(tmp_path / "a" / "b")
    assert found.team == look(tmp_path).team
    assert found.root == str(tmp_path)
    assert found.repo_file == str(tmp_path / "rookery.toml")


def test_a_folder_of_repositories_can_be_one_team(tmp_path: Path) -> None:
    (tmp_path / "rookery.toml").write_text('team = "all"\n')
    found = look(repository(tmp_path / "app"))
    assert (found.team, found.root) == ("all", str(tmp_path))


def test_a_settings_file_without_a_team_leaves_it_to_the_repository(tmp_path: Path) -> None:
    app = repository(tmp_path / "app")
    before = look(app)
    (app / "rookery.toml").write_text("team = ''\n")
    assert look(app) == before._replace(repo_file=str(app / "rookery.toml"))


def test_a_strangers_settings_file_in_an_open_folder_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    mine = shared / "mine"
    mine.mkdir(parents=True)
    (shared / "rookery.toml").write_text('team = "trap"\n')
    shared.chmod(0o1777)
    assert look(mine).team == "trap"  # our own, wherever it lies
    os_lstat = os.lstat

    def strangers(path: str) -> os.stat_result:
        seen = os_lstat(path)
        return os.stat_result((*seen[:4], 54321, *seen[5:])) if path.endswith(".toml") else seen

    monkeypatch.setattr(os, "lstat", strangers)
    assert look(mine).team.startswith("mine-")
    shared.chmod(0o755)
    assert look(mine).team == "trap"


@pytest.mark.parametrize("team", ["..", "a/b", "x" * 51, "a b", "\u0430tlas"])
def test_a_bad_team_is_refused_with_where_it_came_from(tmp_path: Path, team: str) -> None:
    with pytest.raises(BadInput, match="flag"):
        look(tmp_path, team)
    with pytest.raises(BadInput, match="ROOK_TEAM"):
        look(tmp_path, ROOK_TEAM=team)
    (tmp_path / "rookery.toml").write_text(f'team = "{team}"\n')
    with pytest.raises(BadInput, match=r"rookery\.toml") as caught:
        look(tmp_path)
    assert caught.value.code == "BAD_TEAM"
    assert caught.value.hint


def test_an_empty_flag_is_no_team(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="empty"):
        look(tmp_path, "")


@pytest.mark.parametrize(
    ("data", "code", "word"),
    [
        (b"team = 5", "BAD_SETTING", "5"),
        (b"a = 1\nteam =", "BAD_SETTINGS_FILE", "line 2"),
        (b"\xff", "BAD_SETTINGS_FILE", "UTF-8"),
        (b"a = " + b"[" * 100_000, "BAD_SETTINGS_FILE", "nested"),
    ],
)
def test_a_broken_settings_file_is_an_error_only_where_it_is_asked(
    tmp_path: Path, data: bytes, code: str, word: str
) -> None:
    (tmp_path / "rookery.toml").write_bytes(data)
    with pytest.raises(BadInput, match=word) as caught:
        look(tmp_path)
    assert caught.value.code == code
    assert str(tmp_path) in caught.value.message
    assert look(tmp_path, "given").team == "given"


@given(st.text().filter(bool), st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_a_derived_name_is_always_a_team(name: str, path: str) -> None:
    team = places._derived(name, "/" + path)
    assert check_team(team) == team
    assert team == team.lower()


@pytest.mark.parametrize(
    ("common", "name"),
    [
        ("/src/app/.git", "app"),
        ("/src/app/.bare", "app"),
        ("/srv/app.git", "app"),
        ("/src/x/.git/modules/app", "app"),
        ("/.git", ""),
    ],
)
def test_a_repository_is_called_what_people_call_it(common: str, name: str) -> None:
    assert places._repository_name(common) == name


# --- home, store, files -----------------------------------------------------------------------------------------------


def test_places_by_default(tmp_path: Path) -> None:
    found = look(tmp_path)
    assert found.home == "/home/somebody/.rookery"
    assert found.store == "/home/somebody/.rookery/rookery.db"
    assert found.user_file == "/home/somebody/.config/rookery/config.toml"
    assert found.repo_file is None
    assert found.root == str(tmp_path)


def test_places_as_given(tmp_path: Path) -> None:
    assert look(tmp_path, ROOK_HOME="/x/y/").home == "/x/y"
    assert look(tmp_path, ROOK_HOME="rel/../home").home == str(tmp_path / "home")
    assert look(tmp_path, ROOK_HOME="~/h").home == "/home/somebody/h"
    assert look(tmp_path, ROOK_HOME="").home == "/home/somebody/.rookery"
    assert look(tmp_path, ROOK_STORE="a.db").store == str(tmp_path / "a.db")
    assert look(tmp_path, ROOK_STORE="~/a.db").store == "/home/somebody/a.db"
    url = "postgresql://host/db?sslmode=require"
    assert look(tmp_path, ROOK_STORE=url).store == url
    assert look(tmp_path, XDG_CONFIG_HOME="/cfg").user_file == "/cfg/rookery/config.toml"
    assert look(tmp_path, XDG_CONFIG_HOME="cfg").user_file == "/home/somebody/.config/rookery/config.toml"


def test_without_home_the_list_of_users_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    assert find(cwd=str(tmp_path), environ={}).home == os.path.join(pwd.getpwuid(os.getuid()).pw_dir, ".rookery")

    def nobody(_: int) -> NoReturn:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    with pytest.raises(StoreUnusable, match="home folder"):
        find(cwd=str(tmp_path), environ={})
    assert find(cwd=str(tmp_path), environ={"ROOK_HOME": "/x"}).user_file is None


# --- privacy ----------------------------------------------------------------------------------------------------------

FOLDERS = ("", "run", "run/bell", "logs", "teams")


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_the_home_is_private_under_any_umask(tmp_path: Path) -> None:
    home = tmp_path / "new"
    prepare_home(str(home))
    assert {name: mode(home / name) for name in FOLDERS} == dict.fromkeys(FOLDERS, 0o700)
    create_private(str(home / "rookery.db"))
    assert mode(home / "rookery.db") == 0o600


def test_looser_modes_are_tightened(tmp_path: Path) -> None:
    home = tmp_path / "new"
    prepare_home(str(home))
    for name in FOLDERS:
        (home / name).chmod(0o755)
    (home / "rookery.db").write_bytes(b"data")
    (home / "rookery.db").chmod(0o644)
    prepare_home(str(home))
    create_private(str(home / "rookery.db"))
    assert {mode(home / name) for name in FOLDERS} == {0o700}
    assert mode(home / "rookery.db") == 0o600
    assert (home / "rookery.db").read_bytes() == b"data"


def test_what_is_missing_is_made_again(tmp_path: Path) -> None:
    home = tmp_path / "new"
    prepare_home(str(home))
    (home / "run" / "bell").rmdir()
    (home / "run").rmdir()
    (home / "logs").rmdir()
    prepare_home(str(home))
    assert {mode(home / name) for name in FOLDERS} == {0o700}


def test_a_prepared_home_costs_two_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = str(tmp_path / "new")
    prepare_home(home)
    calls: list[str] = []
    os_lstat = os.lstat

    def noted(path: str) -> os.stat_result:
        calls.append(path)
        return os_lstat(path)

    def forbidden(*_: object) -> NoReturn:
        raise AssertionError

    for name in ("mkdir", "chmod", "stat", "open", "scandir", "listdir"):
        monkeypatch.setattr(os, name, forbidden)
    monkeypatch.setattr(os, "lstat", noted)
    prepare_home(home)
    assert len(calls) == 2


@pytest.mark.parametrize("suffix", ["", "/", "/."])
def test_a_symlinked_home_is_refused(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(StoreUnusable, match="symlink") as caught:
        prepare_home(f"{tmp_path}/link{suffix}")
    assert "ROOK_HOME" in caught.value.hint
    assert list((tmp_path / "real").iterdir()) == []


def test_a_symlink_to_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(StoreUnusable, match="symlink"):
        prepare_home(str(tmp_path / "link"))
    with pytest.raises(StoreUnusable, match="symlink"):
        create_private(str(tmp_path / "link"))
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", ["", "run", "run/bell", "logs"])
def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "new" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    with pytest.raises(StoreUnusable, match="not a folder"):
        prepare_home(str(tmp_path / "new"))
    assert path.read_text() == "mine"


def test_another_users_things_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new").chmod(0o755)  # whatever the umask
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.raises(StoreUnusable, match=f"uid {os.getuid()}"):
        prepare_home(str(tmp_path / "new"))
    with pytest.raises(StoreUnusable, match="another user"):
        create_private(str(tmp_path / "file"))
    assert mode(tmp_path / "new") == 0o755


def test_a_missing_parent_is_named(tmp_path: Path) -> None:
    for make in (prepare_home, create_private):
        with pytest.raises(StoreUnusable, match="does not exist") as caught:
            make(str(tmp_path / "no" / "new"))
        assert "mkdir -p" in caught.value.hint


def test_a_name_that_is_no_path_is_refused(tmp_path: Path) -> None:
    for make in (prepare_home, create_private):
        with pytest.raises(StoreUnusable):
            make(f"{tmp_path}/a\0b")
        with pytest.raises(StoreUnusable):
            make(f"{tmp_path}/{'x' * 300}")


# Root may write anywhere, so the refusal of the system is played rather than arranged.
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (errno.EACCES, StoreReadOnly),
        (errno.EPERM, StoreReadOnly),
        (errno.EROFS, StoreReadOnly),
        (errno.ENOSPC, StoreFull),
        (errno.ENOTDIR, StoreUnusable),
        (errno.EIO, StoreUnusable),
    ],
)
def test_what_the_disk_refuses_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, kind: type[RookError]
) -> None:
    def fail(*_: object) -> NoReturn:
        raise OSError(code, os.strerror(code))

    for name in ("mkdir", "mknod", "open", "chmod"):
        monkeypatch.setattr(os, name, fail)
    for make in (prepare_home, create_private):
        with pytest.raises(kind) as caught:
            make(str(tmp_path / "new"))
        assert str(tmp_path / "new") in caught.value.message
        assert caught.value.hint
        assert caught.value.exit_code == 3
    assert not (tmp_path / "new").exists()


def test_a_home_that_cannot_be_entered_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "new"
    home.mkdir(0o700)
    os_lstat = os.lstat

    def guarded(path: str) -> os.stat_result:
        if path != str(home):
            raise PermissionError(errno.EACCES, "Permission denied")
        return os_lstat(path)

    monkeypatch.setattr(os, "lstat", guarded)
    with pytest.raises(StoreReadOnly, match="Permission denied"):
        prepare_home(str(home))


@pytest.mark.slow
def test_many_processes_may_prepare_one_home(tmp_path: Path) -> None:
    program = (
        "import sys; from rookery.runtime.places import create_private, prepare_home\n"
        "sys.stdin.readline(); prepare_home(sys.argv[1]); create_private(sys.argv[1] + '/rookery.db')"
    )
    home = tmp_path / "new"
    command = [sys.executable, "-c", program, str(home)]
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    started = [subprocess.Popen(command, stdin=subprocess.PIPE, env=environ) for _ in range(4)]
    for one in started:
        assert one.stdin
        one.stdin.write(b"\n")
        one.stdin.close()
    assert [one.wait(30) for one in started] == [0] * 4
    assert {mode(home / name) for name in FOLDERS} == {0o700}


def test_a_new_file_is_empty_and_a_raced_one_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    create_private(str(path))
    assert path.read_bytes() == b""

    def slower(*_: object) -> NoReturn:
        other.write_bytes(b"theirs")
        other.chmod(0o600)
        raise FileExistsError

    other = tmp_path / "b"
    monkeypatch.setattr(os, "mknod", slower)
    create_private(str(other))
    assert other.read_bytes() == b"theirs"


def test_where_nobody_may_make_nodes_the_file_is_opened_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> NoReturn:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "mknod", forbidden)
    create_private(str(tmp_path / "a"))
    assert mode(tmp_path / "a") == 0o600


def test_a_folder_or_pipe_is_no_private_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(StoreUnusable, match="not a file"):
            create_private(str(path))


def test_h39_an_existing_file_is_never_opened_so_its_locks_stay(tmp_path: Path) -> None:
    path = tmp_path / "rookery.db"
    probe = (
        "import fcntl, sys\nwith open(sys.argv[1], 'r+b') as file:\n"
        "    try: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "    except OSError: sys.exit(7)\n"
    )

    def locked() -> bool:
        return subprocess.run([sys.executable, "-I", "-S", "-c", probe, str(path)], check=False).returncode == 7

    create_private(str(path))
    with path.open("r+b") as holder:
        fcntl.lockf(holder, fcntl.LOCK_EX)
        path.chmod(0o644)
        create_private(str(path))
        assert mode(path) == 0o600
        assert locked()
        path.open("rb").close()  # what create_private must not do: the lock is gone
        assert not locked()
