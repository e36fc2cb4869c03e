"""Commands put together so that what they write is known; and commands put together at random."""

import shlex

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rookery.core.shell import Reach, read
from rookery.runtime.shell import writes
from tests.shell.corpus import CASES, CWD, HOME
from tests.support import shfmt

# --- known by construction --------------------------------------------------------------------------------------------

NAMES = ["out", "b c", "it's", 'say "x"', "a*b", "?", "[x]", "{p,q}", "$HOME", "back\\slash", "#x", "~", "ünï", "a`b"]
NAMES += ["x;y", "🪶", "a>b"]
FOLDERS = ["sub", "two words", "dollar$dir"]

Made = tuple[str, frozenset[str]]  # a command, and what it writes


def ansi(name: str) -> str:
    return "$'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


def double(name: str) -> str:
    return '"' + "".join("\\" + char if char in '"\\$`' else char for char in name) + '"'


def escaped(name: str) -> str:
    return "".join(char if char.isalnum() or char in "/_-." else "\\" + char for char in name)


def split(name: str) -> str:
    half = len(name) // 2
    return shlex.quote(name[:half]) + double(name[half:])


QUOTED = st.sampled_from([shlex.quote, ansi, double, escaped, split])


FORMS = [
    "echo x > {}", "echo >>{} x", "> {}", "2>{} ls", "ls &> {}", "touch -- {}", "rm -f -- {}", "echo x | tee -- {}",
    "sed -i s/a/b/ -- {}", "truncate -s 0 -- {}", "dd of={} if=/dev/null", "sort -o {} in", "env X=1 touch -- {}",
    "cat <<E > {}\ntext > not\nE\n", 'f={}; touch -- "$f"', "timeout 5 touch -- {}", "[ a > {} ]",
    'for v in {}; do touch -- "$v"; done', 'g() { touch -- "$1"; }; g {}', "cat <<'E' | tee -- {}\n$(rm no)\nE\n",
]  # fmt: skip


@st.composite
def simple(draw: st.DrawFn) -> Made:
    name = draw(st.sampled_from(NAMES))
    return draw(st.sampled_from(FORMS)).replace("{}", draw(QUOTED)(name)), frozenset({name})


def beneath(folder: str, made: Made) -> Made:
    command, paths = made
    return f"(cd {shlex.quote(folder)} && {{ {command}\n}})", frozenset(f"{folder}/{path}" for path in paths)


WRAPPED = [
    "( %s\n)", "{ %s\n}", "%s\n%s", "if true; then %s\nelse %s\nfi", "for i in 1 2; do %s\ndone", "! { %s\n}",
    "{ %s\n} &", "case x in x) %s\n;; *) %s\n;; esac", "while false; do %s\ndone", "f() { %s\n}; f", "echo $( %s\n)",
    'echo "$( %s\n)"', "{ %s\n} && { %s\n}", "{ %s\n} || { %s\n}", "{ %s\n} | { %s\n}", "cat <( %s\n)",
    "x=$( %s\n)", "until true; do %s\ndone", "trap - EXIT; { %s\n}",
]  # fmt: skip
QUOTING = ["bash -c %s", "eval %s", "sh -c %s", "sudo bash -lc %s", "env A=1 sh -c %s"]


@st.composite
def compound(draw: st.DrawFn, inner: st.SearchStrategy[Made]) -> Made:
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return beneath(draw(st.sampled_from(FOLDERS)), draw(inner))
    if kind <= 2:
        command, paths = draw(inner)
        return draw(st.sampled_from(QUOTING)) % shlex.quote(command), paths
    template = draw(st.sampled_from(WRAPPED))
    parts = [draw(inner) for _ in range(template.count("%s"))]
    return template % tuple(command for command, _ in parts), frozenset[str]().union(*(paths for _, paths in parts))


COMMANDS = st.recursive(simple(), compound, max_leaves=4)


@given(COMMANDS)
@example(("echo $(cat <<E > out\nx\nE\n)", frozenset({"out"})))
def test_h26_what_is_written_by_construction_is_found(made: Made) -> None:
    command, expected = made
    told = writes(command, CWD, home=HOME)
    if told.opaque:  # where the grammar does not follow it has to say so; the rules are tried with the second parser
        told = read(command, CWD, lambda text: shfmt.parse(text) or (), home=HOME)
    assert told.opaque == (), command
    assert {write.path for write in told.writes if not write.pattern} == {f"{CWD}/{path}" for path in expected}
    assert all(write.reach is Reach.FILE for write in told.writes)


def test_few_of_them_are_opaque() -> None:
    """A grammar that gave up on all of them would pass the test above."""
    followed: list[bool] = []

    @given(COMMANDS)
    def measure(made: Made) -> None:
        followed.append(not writes(made[0], CWD).opaque)

    measure()
    assert sum(followed) > 0.7 * len(followed)


# --- at random --------------------------------------------------------------------------------------------------------

TOKENS = [
    ";", "&&", "||", "|", "&", ">", ">>", "2>", "<", "(", ")", "{", "}", "$", '"', "'", "`", "\\", "$(", "${", "<<E",
    "if", "then", "fi", "for", "in", "do", "done", "case", "esac", "while", "[", "[[", "]]", "]", "#", "!", "*", "~",
    "{a,b}", "x=", "$x", '"$x"', "$$", ">|", "&>", "<>", "2>&1", ">&", "-", "<(", ">(", "<<<", "f()", "time", "cd",
    "touch", "rm", " ", "\n", "\t", "\\\n", "é", "🪶",
]  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> str:
    command = draw(st.sampled_from(CASES)).command
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(command)))
        token = draw(st.sampled_from(TOKENS))
        change = draw(st.integers(0, 3))
        other = draw(st.sampled_from(CASES)).command
        command = [
            command[:at] + token + command[at:],
            command[:at] + command[at + 1 :],
            command[:at] + f" {token} " + command[at:],
            f"{command}{draw(st.sampled_from([';', '&&', '||', '|', chr(10)]))}{other}",
        ][change]
    return command


@pytest.mark.slow
@given(mutated())
@settings(max_examples=400)
@example("rm */ \\ on")  # these were misread once, in silence
@example("[ a > le || xical ]")
@example("echo x > out_p\\\natches")
@example("rm -2>r -- d")
@example(" \\ cd ~ && touch new")
@example("touch {single } }")
@example("cat <<EOF\n`touch $x_run`\nEOF")
@example("touch file.$$")
@example("[[a > b ]] && echo > yes")
@example("f=x.js; touch ${f%{a,b}.js}.ts")
@example('touch $"loca"$ in')
@example("a | b|c -C d\ncd -- d && touch new")
@example("touch a\u3000b")
@example("touch [no]$xmatch.ne")
@example("sleep 0 &--directory=d")
@example("export{a,b} A=1")
@example("tar xfC txt {fd}> named echo")
@example("echo ${nothing:-$( <> touch dflt)}")
def test_h26_what_a_second_parser_sees_written_is_not_missed(command: str) -> None:
    ours = writes(command, CWD, home=HOME)
    if ours.opaque or shfmt.parse(command) is None:
        return
    theirs = read(command, CWD, lambda text: shfmt.parse(text) or (), home=HOME)
    assert set(theirs.writes) <= set(ours.writes), command
    assert not theirs.opaque or set(command) & set("!\\"), command  # `!(x)` and `$(pwd\\\n)` are read further by us


@pytest.mark.slow
@given(st.text(max_size=300))
@settings(max_examples=200)
@example("{\U0010ffff")  # the process died of it
@example('0"\x80')
def test_any_text_is_read_without_an_error(text: str) -> None:
    told = writes(text, CWD)
    assert told == writes(text, CWD)


@pytest.mark.slow
@given(st.lists(st.sampled_from(TOKENS), max_size=60))
@settings(max_examples=200)
def test_any_row_of_tokens_is_read_without_an_error(tokens: list[str]) -> None:
    writes(" ".join(tokens), CWD)
    writes("".join(tokens), CWD)
