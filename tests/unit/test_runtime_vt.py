"""The screen of a held terminal: it agrees with tmux, no bytes do it harm, and painted it is the same."""

from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rookery.runtime.vt import paint
from rookery.runtime.vt.screen import HISTORY, MARKS, Emulator
from rookery.runtime.vt.sift import SEQUENCE_LIMIT, STRING_LIMIT
from tests.support.families import few
from tests.support.reference import Reference

WIDTH, HEIGHT = 20, 8

# -- as tmux has it --------------------------------------------------------------------------------------------------

number = st.sampled_from(["", "0", "1", "2", "3", "5", "7", "19", "99"])
text = st.text("abc xyz 0123 ❯─│ü", min_size=1, max_size=30).map(lambda text: f"{text}\r")
PIECES = st.one_of(
    text,
    text,
    st.sampled_from(["\r\n", "\n", "\x1bM", "\x1bD", "\x1bE", "\x1b7", "\x1b8", "e\u0301\r", "\rab\bc\r", "\ra\tb\r"]),
    st.builds("\x1b[{}{}".format, number, st.sampled_from("ABCDEFGdXSTZP")),
    st.builds("\x1b[{};{}H".format, number, number),
    st.builds("\x1b[{}{}".format, st.sampled_from(["", "0", "1", "2"]), st.sampled_from("JK")),
    st.builds("\x1b[r\x1b[{};1H\x1b[{}{}".format, number, number, st.sampled_from("LM")),
    st.builds("\x1b[{}r".format, st.sampled_from(["", "2;6", "1;8", "3;5"])),
    st.sampled_from(
        [
            "\x1b[2m",
            "\x1b[22m",
            "\x1b[0m",
            "\x1b[38;5;2m",
            "\x1b[1;2m",
            "\x1b[m",
            "\x1b[48;2;2;2;2m",
            "\x1b[5m",
            "\x1b[25m",
            "\x1b[4:3m",
            "\x1b[38:2::1:2:3m",
            "\x1b[58;5;2m",
            "\x1b[;2m",
            "\x1b[38;5m",
        ]
    ),
    # What both let pass without a trace.
    st.sampled_from(
        ["\x1b]0;t\x07", "\x1bP1$r\x1b\\", "\x1b[?25l", "\x1b[?2004h", "\x1b[>4;1m", "\x1b[?4m", "\x1b[ q"]
    ),
)


@pytest.fixture
def tmux(tmp_path: Path) -> Generator[Reference]:
    with Reference(tmp_path, WIDTH, HEIGHT) as started:
        yield started


def ours(data: bytes) -> tuple[tuple[int, int], list[str], list[str]]:
    screen = Emulator(WIDTH, HEIGHT)
    screen.feed(data)
    lines, firm = ([line.rstrip() for line in kind] for kind in screen.look())
    return screen.spot, lines, firm


@pytest.mark.slow
@pytest.mark.tmux
@given(st.lists(PIECES, min_size=1, max_size=25))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_shows_what_tmux_shows(tmux: Reference, pieces: list[str]) -> None:
    data = "".join(pieces).encode()
    assert ours(data) == tmux.shows(data)


@pytest.mark.slow
@pytest.mark.tmux
@given(st.lists(st.text("ab 日本語❯한", min_size=1, max_size=30), min_size=1, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_wide_characters_stand_where_tmux_has_them(tmux: Reference, texts: list[str]) -> None:
    """Of half of one erased, tmux forgets the other half; such are left out."""
    data = "\r\n".join(texts).encode()
    assert ours(data) == tmux.shows(data)


@pytest.mark.slow
@pytest.mark.tmux
def test_the_comparison_sees_what_pyte_alone_gets_wrong(tmux: Reference) -> None:
    """The control: pyte's own screen and parser, on outputs that agent programs write."""
    import pyte

    wrong = 0
    for data in (b"\x1b[2mfaint\x1b[m", "a\ufe0fb".encode(), b"one\x1b[3;1Htwo\x1b[H\x1b[M", b"\x1bP+q544e\x1b\\x"):
        screen = pyte.Screen(WIDTH, HEIGHT)
        pyte.ByteStream(screen).feed(data)
        lines = [line.rstrip() for line in screen.display]
        assert ours(data) == tmux.shows(data)
        wrong += ((min(screen.cursor.x, WIDTH - 1), screen.cursor.y), lines, lines) != tmux.shows(data)
    assert wrong == 4
    with pytest.raises(TypeError):
        pyte.ByteStream(pyte.Screen(WIDTH, HEIGHT)).feed(b"\x1b[?1;1H")


def test_the_other_screen_is_left_as_it_was_entered() -> None:
    screen = Emulator(WIDTH, HEIGHT)
    screen.feed(b"first\r\nsecond\x1b[2m")
    before = screen.look(), screen.spot
    screen.feed(b"\x1b[?1049h\x1b[H\x1b[mother")
    assert screen.look()[0][0] == "other"
    assert "first" not in screen.look()[0]
    screen.feed(b"\x1b[?1049l")
    assert (screen.look(), screen.spot) == before
    screen.feed(b"x")
    assert screen.look()[1][1] == "second ", "the style of the cursor comes back too"


def test_lines_that_leave_at_the_top_are_kept_up_to_a_number() -> None:
    screen = Emulator(WIDTH, HEIGHT)
    screen.feed(b"".join(b"line %d\r\n" % number for number in range(HISTORY + 100)))
    assert screen.tail(3) == [f"line {HISTORY + number}" for number in (97, 98, 99)]
    assert len(screen.tail(HISTORY * 2)) == HISTORY + HEIGHT - 1
    assert screen.tail(0) == screen.tail(-1) == []
    screen.feed(b"\x1b[3J")
    assert len(screen.tail(HISTORY)) == HEIGHT - 1


def test_a_smaller_size_takes_blank_lines_first_and_a_larger_one_nothing() -> None:
    screen = Emulator(WIDTH, HEIGHT)
    screen.feed(b"one\r\ntwo\r\nthree and more")
    screen.fit(10, 4)
    assert screen.look()[0] == ["one", "two", "three and", ""]
    screen.fit(10, 2)
    assert screen.look()[0] == ["two", "three and"]
    assert screen.tail(3) == ["one", "two", "three and"]
    screen.fit(30, 12)
    assert screen.look()[0][:3] == ["two", "three and", ""]
    screen.feed(b"\x1b[12;30Hx")
    assert screen.spot == (29, 11)


# -- hostile bytes ---------------------------------------------------------------------------------------------------

ODD = st.lists(
    st.one_of(
        st.binary(max_size=40),
        PIECES.map(str.encode),
        st.sampled_from([b"\x1b[", b"\x1b]", b"\x1bP", b"\x1b", b"\x9b", b"\xc2\x9b", b"\x1b[?", b"\x1b[4h",
                         b"\x1b[?6h", b"\x1b(0", b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[?7l", b"\x1bc",
                         b"\x1b[!p", b"\x0e", b"\xe2\x80\x8d"]),
        st.builds(b"\x1b[%b%b%b".__mod__, st.tuples(st.sampled_from([b"", b"?", b">", b"<", b"="]),
                  st.binary(max_size=6).map(lambda raw: b";".join(b"%d" % byte for byte in raw)),
                  st.binary(min_size=1, max_size=2))),
    ),
    max_size=30,
).map(b"".join)  # fmt: skip


@given(ODD, st.integers(1, 7))
def test_whatever_comes_is_taken_in_whole_or_in_pieces_and_painted_alike(data: bytes, size: int) -> None:
    whole, pieces = Emulator(WIDTH, HEIGHT), Emulator(WIDTH, HEIGHT)
    passed, _ = whole.feed(data)
    parts = [pieces.feed(data[at : at + size])[0] for at in range(0, len(data), size)]
    assert (whole.look(), whole.spot) == (pieces.look(), pieces.spot)
    assert passed == "".join(parts)
    assert all(0 <= y < HEIGHT and all(0 <= x < WIDTH for x in row) for y, row in whole.buffer.items())
    assert all(len(cell.data) <= MARKS for row in whole.buffer.values() for cell in row.values())

    again = Emulator(WIDTH, HEIGHT)
    again.feed(data[: len(data) // 2])  # whatever state the person's terminal is in
    again.feed(paint.whole(whole).encode())
    assert (again.look(), again.spot) == (whole.look(), whole.spot)


@given(ODD)
def test_what_is_passed_on_asks_a_persons_terminal_nothing(data: bytes) -> None:
    passed, _ = Emulator(WIDTH, HEIGHT).feed(data)
    seen = Emulator(WIDTH, HEIGHT)
    assert seen.feed(passed.encode()) == (passed, "")


ASKED = {
    b"\x1b[5n": "\x1b[0n", b"\x1b[6n": "\x1b[1;3R", b"\x1b[c": "\x1b[?1;2c", b"\x1b[0c": "\x1b[?1;2c",
    b"\x1b[>c": "\x1b[>0;0;0c", b"\x1b[?u": "", b"\x1b[>q": "", b"\x1b[?2026$p": "", b"\x1b[18t": "", b"\x1b[21t": "",
    b"\x1bZ": "", b"\x05": "", b"\x1bP$qm\x1b\\": "", b"\x1bP+q544e\x1b\\": "", b"\x1b]11;?\x07": "",
    b"\x1b]52;c;?\x07": "", b"\x1b]52;c;aGk=\x07": "", b"\x1b]50;?\x1b\\": "", b"\x1b_Gi=1;AAAA\x1b\\": "",
    b"\x1b]1337;File=:AAAA\x07": "", b"\x1b^private\x1b\\": "", b"\x1b[1;1;4;4*y": "", b"\x1b[?1049h": "",
    b"\x1b[>1u": "", b"\x1b[8;1;1t": "",
}  # fmt: skip


@pytest.mark.parametrize("data", ASKED)
def test_questions_are_answered_here_or_not_at_all_and_never_passed_on(data: bytes) -> None:
    screen = Emulator(WIDTH, HEIGHT)
    screen.feed(b"ab")
    assert screen.feed(data) == ("", ASKED[data])
    assert screen.feed(b"c")[0] == "c"
    assert screen.look()[0][0].strip() in ("abc", "c"), "and nothing of them is shown"


def test_what_draws_is_passed_on_as_it_came() -> None:
    data = "text \x1b[1;38;5;2mstyle\x1b[2;3H\x1b[?25l\x1b[2 q\x1b]0;title\x1b\\\x1b]8;;http://x\x1b\\link\x07\r\n"
    assert Emulator(WIDTH, HEIGHT).feed(data.encode()) == (data, "")


# What pyte keeps of some of them grows without end: marks in a cell, saved cursors, strings, numbers.
FLOODS = {
    "marks": "e" + "\u0301" * 20_000, "saved": "\x1b7" * 20_000, "string": "\x1b]0;" + "x" * 200_000,
    "numbers": "\x1b[" + "1;" * 100_000, "large": "\x1b[999999999999999999999L" * 2_000, "lines": "y\r\n" * 20_000,
    "styles": "".join(f"\x1b[38;2;{n % 256};{n // 256};0mx" for n in range(20_000)), "asks": "\x1b[6n" * 20_000,
    "screens": "\x1b[?1049h\x1b[?1049l" * 5_000, "wide": "".join(map(chr, range(0x4E00, 0x9000))),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", few(FLOODS, "marks", "saved", "string"))
def test_floods_of_every_kind_leave_little_behind(name: str) -> None:
    import tracemalloc

    screen = Emulator(80, 24)
    data = FLOODS[name].encode()
    tracemalloc.start()
    for at in range(0, len(data), 4096):
        _, answer = screen.feed(data[at : at + 4096])
        assert len(answer) < 2_000
    left, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert left < 2_000_000


def test_a_sequence_that_is_too_long_is_left_out_to_its_end() -> None:
    screen = Emulator(WIDTH, HEIGHT)
    screen.feed(b"\x1b[" + b"1" * SEQUENCE_LIMIT + b"mA")
    screen.feed(b"\x1b[" + b"1" * SEQUENCE_LIMIT * 3)
    screen.feed(b"1;1mB\x1b]0;" + b"x" * STRING_LIMIT * 2)
    screen.feed(b"xx\x1b\\C")
    assert screen.look()[0][0] == "ABC"
