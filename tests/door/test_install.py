"""The command as installers leave it: a wheel is built from this tree and installed with what is at hand."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from rookery.version import VERSION
from tests.support.procs import PATIENCE_S, ROOT

HERE = Path(sys.executable).parent


def installer(name: str, python: str) -> list[str]:
    """Into another environment: with one that it shares, an installer may clear away what runs these tests."""
    quietly = ["--quiet", "--no-deps", "--no-index"]
    if name == "uv":
        return [str(HERE / "uv"), "pip", "install", "--offline", "--python", python, *quietly]
    return [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "install", *quietly]


def run(argv: list[str], folder: Path, **environ: str) -> str:
    known = {"PATH": os.environ["PATH"], "HOME": str(folder), "ROOK_HOME": str(folder / "rook"), **environ}
    done = subprocess.run(argv, cwd=ROOT, env=known, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pip", "uv"])
def test_an_installed_command_names_its_interpreter_and_runs(tmp_path: Path, name: str):
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)], tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], tmp_path)
    python, command = tmp_path / "env/bin/python", tmp_path / "env/bin/rook"
    run([*installer(name, str(python)), str(wheel)], tmp_path)
    assert command.stat().st_mode & stat.S_IXUSR
    shebang, _, rest = command.read_text().partition("\n")
    assert shebang.startswith(f"#!{python}")
    assert rest == (ROOT / "src/rookery/__main__.py").read_text().partition("\n")[2], "there is a wrapper around it"
    assert run([str(command), "--version"], tmp_path) == f"rook {VERSION}\n"
    assert run([str(python), "-m", "rookery", "--version"], tmp_path) == f"rook {VERSION}\n"
    assert (HERE / "rook").exists(), "the one of these tests is still there"
