"""Where things are: the home, the team, the settings files, the store; and how the home is kept private."""

import os
import stat
from collections.abc import Mapping

from rookery.core.errors import BadInput, StoreCorrupt, StoreUnusable, Unreachable
from rookery.core.record import NamedTuple
from rookery.runtime import git
from rookery.runtime.files import check_may_open, read_limited, refusal

DATABASE = "rookery.db"
REPO_FILE = "rookery.toml"
REPO_FILE_LIMIT = 1 << 20
TOKEN_LIMIT = 1 << 16
# `run/bell` is last: while it is there, all the others were made.
FOLDERS = ("logs", "teams", "run", os.path.join("run", "bell"))
PI_TEAM = (".teamd.lock", "team.json")  # in a folder that pi-team's own server has used
TEAM_LIMIT = 50
DIGEST = 6
OTHERWISE = "set ROOK_HOME to another folder"


class Places(NamedTuple):
    home: str
    team: str
    team_source: str
    root: str  # the folder of the rookery.toml that names the team, else the top of the repository, else the folder
    repo_file: str | None  # the rookery.toml that was found
    user_file: str | None  # where the user's settings would be
    store: str
    artifacts: tuple[str, ...]  # the folders from the home down to the shared outputs


class Remote(NamedTuple):
    """A daemon that keeps the ledger."""

    url: str
    token: str


def remote(cwd: str, environ: Mapping[str, str]) -> Remote | None:
    url = environ.get("ROOK_URL")
    if not url:
        return None
    token = token_of(cwd, environ)
    if not token:
        raise BadInput(
            f"No token for the daemon at {url}.",
            "Set ROOK_TOKEN, or ROOK_TOKEN_FILE to a file with it; in Python: connect(url=..., token=...).",
            code="NO_TOKEN",
        )
    return Remote(url.rstrip("/"), token)


def token_of(cwd: str, environ: Mapping[str, str]) -> str:
    """The token that a caller was given, by ROOK_TOKEN or in a file; "" if none."""
    token = environ.get("ROOK_TOKEN", "")
    if not token and (path := environ.get("ROOK_TOKEN_FILE")):
        token = _token_in(os.path.join(cwd, _expanded(path, environ)))
    return token


def _token_in(path: str) -> str:
    """The token alone, or a daemon's runtime.json."""
    written = read_limited(path, TOKEN_LIMIT).decode("utf-8", "replace").strip()
    if not written.startswith("{"):
        return written
    import json

    try:
        return str(json.loads(written)["token"])
    except (ValueError, KeyError):
        raise BadInput(f"{path} names no token.", "It holds the token alone, or is a runtime.json.") from None


def find(*, cwd: str, environ: Mapping[str, str], team: str | None = None) -> Places:
    repository = git.find(cwd)
    repo_file = _repo_file(cwd)
    folder = os.path.dirname(repo_file) if repo_file else os.path.realpath(cwd)
    name, source = _team(environ, team, repo_file, repository, folder)
    home = _home(cwd, environ)
    user_file = _user_file(environ)
    for path in filter(None, (repo_file, user_file)):
        check_may_open(path)
    return Places(
        home=home,
        team=name,
        team_source=source,
        root=repository.top if repository and source != repo_file else folder,
        repo_file=repo_file,
        user_file=user_file,
        store=_store(cwd, environ, home),
        artifacts=artifacts_of(name),
    )


def artifacts_of(team: str) -> tuple[str, ...]:
    return ("teams", team, "artifacts")


# --- the team ---------------------------------------------------------------------------------------------------------


def _team(
    environ: Mapping[str, str],
    flag: str | None,
    repo_file: str | None,
    repository: git.Repository | None,
    folder: str,
) -> tuple[str, str]:
    """The name of the team and where it came from."""
    if flag is not None:
        return _checked(flag, "flag")
    if given := environ.get("ROOK_TEAM"):
        return _checked(given, "environment ROOK_TEAM")
    if repo_file and (written := _team_in(repo_file)):
        return _checked(written, repo_file)
    if repository:
        return _derived(_repository_name(repository.common), repository.common), f"repository {repository.top}"
    return _derived(os.path.basename(folder), folder), f"folder {folder}"


def _checked(team: str, source: str) -> tuple[str, str]:
    from rookery.core.names import check_team

    try:
        return check_team(team), source
    except BadInput as error:
        raise BadInput(f"{error.message} It comes from {source}.", error.hint, code=error.code, source=source) from None


def _derived(name: str, path: str) -> str:
    """Readable, and different for every path: two checkouts called `app` are two teams."""
    import zlib  # a checksum tells paths apart as well as a hash does, and loads in a fraction of the time

    from rookery.core.text import slug

    digest = f"{zlib.crc32(os.fsencode(path)):08x}"[:DIGEST]
    return f"{slug(name, TEAM_LIMIT - DIGEST - 1) or 'team'}-{digest}"


def _repository_name(common: str) -> str:
    """`app` for /src/app/.git, /src/app/.bare, /srv/app.git and the submodule /src/x/.git/modules/app."""
    above, name = os.path.split(common)
    return os.path.basename(above) if name.startswith(".") else name.removesuffix(".git")


def _team_in(path: str) -> str:
    from rookery.core import toml

    team = toml.parse(read_limited(path, REPO_FILE_LIMIT), path).get("team", "")
    if not isinstance(team, str):
        raise BadInput(
            f"team is {ascii(team)[:60]} in {path}; it takes a string.",
            "Correct it there, or leave it out to have the repository name the team.",
            code="BAD_SETTING",
            setting="team",
            source=path,
        )
    return team


# --- files and folders ------------------------------------------------------------------------------------------------


def _repo_file(cwd: str) -> str | None:
    """The nearest rookery.toml, upwards; beyond the repository too: a folder of repositories can be one team."""
    place = os.path.realpath(cwd)
    while True:
        path = os.path.join(place, REPO_FILE)
        if os.path.lexists(path) and _is_trusted(path, place):
            return path
        above = os.path.dirname(place)
        if above == place:
            return None
        place = above


def _is_trusted(path: str, folder: str) -> bool:
    """Where everybody may write, as in /tmp, a file of someone else is not a setting for everything below it."""
    try:
        if not os.stat(folder).st_mode & stat.S_IWOTH:
            return True
        return os.lstat(path).st_uid in (os.geteuid(), 0)
    except OSError:
        return False


def _home(cwd: str, environ: Mapping[str, str]) -> str:
    given = environ.get("ROOK_HOME") or "~/.rookery"
    return os.path.normpath(os.path.join(cwd, _expanded(given, environ)))


def account_file() -> str:
    """The user's file of settings as the account has it; "" for a user without a home."""
    return _user_file({}) or ""


def _user_file(environ: Mapping[str, str]) -> str | None:
    base = environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):  # a relative one is to be ignored, says its specification
        person = _person(environ)
        if not person:
            return None
        base = os.path.join(person, ".config")
    return os.path.join(base, "rookery", "config.toml")


def _store(cwd: str, environ: Mapping[str, str], home: str) -> str:
    given = environ.get("ROOK_STORE")
    if not given:
        return os.path.join(home, DATABASE)
    if "://" in given:
        return given
    return os.path.normpath(os.path.join(cwd, _expanded(given, environ)))


def _expanded(path: str, environ: Mapping[str, str]) -> str:
    if path != "~" and not path.startswith("~/"):
        return path
    person = _person(environ)
    if not person:
        raise StoreUnusable("It is not known where your home folder is.", "Set HOME, or ROOK_HOME to a full path.")
    return person + path[1:]


def _person(environ: Mapping[str, str]) -> str:
    """The home folder of the person: HOME, else what the system's list of users says."""
    if home := environ.get("HOME"):
        return home
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


# --- privacy ----------------------------------------------------------------------------------------------------------


def prepare_home(home: str) -> None:
    """Makes the home and its folders, 0700 under any umask. Two looks when they are there already."""
    home = os.path.normpath(home)  # with a slash at its end, lstat would follow a symlink
    if not _is_private(home):
        _refuse_shared(home)
        _make_private(home)
    if _is_private(os.path.join(home, FOLDERS[-1])):
        return
    for folder in FOLDERS:
        _make_private(os.path.join(home, folder))


def _refuse_shared(home: str) -> None:
    """A folder that holds other things is not made ours: closing it to others would take those away from them."""
    try:
        seen = os.lstat(home)
        held = os.listdir(home) if stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.getuid() else []
    except (OSError, ValueError):
        return  # making it private names the trouble
    if held and not {"rookery.db", "backups", *PI_TEAM, *FOLDERS} & set(held):
        raise _unusable(home, "holds other things", "Give Rookery a folder of its own")


def _stamp(store: str) -> str:
    return f"{store}.made"


def check_ledger(store: str) -> None:
    """Refuse a database file that is gone or empty although a ledger was made there: it would be made anew, empty.

    Without the stamp an empty file is what a first start left behind that was interrupted; it is made then. The stamp
    is looked at first: it is made after the file has content.
    """
    if not os.path.lexists(_stamp(store)):
        return
    try:
        size = os.lstat(store).st_size
    except (OSError, ValueError):
        size = -1
    if size > 0:
        return
    lost = "has no content" if size == 0 else "is gone"
    raise StoreCorrupt(
        f"{store} {lost}, but a ledger was kept there; nothing was overwritten.",
        f"Put the newest backup there (`rook backup` makes them). To begin with an empty ledger: rm {_stamp(store)}",
        path=store,
    )


def stamp_ledger(store: str) -> None:
    """Record that a ledger was made: from now on an empty file is a loss and not a beginning."""
    if not os.path.lexists(_stamp(store)):
        try:
            create_private(_stamp(store))
        except Unreachable:
            return  # a full disk: the next process that opens the ledger does it


def create_private(path: str) -> None:
    """An empty file, 0600 under any umask, if there is none; an existing one is tightened, and never opened.

    H39: closing any descriptor of the database file drops every POSIX lock that this process holds on it, the ones
    SQLite took in another thread among them. So an existing file is looked at and changed by its name only, and a new
    one is made by mknod, which opens nothing: another thread may use it the moment it is there.
    """
    try:
        seen = _lstat(path)
        if seen is None:
            _create(path)
            seen = os.lstat(path)
        if not stat.S_ISREG(seen.st_mode):
            what = "is a symlink" if stat.S_ISLNK(seen.st_mode) else "is not a file"
            raise _unusable(path, what, "Put a plain file there")
        _refuse_other_user(path, seen)
        if seen.st_mode & 0o077:
            os.chmod(path, 0o600)
    except OSError as error:
        raise refusal(path, error, OTHERWISE) from error


def _create(path: str) -> None:
    try:
        os.mknod(path, stat.S_IFREG | 0o600)
    except FileExistsError:
        return  # someone was faster, and looks after its mode
    except OSError:
        # Elsewhere only root makes nodes, or nobody (macOS, vfat). Weakness there: a thread that opens the new database
        # between these two calls loses its lock at the second.
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            return
    os.chmod(path, 0o600)  # the umask may have taken our own bits away


def _make_private(folder: str) -> None:
    try:
        seen = _lstat(folder)
        if seen is None:
            seen = _mkdir(folder)
        _refuse_foreign(folder, seen)
        if seen.st_mode & 0o077:
            os.chmod(folder, 0o700)
    except OSError as error:
        raise refusal(folder, error, OTHERWISE) from error


def _mkdir(folder: str) -> os.stat_result:
    try:
        os.mkdir(folder, 0o700)
        os.chmod(folder, 0o700)  # the umask may have taken our own bits away
    except FileExistsError:
        pass  # another process was faster; what it made is looked at like anything else
    return os.lstat(folder)


def _refuse_foreign(folder: str, seen: os.stat_result) -> None:
    if stat.S_ISLNK(seen.st_mode):
        raise _unusable(folder, "is a symlink", "Set ROOK_HOME to the folder it leads to")
    if not stat.S_ISDIR(seen.st_mode):
        raise _unusable(folder, "is not a folder", "Move it away")
    _refuse_other_user(folder, seen)


def _refuse_other_user(path: str, seen: os.stat_result) -> None:
    # Root too: what it wrote here, the user could not write any more.
    if seen.st_uid != os.geteuid():
        raise _unusable(path, f"belongs to another user (uid {seen.st_uid})", "Run rook as that user")


def _unusable(path: str, why: str, hint: str) -> StoreUnusable:
    return StoreUnusable(f"{path} {why}; Rookery keeps private things there.", f"{hint}, or {OTHERWISE}.", path=path)


def _is_private(folder: str) -> bool:
    try:
        seen = os.lstat(folder)
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.getuid() and not seen.st_mode & 0o077


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None
    except ValueError:
        raise StoreUnusable(f"{path!a} is no path.", "Remove the NUL character.", path=path) from None


def private_folder(path: str) -> str:
    """A folder of ours inside the home, 0700 under any umask."""
    _make_private(path)
    return path
