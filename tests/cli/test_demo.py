"""`rook demo`, run for real: what it says is compared with git, the ledger and the processes of this machine."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rookery import app
from rookery.front.cli import demo_project as project
from rookery.front.cli.router import find
from rookery.front.cli.show_demo import NEXT
from tests.support.panes import until

LIMIT_S = 150.0
MOMENTS = ("worker", "landed", "refused", "mail", "question", "answer", "sent back")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "of-the-demo").mkdir()
    return tmp_path / "of-the-demo"


def environment(folder: Path) -> dict[str, str]:
    mine = {"HOME": str(folder), "TMPDIR": str(folder), "ROOK_HOME": str(folder / "untouched")}
    return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1", **mine}


# Whoever runs these tests in the background of a shell has them ignore interrupts, and whatever they start besides.
AWAKE = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.executable, sys.argv[1:])"


def start(folder: Path, *flags: str) -> "subprocess.Popen[str]":
    words = [sys.executable, "-m", "rookery", "demo", *flags]
    return subprocess.Popen(
        [sys.executable, "-c", AWAKE, *words], cwd=folder, env=environment(folder), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def processes_of(folder: Path) -> list[str]:
    """Whatever runs with that folder in its environment, looked up without asking any of our code."""
    mark, found = str(folder).encode(), list[str]()
    for each in Path("/proc").iterdir():
        if each.name.isdigit() and each.name != str(os.getpid()):
            try:
                if mark in (each / "environ").read_bytes():
                    found.append((each / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
    return found


def verb(folder: str, name: str, **args: Any) -> Any:
    environ = {"ROOK_HOME": f"{folder}/home", "ROOK_TEAM": "demo", "HOME": folder}
    house = app.open_house(cwd=f"{folder}/textstat", environ=environ)
    try:
        return house.client.call(name, args, house.caller())
    finally:
        house.close()


def git(folder: str, *words: str) -> str:
    return subprocess.run(
        ["git", "-C", f"{folder}/textstat", *words], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.mark.slow
def test_it_is_true_what_the_demo_tells(folder: Path) -> None:
    demo = start(folder, "--json", "--keep")
    said, complaint = demo.communicate(timeout=LIMIT_S)
    assert demo.returncode == 0, complaint
    told = json.loads(said)
    assert said.count("\n") == 1
    assert (told["tasks"], told["landings"], told["green"], len(told["workers"])) == (8, 8, 8, 3)
    assert (told["reviews"], told["sent_back"], told["questions"], told["refused"]) == (9, 1, 1, 1)
    assert told["seconds"] < LIMIT_S
    assert until(lambda: not processes_of(folder)), processes_of(folder)
    check_git(told["folder"])
    check_ledger(told["folder"], told["workers"])
    assert sorted(path.name for path in folder.iterdir()) == [Path(told["folder"]).name]  # nothing else was touched


def check_git(folder: str) -> None:
    landed = git(folder, "log", "--first-parent", "--format=%s", "main").splitlines()
    assert len(landed) == 9
    assert all(subject.startswith("Land change-") for subject in landed[:8])
    assert git(folder, "status", "--porcelain") == ""
    assert ".casefold()" in git(folder, "show", "main:textstat/common.py")  # as it was answered
    measures = git(folder, "show", f"main:{project.MEASURES}")
    assert project.COUNT.lines in measures
    assert project.LENGTH.lines in measures
    subprocess.run([sys.executable, *project.CHECK], cwd=f"{folder}/textstat", check=True, capture_output=True)


def check_ledger(folder: str, names: list[str]) -> None:
    tasks = verb(folder, "task.list")["tasks"]
    assert [task["status"] for task in tasks] == ["completed"] * 8
    landings = verb(folder, "land.list")["landings"]
    assert len({each["task"] for each in landings}) == len(landings) == 8
    assert {each["state"] for each in landings} == {"landed"}
    events = verb(folder, "events", limit=5_000)["events"]
    back = [each for each in events if each["type"] == "task.review" and each["preview"].startswith("NEEDS_WORK")]
    done = [each["ref"] for each in events if each["type"] == "task.done"]
    assert [each["ref"] for each in back] == ["task-0007"]
    assert sorted(done) == sorted([*(task["id"] for task in tasks), "task-0007"])
    told = [each for each in events if each["type"] == "worker.progress"]
    (refused,) = [each for each in told if " is held by " in each["preview"]]
    letters = [each for each in events if each["type"] == "message" and each["actor"] in names]
    assert [letters[0]["actor"], letters[1]["target"]] == [refused["actor"]] * 2
    assert letters[0]["target"] == letters[1]["actor"]
    assert letters[1]["actor"] in refused["preview"]
    assert len([each for each in events if each["type"] == "worker.answered"]) == 1
    workers = verb(folder, "workers", all=True)["workers"]
    assert {(card["state"], card["exit_code"]) for card in workers} == {("ended", 0)}  # nobody had to be killed


@pytest.mark.slow
def test_without_a_terminal_it_is_plain_lines(folder: Path) -> None:
    demo = start(folder)
    said, complaint = demo.communicate(timeout=LIMIT_S)
    assert demo.returncode == 0, complaint
    assert "\x1b" not in said
    kinds = [line[8:18].strip() for line in said.splitlines() if line[4:7].strip(" ") == "s" or " s  " in line[:8]]
    assert set(kinds) == set(MOMENTS)
    assert kinds.count("landed") == 8
    assert all(command in said for command, _ in NEXT)
    assert list(folder.iterdir()) == []


def test_what_it_says_to_try_next_is_there() -> None:
    for command, _ in NEXT:
        words = command.split()
        assert words[0] == "rook"
        assert find(words[1:])[0].name == " ".join(words[1:])[: len(find(words[1:])[0].name)]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_leaves_nothing(folder: Path, number: signal.Signals) -> None:
    demo = start(folder)
    assert demo.stdout
    until_line(demo, " worker ")  # early, so that much of it is still to come
    assert processes_of(folder)
    demo.send_signal(number)
    demo.send_signal(number)  # whoever is impatient
    demo.communicate(timeout=LIMIT_S)
    assert demo.returncode == 130
    assert until(lambda: not processes_of(folder)), processes_of(folder)
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_what_goes_wrong_is_told_and_left_to_look_at(folder: Path) -> None:
    demo = start(folder)
    until_line(demo, " worker ")
    (kept,) = folder.iterdir()
    os.kill(json.loads((kept / "home" / "run" / "runtime.json").read_text())["pid"], signal.SIGKILL)
    _, complaint = demo.communicate(timeout=LIMIT_S)
    assert demo.returncode == 1
    assert "its daemon is gone" in complaint
    assert str(kept) in complaint
    assert kept.exists()
    assert until(lambda: not processes_of(folder)), processes_of(folder)


def until_line(demo: "subprocess.Popen[str]", words: str) -> None:
    assert demo.stdout
    for line in demo.stdout:
        if words in line:
            return
    raise AssertionError(demo.communicate()[1])
