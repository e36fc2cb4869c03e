"""A held terminal shown in a person's own: through a real pty, as a person has it."""

import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest

from rookery.core.errors import BadInput, UnknownName
from rookery.runtime import ptys
from rookery.runtime.vt.screen import Emulator
from tests.support.families import few
from tests.support.held import HeldServer, held
from tests.support.inside import environment
from tests.support.panes import until
from tests.support.procs import ROOT

SIZE = (70, 20)


@pytest.fixture
def there() -> Generator[HeldServer]:
    with held() as started:
        yield started


class Person:
    """A terminal with `attach` in it: what it shows, and what is typed there."""

    def __init__(self, address: dict[str, str], size: tuple[int, int] = SIZE) -> None:
        self._master, slave = os.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(slave)
        self._slave = slave
        self.screen = Emulator(*size)
        self.raw = b""
        self._how, told = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from {show.__module__} import show; show({address!r}, {told})"], cwd=ROOT,
            env=environment(), stdin=slave, pass_fds=(told,), preexec_fn=lambda: os.login_tty(0),
        )  # fmt: skip
        os.close(told)

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def types(self, data: bytes) -> None:
        os.write(self._master, data)

    def sees(self, text: str) -> None:
        until(lambda: self._look() and text in "\n".join(self.lines), lambda: f"{text!r} on {self.lines}")

    def _look(self) -> bool:
        while select.select([self._master], [], [], 0)[0]:
            data = os.read(self._master, 65536)
            self.raw += data
            _, answer = self.screen.feed(data)
            assert not answer, "this terminal was asked something"
        return True

    @property
    def lines(self) -> list[str]:
        return self.screen.look()[0]

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def ends(self) -> str:
        """How it ended, once it did; its terminal is as it was before."""
        until(lambda: self._look() and self._process.poll() is not None, lambda: self.lines)
        self._look()
        assert termios.tcgetattr(self._slave) == self.before
        assert self.screen.asked == {7, 25}, "no mode is left behind"
        assert self.screen._main is None, "nor the other screen"
        return os.read(self._how, 100).decode()

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for end in (self._master, self._slave, self._how):
            os.close(end)


def show(address: dict[str, str], told: int) -> None:
    os.write(told, ptys.attach(address, sys.stdin, sys.stdout).encode())


@pytest.fixture
def shown(there: HeldServer) -> Generator[tuple[HeldServer, str, Person]]:
    script = r"""printf '\033[?2004h\033[1;31mred\033[m here\n'; while read line; do echo "heard $line"; done"""
    pane = there.start(["sh", "-c", script])
    there.shows(pane, "here")
    person = Person(there.address(pane))
    yield there, pane, person
    person.close()


@pytest.mark.slow
def test_a_person_sees_what_was_there_and_types_and_leaves(shown: tuple[HeldServer, str, Person]) -> None:
    there, pane, person = shown
    person.sees("red here")
    assert person.screen.buffer[0][0].fg == "red", "with its colours"
    assert 2004 in person.screen.asked, "and the modes that the program asked for"
    person.types(b"hello\n")
    person.sees("heard hello")
    there.types(pane, "from elsewhere\n")
    person.sees("heard from elsewhere")
    person.types(b"half\x1dbehind")
    assert person.ends() == "detached"
    there.shows(pane, "half")
    assert "behind" not in there.screen(pane)
    assert ptys.is_there(there.address(pane)), "the program goes on"


@pytest.mark.slow
def test_its_size_is_that_of_the_persons_terminal(there: HeldServer) -> None:
    look = 'while :; do now=$(stty size); [ "$now" = "$was" ] || echo "size $now"; was=$now; sleep 0.02; done'
    pane = there.start(["sh", "-c", look])
    there.shows(pane, "size 24 90")
    person = Person(there.address(pane))
    try:
        person.sees(f"size {SIZE[1]} {SIZE[0]}")
        person.resize(91, 31)
        person.screen.fit(91, 31)
        person.sees("size 31 91")
        person.types(b"\x1d")
        assert person.ends() == "detached"
    finally:
        person.close()


@pytest.mark.slow
@pytest.mark.parametrize("number", few([signal.SIGTERM, signal.SIGHUP, signal.SIGINT], signal.SIGTERM))
def test_a_signal_gives_the_terminal_back_too(shown: tuple[HeldServer, str, Person], number: int) -> None:
    there, pane, person = shown
    person.sees("red here")
    person.signal(number)
    person.ends()
    assert ptys.is_there(there.address(pane))


@pytest.mark.slow
def test_control_a_viewer_that_is_killed_leaves_its_terminal_raw(shown: tuple[HeldServer, str, Person]) -> None:
    """Nothing can be done about SIGKILL; this shows that the check above can fail."""
    _, _, person = shown
    person.sees("red here")
    person.signal(signal.SIGKILL)
    with pytest.raises(AssertionError):
        person.ends()


@pytest.mark.slow
def test_it_ends_with_the_program(shown: tuple[HeldServer, str, Person]) -> None:
    there, pane, person = shown
    person.sees("red here")
    there.ask(pane, op="end", grace_s=0)
    assert person.ends() == "ended"


@pytest.mark.slow
def test_it_ends_with_the_holder(shown: tuple[HeldServer, str, Person]) -> None:
    there, pane, person = shown
    person.sees("red here")
    os.kill(there.holder(pane).pid, signal.SIGKILL)
    assert person.ends() == "ended"
    with suppress(FileNotFoundError):
        os.unlink(there.address(pane)["socket"])


@pytest.mark.slow
def test_two_people_see_the_same_and_either_may_leave(shown: tuple[HeldServer, str, Person]) -> None:
    there, pane, first = shown
    second = Person(there.address(pane))
    try:
        second.sees("red here")
        first.sees("red here")
        second.types(b"from the second\n")
        for person in (first, second):
            person.sees("heard from the second")
        second.types(b"\x1d")
        assert second.ends() == "detached"
        first.types(b"from the first\n")
        first.sees("heard from the first")
    finally:
        second.close()


@pytest.mark.slow
def test_what_a_program_asks_and_steals_does_not_reach_a_persons_terminal(there: HeldServer, tmp_path: Path) -> None:
    asks = rb"\033[6n\033[c\033P$qm\033\\\033]52;c;aGk=\007\033]11;?\007\033[21t\005\033[8;9;9t\033c\033[?1049hdone"
    pane = there.start(["sh", "-c", f"read go; printf '{asks.decode()}'; exec cat"])
    person = Person(there.address(pane))
    try:
        person.types(b"\n")
        person.sees("done")  # a question that came through fails there
        for stolen in (b"aGk=", b"]11", b"$q", b"[21t", b"[8;9;9t", b"\x05", b"\x1bc"):
            assert stolen not in person.raw
        person.types(b"\x1d")
        assert person.ends() == "detached"
    finally:
        person.close()


@pytest.mark.slow
def test_a_person_who_looks_away_sees_the_end_of_it(there: HeldServer) -> None:
    """Output that a terminal does not take piles up nowhere; what is seen then is the screen as it is."""
    pane = there.start(["sh", "-c", "read go; seq 250000; echo the end; read go; echo after; exec cat"])
    person = Person(there.address(pane))
    try:
        there.shows(pane, "")
        person.types(b"\n")
        until(lambda: "the end" in there.screen(pane), patience_s=120.0)  # while nobody reads
        person.sees("the end")
        assert len(person.raw) < 1_500_000, "what was missed is not sent later"
        person.types(b"\n")
        person.sees("after")
        there.shows(pane, "after")
        assert person.lines == there.screen(pane).split("\n")
        person.types(b"\x1d")
        assert person.ends() == "detached"
    finally:
        person.close()


@pytest.mark.slow
def test_without_a_terminal_or_without_a_holder_it_says_so(there: HeldServer, tmp_path: Path) -> None:
    pane = there.start(["cat"])
    with (tmp_path / "file").open("w+") as file, pytest.raises(BadInput, match="in a terminal"):
        ptys.attach(there.address(pane), file, file)
    master, slave = os.openpty()
    with os.fdopen(slave, "r+b", buffering=0) as terminal, pytest.raises(UnknownName):
        ptys.attach({**there.address(pane), "socket": str(tmp_path / "none")}, terminal, terminal)
    os.close(master)
