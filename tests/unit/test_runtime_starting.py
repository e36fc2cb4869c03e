"""Programs that outlive their starter: begun once, found again, and what is left of them."""

import os
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from rookery.core.errors import BadInput, Refused
from rookery.runtime import process, ptys, runs, starting
from rookery.runtime.starting import Place, Starter
from tests.support.panes import until

RUN = f"run-starting-{os.getpid()}"  # whoever runs the same tests beside us has others


@pytest.fixture
def where(tmp_path: Path) -> Place:
    home = tmp_path / "rook"
    home.mkdir(mode=0o700)
    made = starting.place(str(home), "crew", "w1", 1)
    starting.prepare(str(home), made)
    return made


@pytest.fixture
def starter(tmp_path: Path) -> Generator[Starter]:
    made = Starter(str(tmp_path / "rook"))
    yield made
    runs.end(RUN, None, 0.0, reap=made.reap)


def start(starter: Starter, where: Place, *argv: str, stdin: str = "") -> starting.Begun:
    environ = {"PATH": os.environ["PATH"], "ROOK_RUN": RUN}
    return starter.start(where, "headless", argv, run=RUN, cwd=where.folder, environ=environ, stdin=stdin)


def ended(starter: Starter, begun: starting.Begun) -> None:
    def over() -> bool:
        starter.reap()
        return process.state(*begun.process) == process.DEAD

    until(over)


def test_words_reach_a_program_as_they_are_and_its_code_is_kept(starter: Starter, where: Place) -> None:
    words = ["a b", "$(touch made)", "; exit 3;", "", "-n", "*", 'quo"te', "\n"]
    begun = start(
        starter, where, "sh", "-c", 'for each; do printf "%s|" "$each"; done; cat; exit 7', "sh", *words, stdin="told"
    )
    ended(starter, begun)
    assert Path(where.of_run("output.log")).read_text() == "".join(f"{word}|" for word in words) + "told"
    assert starting.exit_code(where, {}) == 7
    assert not os.path.exists(where.of("made"))
    assert Path(where.of_run("output.log")).stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
@pytest.mark.parametrize("capture", [True, False])
def test_a_held_terminal_is_kept_raw_if_that_is_asked_for(starter: Starter, where: Place, capture: bool) -> None:
    environ = {"PATH": os.environ["PATH"], "ROOK_RUN": RUN}
    begun = starter.start(
        where, "pty", ["sh", "-c", "echo shown"], run=RUN, cwd=where.folder, environ=environ, capture=capture
    )
    ended(starter, begun)
    log = Path(where.of_run("terminal.log"))
    until(lambda: log.exists() == capture and (not capture or b"shown" in log.read_bytes()))
    ptys.ended(begun.terminal)


def test_a_run_that_was_given_up_never_begins(where: Place) -> None:
    """And the other way round: what began can not be given up. So there is one answer, whoever comes first."""
    assert starting.give_up(where)
    assert starting.give_up(where), "said again, it is the same"
    child = subprocess.Popen(
        ["sh", "-c", starting.SCRIPT, "sh", where.of_run("begun"), where.of_run("exit"), "touch", where.of("made")]
    )
    assert child.wait(30) == starting.NOT_BEGUN
    assert not os.path.exists(where.of("made"))
    assert starting.said_begun(where) is None
    os.unlink(where.of_run("begun"))  # a control: nothing else kept it from beginning
    child = subprocess.Popen(
        ["sh", "-c", starting.SCRIPT, "sh", where.of_run("begun"), where.of_run("exit"), "touch", where.of("made")]
    )
    assert child.wait(30) == 0
    assert os.path.exists(where.of("made"))
    assert not starting.give_up(where)


def test_a_race_for_the_beginning_has_one_winner(where: Place) -> None:
    script = [
        "sh",
        "-c",
        starting.SCRIPT,
        "sh",
        where.of_run("begun"),
        where.of_run("exit"),
        "sh",
        "-c",
        f"echo x >>{where.of('made')}",
    ]
    children = [subprocess.Popen(script) for _ in range(20)]
    gave_up = starting.give_up(where)
    codes = [child.wait(60) for child in children]
    made = Path(where.of("made")).read_text().split() if os.path.exists(where.of("made")) else []
    assert len(made) + gave_up == 1
    assert codes.count(0) == len(made)


def test_it_says_who_it_is_and_is_found_by_what_it_carries(starter: Starter, where: Place) -> None:
    begun = start(starter, where, "sleep", "1000")
    assert process.identify(begun.process.pid) == begun.process == starting.said_begun(where)
    found = starting.found_again(starter._home, where, "headless", RUN)
    assert found is not None
    assert found.process == begun.process
    os.truncate(where.of_run("begun"), 0)  # killed while it said so
    found = starting.found_again(starter._home, where, "headless", RUN)
    assert found is not None
    assert found.process in runs.carriers(RUN)
    runs.send(begun.process, signal.SIGKILL)
    runs.end(RUN, None, 0.0, reap=starter.reap)
    assert starting.found_again(starter._home, where, "headless", RUN) is None
    assert starting.exit_code(where, {}) is None


def test_signals_for_the_program_leave_its_code(starter: Starter, where: Place) -> None:
    begun = start(starter, where, "sh", "-c", "trap 'exit 9' TERM; echo on; while :; do sleep 0.02; done")
    until(lambda: "on" in Path(where.of_run("output.log")).read_text())
    runs.end(RUN, begun.process, 30.0, reap=starter.reap)
    assert starting.exit_code(where, {}) == 9


def test_what_was_started_while_the_others_were_asked_is_asked_too(starter: Starter, where: Place) -> None:
    """A shell between two commands: the next one begins after the look, and did not have to be killed."""
    last = "trap 'sleep 1000 & exit 9' TERM; echo on; while :; do sleep 0.02; done"
    begun = start(starter, where, "sh", "-c", last)
    until(lambda: "on" in Path(where.of_run("output.log")).read_text())
    done = runs.end(RUN, begun.process, 30.0, reap=starter.reap)
    assert (done.killed, done.left, runs.carriers(RUN)) == (0, 0, [])


def test_what_can_not_be_started_is_refused(starter: Starter, where: Place) -> None:
    with pytest.raises(BadInput):
        start(starter, where)
    with pytest.raises((Refused, OSError)):
        starter.start(where, "headless", ["true"], run=RUN, cwd="/nonexistent", environ={"PATH": os.environ["PATH"]})


def test_only_what_is_named_is_passed_on() -> None:
    given = {"PATH": "/bin", "HOME": "/h", "LC_TIME": "C", "XDG_CACHE_HOME": "/c", "SECRET": "x", "KEY": "k",
             "LD_PRELOAD": "evil", "ROOK_TOKEN": "t", "ROOK_URL": "u", "ROOK_AGENT": "other"}  # fmt: skip
    made = starting.environment(given, ("KEY", "ROOK_TOKEN"), {"ROOK_AGENT": "ada"})
    assert made == {
        "PATH": "/bin",
        "HOME": "/h",
        "LC_TIME": "C",
        "XDG_CACHE_HOME": "/c",
        "KEY": "k",
        "ROOK_AGENT": "ada",
    }


def test_last_lines_are_taken_once(where: Place) -> None:
    Path(where.of_run("output.log")).write_text("".join(f"line {n}\n" for n in range(300)) + "\x1b[31mred\n")
    first = starting.harvest(where, {})
    assert first.splitlines()[-1] == "red"
    assert len(first.splitlines()) == starting.TAIL_LINES
    Path(where.of_run("output.log")).write_text("other")
    assert starting.harvest(where, {}) == first == Path(where.of("pane-tail.txt")).read_text()
