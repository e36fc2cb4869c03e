"""`make hosts`, its small part: what measures the door for models, at the versions of node/package-lock.json.

    gpt-tokenizer                       counts what the tools cost a model
    @modelcontextprotocol/conformance   asks a server whether it speaks the protocol

Both run on the Node that requirements.lock pins. They are kept beside the agent programs, in a folder of their own, so
that neither is fetched anew because the other changed; how they come there and what is said where they do not is the
same (tests/hosts/install.py).
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.hosts import install
from tests.hosts.steps import Failed, Steps

HERE = Path(__file__).parent / "node"
FILES = ("package.json", "package-lock.json", ".npmrc")
PINS: dict[str, str] = json.loads((HERE / "package.json").read_text())["dependencies"]


def wanted() -> Path:
    digest = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in FILES))
    return install.cache() / f"tools-{digest.hexdigest()[:16]}"


FOLDER = wanted()  # found out before a test changes where home is


def put(deadline_s: float) -> None:
    """Complete under its final name, or not there at all."""
    FOLDER.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f"{FOLDER.name}.part-", dir=FOLDER.parent))
    try:
        for name in FILES:
            shutil.copy(HERE / name, part)
        Steps(deadline_s).run(install.npm(part, deadline_s, "install", "--no-save"))
        sizes = {str(path.relative_to(part)): path.stat().st_size for path in entries(part)}
        (part / install.RECORD).write_text(json.dumps(sizes, indent=2) + "\n")
        install.put_in_place(part, FOLDER)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def entries(folder: Path) -> list[Path]:
    found = [folder / "node_modules" / package / "package.json" for package in PINS]
    for path in found:
        version = json.loads(path.read_text())["version"]
        if version != PINS[str(path.parent.relative_to(folder / "node_modules"))]:
            raise Failed(f"{path.parent.name} is {version}")
    return found


def node(*arguments: str, given: str = "", **environ: str) -> "subprocess.CompletedProcess[str]":
    """With an environment of its own."""
    if not install.whole(FOLDER):
        raise AssertionError(f"{', '.join(PINS)} are not installed in {FOLDER}: run make hosts")
    program = str(install.node_folder() / "bin" / "node")
    return subprocess.run(
        [program, *arguments], cwd=FOLDER, input=given, capture_output=True, text=True, timeout=install.ANSWER_S,
        env={"PATH": os.defpath, "HOME": str(FOLDER), **environ},
    )  # fmt: skip


def main(arguments: list[str]) -> None:
    try:
        deadline_s = float(os.environ.get("ROOK_HOSTS_DEADLINE_S") or install.DEADLINE_S)
        if arguments == ["lock"]:
            Steps(deadline_s).run(install.npm(HERE, deadline_s, "install", "--package-lock-only"))
        elif not install.whole(FOLDER):
            print(f"installing {', '.join(PINS)} into {FOLDER}", flush=True)
            put(deadline_s)
    except (Failed, OSError, ValueError, KeyError) as error:
        sys.exit(f"What the tests of the door for models need could not be installed.\n{error}\n{install.ADVICE}")


if __name__ == "__main__":
    main(sys.argv[1:])
