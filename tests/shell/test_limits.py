"""Hostile commands: size, depth, characters. Each is read in bounded time, without an error, and is opaque."""

import subprocess
import sys
from time import process_time

import pytest

from rookery.core.shell import Reading, notes, reading
from rookery.runtime.shell import MARKS_LIMIT, PARSED_LIMIT, TEXT_LIMIT, writes
from tests.shell.corpus import CWD, paths
from tests.support.families import few
from tests.support.procs import environment

MEGABYTE = 1 << 20


def reasons(told: Reading) -> set[str]:
    return {each.reason for each in told.opaque}


PIECES = [
    "(", "$(", '"$(', "{ ", "a;", "a&&", "a|", "if ", "<<E ", "`", "\\", '"', "'", "${", "((", "[[ ", ">", "a>", "x=(",
    "for ", "case ", "$((", "<(", "{a,", "!", "f(){ ", "#", "$'", '"${x:-', "&", ")", "} ", "<<<", "@(", "${x[", "${x/",
    ";;", "$", "<", "a b ", "\n", "<<E\n", "<<E $\nE\n", "\t<<-E\n", "[ a -a ", "é", "x=y;", "cd a;", "touch $x;",
    "a{1..9}", "{🪶",
]  # fmt: skip


@pytest.mark.parametrize("piece", few(PIECES, "(", "$(", '"', "<<E\n", "\n", "touch $x;", "a{1..9}", "é"))
@pytest.mark.parametrize("size", [MARKS_LIMIT - 10, MEGABYTE])
def test_repeated_pieces_end(piece: str, size: int) -> None:
    command = (piece * size)[:size]
    before = process_time()
    told = writes(command, CWD)
    spent = process_time() - before
    assert told.opaque or piece in ("\n", "#", "a b ", "x=y;", "cd a;")
    # Bounded: a slow machine is allowed a lot, and quadratic time over a megabyte would take hours.
    assert spent < 20


def test_a_megabyte_of_heredoc_is_read() -> None:
    body = "text with $(marks) > and `more` {;} | \" '\n" * 20_000
    told = writes(f"cat > big <<'EOF' && touch after\n{body}EOF\ntouch later", CWD)
    assert (paths(told), told.opaque) == (["after", "big", "later"], ())
    assert len(body) > PARSED_LIMIT
    assert len(f"{body}") < TEXT_LIMIT


def test_a_long_heredoc_that_expands_is_opaque() -> None:
    body = "text $(touch hidden)\n" * 5_000
    assert reasons(writes(f"cat > big <<EOF\n{body}EOF\n", CWD)) == {reading.TOO_LARGE}


def test_what_only_looks_like_a_heredoc_hides_nothing() -> None:
    filler = "echo '" + ";" * (MARKS_LIMIT + 10) + "'\n"
    told = writes(f"echo '<<EOF'\ntouch hidden\n{filler}EOF\n", CWD)
    assert told.opaque
    told = writes(f"echo \"\n<<'EOF'\n\"; touch seen\n{filler}EOF\n", CWD)
    assert told.opaque


def test_a_long_patch_is_read() -> None:
    hunk = "@@\n-a;b;c;(d)\n+{e}|f\n" * 3_000
    patch = f"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/a.py\n{hunk}*** End Patch\nEOF"
    assert paths(writes(patch, CWD)) == ["src/a.py"]
    assert writes(patch, CWD).opaque == ()


@pytest.mark.parametrize(
    "command",
    ["touch a\0b", "touch \ud800", "touch \udc80x", "\0", "echo 'a\0b' > out"],
)
def test_characters_no_command_can_have(command: str) -> None:
    assert writes(command, CWD).writes == ()
    assert reasons(writes(command, CWD)) == {reading.UNREADABLE}
    assert reasons(writes("touch x", "/w\ud800")) == {reading.UNREADABLE}
    writes(command, CWD).opaque[0].fragment.encode()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "( " * 500 + "touch deep" + ")" * 500,
        "{ " * 500 + "touch deep; " + "}; " * 500,
        "$(" * 200 + "touch deep" + ")" * 200,
        "if true; then " * 200 + "touch deep; " + "fi; " * 200,
        "echo " + "${x:-" * 400 + "}" * 400,
        "echo " + '"$(echo ' * 200 + ')"' * 200,
        "f() { f; }; f",
        "f() { g; }; g() { f; }; f",
        "eval " * 300 + "touch deep",
        "sudo " * 300 + "touch deep",
        'x=\'eval "$x"\'; eval "$x"',
        "trap 'trap \"touch deep\" EXIT' EXIT; f() { trap f EXIT; f; }; f",
    ],
)
def test_nesting_ends(command: str) -> None:
    assert reasons(writes(command, CWD)) & {reading.NESTED, reading.BROKEN, reading.TOO_MANY, reading.UNTOLD_COMMAND}


def test_what_is_not_too_deep_is_read() -> None:
    assert paths(writes("( " * 15 + "touch deep" + ")" * 15, CWD)) == ["deep"]
    assert paths(writes("eval " * 15 + "touch deep", CWD)) == ["deep"]
    chain = " && ".join(["true"] * 400) + " && touch last"
    assert paths(writes(chain, CWD)) == ["last"]


@pytest.mark.parametrize(
    "command",
    [
        "touch " + "{a,b}" * 40,
        "for a in {1..30}; do for b in {1..30}; do for c in {1..30}; do touch $a$b$c; done; done; done",
        "; ".join(f"touch f{n}" for n in range(1_200)),
        "x=a; " + "x=$x$x; " * 60 + "touch $x",
        "if a; then x=1; else x=2; fi; " * 20 + "touch $x$x$x$x$x$x$x",
        "".join(f"if a; then x{n}=1; else x{n}=2; fi; " for n in range(8)) + "touch $x0$x1$x2$x3$x4$x5$x6$x7",
        "; ".join(f"cd d{n}" for n in range(30)) + "; touch x",
        "while a; do " * 12 + "cd x; x=$x.y; " + "done; " * 12 + "touch $x",
    ],
)
def test_multiplying_ends(command: str) -> None:
    before = process_time()
    assert writes(command, CWD).opaque
    assert process_time() - before < 20


def test_a_long_sequence_is_a_wildcard() -> None:
    assert paths(writes("touch n{1..99999999}", CWD)) == ["~n*"]
    assert paths(writes("touch {1..1000}-{1..1000}-{1..1000}", CWD)) == ["~*-*-*"]


def test_fragments_are_short() -> None:
    told = writes("unheard_of " + "x" * 10_000, CWD)
    assert [len(each.fragment) for each in told.opaque] == [reading.FRAGMENT_LIMIT]


def test_steps_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "STEPS_LIMIT", 10)
    assert reasons(writes("; ".join(["true"] * 20), CWD)) == {reading.TOO_MANY}
    assert reasons(writes("true", CWD)) == set()


def test_the_parser_is_imported_when_a_command_is_read() -> None:
    program = """
import sys
import rookery.runtime.shell as shell
heavy = {"tree_sitter", "importlib.resources", "pathlib", "subprocess", "dataclasses"}
print(sorted(heavy & set(sys.modules)))
shell.writes("touch x", "/w")
print(sorted(heavy & set(sys.modules)))
"""
    told = subprocess.run(
        [sys.executable, "-I", "-c", program], env=environment(), check=True, capture_output=True, text=True
    )
    assert told.stdout.split("\n")[:2] == ["[]", "['tree_sitter']"]
