"""Where measurements take place: a folder on a real disk, and an environment without the caller's settings."""

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

import rookery

TEAM = "bench"
RESULTS = Path(__file__).parent / "results"
IN_MEMORY = ("tmpfs", "ramfs")  # where fsync costs nothing, so that nothing would be measured

SUBJECT = "The parser is ready"
BODY = "Headers are parsed and every error names its line. " * 5


class Scene:
    """Entered once by the command: everything below `folder` goes at its end, and the environment comes back."""

    def __init__(self) -> None:
        self.folder = ""
        self._before: dict[str, str] = {}

    def __enter__(self) -> "Scene":
        self.folder = tempfile.mkdtemp(prefix="rook-bench-", dir=disk_folder())
        self._before = dict(os.environ)
        os.environ.clear()
        os.environ.update(self.environment(""))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.environ.clear()
        os.environ.update(self._before)
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, home: str) -> dict[str, str]:
        """Built, not inherited: no setting of whoever runs this reaches a process that is measured."""
        built = {"PATH": self._before.get("PATH", os.defpath), "HOME": self.folder, "LANG": "C.UTF-8", "TZ": "UTC"}
        return built | ({"ROOK_HOME": home, "ROOK_TEAM": TEAM} if home else {})

    def home(self, name: str) -> str:
        return os.path.join(self.folder, name)


def team(home: str) -> rookery.Team:
    """The team as any program connects to it."""
    return rookery.connect(team=TEAM, home=home, cwd=os.path.dirname(home))


def database(home: str) -> str:
    return os.path.join(home, "rookery.db")


def disk_folder() -> str:
    """The usual place for temporary files, unless that lies in memory: then beside the results, in the repository."""
    usual = tempfile.gettempdir()
    if file_system(usual) not in IN_MEMORY:
        return usual
    RESULTS.mkdir(parents=True, exist_ok=True)
    return str(RESULTS)


def file_system(path: str) -> str:
    """The type of the file system under a path, "" where it cannot be told."""
    real = os.path.realpath(path)
    best, kind = "", ""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8")
    except OSError:
        return kind
    for line in mounts.splitlines():
        place, found = line.split()[1:3]
        inside = real == place or real.startswith(place.rstrip("/") + "/")
        if inside and len(place) >= len(best):
            best, kind = place, found
    return kind
