"""H26: the hook denies what would change a reserved file, and nothing else. The commands are executed.

`python -m tests.shell.coverage` prints the same figures per class.
"""

from time import process_time

import pytest

from rookery.core.shell import Reading, mentions
from rookery.runtime import shell
from tests.shell import coverage, second
from tests.shell.generate import Command, generate
from tests.shell.harmless import ATTACKS, DRY, LIMITS, RUN
from tests.shell.sandbox import HELD, Sandbox
from tests.support.families import few

ENOUGH = 400
SAMPLE = 80  # one in so many, in the default run


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    return Sandbox(tmp_path_factory.mktemp("box"))


def commands(box: Sandbox, part: int = 1) -> list[Command]:
    return generate(str(box.root))[::part]


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_h26_what_changed_a_reserved_file_had_been_denied(box: Sandbox) -> None:
    report = coverage.measure(box, commands(box, 2))
    assert len(report.changed) >= ENOUGH, report.table()
    assert report.share >= coverage.WHOLE, report.table()
    assert report.weak() == {}, report.table()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_h26_what_the_second_writer_changed_had_been_denied(box: Sandbox) -> None:
    report = coverage.measure(box, second.generate(str(box.root), each=6))
    assert len(report.changed) >= 250, report.table()
    assert report.share >= coverage.WHOLE, report.table()
    assert report.weak() == {}, report.table()


def test_a_sample_of_the_second_writer_is_denied(box: Sandbox) -> None:
    report = coverage.measure(box, second.generate(str(box.root), each=1)[::6])
    assert report.changed
    assert report.missed == [], report.table()


def test_a_sample_of_what_changed_a_reserved_file_had_been_denied(box: Sandbox) -> None:
    report = coverage.measure(box, commands(box, SAMPLE))
    assert len(report.changed) >= 10, report.table()
    assert report.missed == [], report.table()


def test_the_count_fails_for_a_reader_that_finds_nothing(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "writes", lambda *_, **__: Reading((), ()))
    report = coverage.measure(box, commands(box, SAMPLE * 2))
    assert report.share == 0
    assert report.weak()


def test_the_count_fails_without_the_search_for_names(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mentions, "named", lambda *_, **__: [])
    report = coverage.measure(box, [each for each in commands(box) if each.writer == "python open"][::5])
    assert report.changed
    assert report.share == 0


# --- ways that were thought of one by one -----------------------------------------------------------------------------


@pytest.mark.parametrize("part", [pytest.param(part, marks=[pytest.mark.slow] * (part > 0)) for part in range(4)])
def test_each_attack_is_denied(box: Sandbox, part: int) -> None:
    assert [command for command in ATTACKS[part::4] if "held by holder" not in box.denial(command)] == []


@pytest.mark.slow
def test_the_attacks_change_the_file(box: Sandbox) -> None:
    missing = ("busybox", "parallel", "rsync")  # not on every machine
    unchanged = [command for command in ATTACKS if not box.execute(command).changed]
    assert [command for command in unchanged if not command.startswith(missing)] == []


@pytest.mark.slow
def test_the_limits_are_as_they_are_documented(box: Sandbox) -> None:
    assert [command for command in LIMITS if box.denial(command)] == []
    assert [command for command in LIMITS if not box.execute(command).changed] == []


# --- harmless ones ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [pytest.param(part, marks=[pytest.mark.slow] * (part > 0)) for part in range(8)])
def test_no_harmless_command_is_denied(box: Sandbox, part: int) -> None:
    assert len(set(RUN + DRY)) >= 600
    asked = [*RUN, *DRY][part::8]
    assert {command: why for command in asked if (why := box.denial(command))} == {}


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_the_harmless_commands_leave_the_file_as_it_is(box: Sandbox) -> None:
    assert [command for command in RUN if box.execute(command).changed] == []


# --- size -------------------------------------------------------------------------------------------------------------

COMMENTS = "# nothing to see\n" * 5_000
STATEMENTS = "echo 1; " * 3_000
PADDING = {
    "comments": COMMENTS, "blanks": " " * (1 << 17) + "\n", "statements": STATEMENTS, "lines": "true\n" * 3_000,
    "a heredoc": "cat > notes.txt <<EOF\n" + "$HOME and more\n" * 6_000 + "EOF\n",
    "braces": "echo {1..9}{1..9}{1..9}; " * 40, "a megabyte": "echo 1234567890; " * 70_000,
}  # fmt: skip
WRITES = [f"rm {HELD}", "cd src && rm a.py", f"echo x > ./{HELD}", "sed -i s/a/b/ sr''c/a.py", "d=src; rm $d/a.py"]


@pytest.mark.parametrize("padding", PADDING.values(), ids=PADDING)
def test_padding_hides_no_write(box: Sandbox, padding: str) -> None:
    for write in WRITES[:: 1 if len(padding) < 1 << 18 else 4]:
        for command in (f"{write}\n{padding}", f"{padding}\n{write}", f"{padding}\n{write}\n{padding}"):
            assert "held by holder" in box.denial(command), (write, command[:40])


@pytest.mark.parametrize("padding", PADDING.values(), ids=PADDING)
def test_padding_alone_is_not_denied(box: Sandbox, padding: str) -> None:
    assert box.denial(padding) == ""
    assert box.denial(f"{padding}\ntrue") == ""


@pytest.mark.parametrize(
    "command",
    [
        "( " * 500 + f"rm {HELD}" + " )" * 500,
        "eval " * 300 + f"rm {HELD}",
        "echo " + "$(" * 200 + f"rm {HELD}" + ")" * 200,
        f"rm {HELD}; echo (",
        f"rm {HELD}; echo 'unterminated",
        f"rm \ud800; rm {HELD}",
        f"rm {HELD} \0",
    ],
)
def test_what_is_not_followed_is_searched(box: Sandbox, command: str) -> None:
    assert "held by holder" in box.denial(command)


PROGRAMS = ["python3 -", "make -f -", "awk -f -", "unheard_of", "ed src/a.py"]
PIECES = [
    "open(",
    "open(x[",
    "open('",
    " ",
    "' ",
    "print(",
    "' +",
    "../",
    "a/",
    "*",
    "src/ ",
    "a.py ",
    "\\x61",
    "src/a.p? ",
    "|",
]


@pytest.mark.parametrize(
    "program", few(["python3 -", "make -f -", "awk -f -", "unheard_of", "ed src/a.py"], "python3 -")
)
def test_text_of_any_shape_is_searched_in_bounded_time(box: Sandbox, program: str) -> None:
    """Bounded: a slow machine is allowed a lot, and quadratic time over this text would take minutes."""
    before = process_time()
    for piece in PIECES:
        text = (piece * 60_000)[:60_000]
        assert "held by holder" in box.denial(f"rm {HELD}; {program} <<'END'\n{text}\nEND\n")
    assert process_time() - before < 40


# --- a strict team ----------------------------------------------------------------------------------------------------


def test_a_strict_team_denies_opaque_commands(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    opaque = ["make", "python3 -c 'print(1)'", "./tools/run.sh", "unheard_of"]
    assert [box.denial(command) for command in opaque] == [""] * len(opaque)
    monkeypatch.setitem(box.environ, "ROOK_GUARD_STRICT", "true")
    assert all(map(box.denial, opaque))
    assert box.denial("git status && grep -rn x src") == ""
