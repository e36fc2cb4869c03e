"""The documents tell the truth: what they show is run, what is generated is current."""

import os
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BIN = str(Path(sys.executable).parent)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.M | re.S)


def environment(home: Path) -> dict[str, str]:
    return {
        "PATH": f"{home}/bin:{BIN}:/usr/bin:/bin",
        "HOME": str(home),
        "ROOK_HOME": str(home / "rook"),
        "LANG": "C.UTF-8",
        "ROOK_WORKER_GRACE_S": "0.3",
    }


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    repo = tmp_path / "shop"
    repo.mkdir()
    identity = ["-c", "user.name=you", "-c", "user.email=you@rookery.invalid"]
    for words in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "Nothing yet"]):
        subprocess.run(["git", *words], cwd=repo, check=True, env=environment(tmp_path))
    return repo


@pytest.fixture
def a_program_that_stays(tmp_path: Path) -> None:
    """In the place of an agent program: the commands are tried here, and the real ones in tests/hosts."""
    path = tmp_path / "bin" / "claude"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\nexec sleep 1000\n")
    path.chmod(0o755)


@pytest.mark.slow
@pytest.mark.usefixtures("a_program_that_stays")
def test_every_command_in_the_readme_runs(tmp_path: Path, repository: Path):
    commands = [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]
    assert len(commands) >= 9
    # One shell for all of them, as the reader has: the session is bound to it.
    today = datetime.now(UTC).strftime("ESC-%Y%m%d-")
    commands = [re.sub(r"ESC-\d{8}-", today, command) for command in commands]
    lines = [f"echo '>>> {i}'; {command}" for i, command in enumerate(commands)]
    script = "\n".join(["set -e", "stty cols 120", "trap 'rook down >/dev/null 2>&1 || true' EXIT", *lines])
    file = tmp_path / "readme.sh"
    file.write_text(script)
    done = subprocess.run(  # in a terminal, as the reader's shell is: some of it only the user may do
        ["script", "-qec", f"bash {file}", "/dev/null"], cwd=repository, env=environment(tmp_path), capture_output=True,
        text=True, timeout=180, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert f">>> {len(commands) - 1}" in done.stdout
    assert "API is ready" in done.stdout
    assert "Which header versions?" in done.stdout


@pytest.mark.slow
def test_the_python_of_the_readme_runs(tmp_path: Path, repository: Path):
    (code,) = blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=repository,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "planner API is ready" in done.stdout


def test_the_commands_of_the_page_on_crews_are_there():
    """They would start agent programs, so they are read as the command line reads them, and not run."""
    from rookery.front.cli.router import find, parser_of

    page = (ROOT / "docs" / "crews.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ rook (.+)$", page, re.M)
    assert len(commands) > 10
    for line in commands:
        command, rest = find(shlex.split(line))
        assert parser_of(command, 100).read(rest) is not None, line


def test_links_in_the_documents_lead_somewhere():
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_the_command_reference_is_current():
    from rookery.front.cli.reference import markdown

    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == markdown(), "run `make docs`"


def test_the_readme_is_short():
    assert len(README.splitlines()) < 200


def test_no_page_names_this_machine():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        assert os.fspath(ROOT) not in page.read_text(encoding="utf-8")
