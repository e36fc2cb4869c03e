"""Small programs made of `cd`, variables, branches, loops and functions: what they touch when run was foretold.

They start four folders deep, so that `cd ..` does not leave what is looked at.
"""

import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rookery.core.shell import state
from rookery.runtime.shell import writes
from tests.shell import live

FOLDERS = ["d", "d/sub", "e", "nothere", "..", "-", ".", "d/.."]
NAMES = ["f", "g", "h"]
VALUES = ["one", "two", "d/three", '"p q"', "$x", "$y.z", "*"]


def simple() -> st.SearchStrategy[str]:
    folder, name, value = st.sampled_from(FOLDERS), st.sampled_from(NAMES), st.sampled_from(VALUES)
    return st.one_of(
        name.map("touch {}".format),
        folder.map("cd {}".format),
        folder.map("pushd {} > /dev/null".format),
        st.tuples(st.sampled_from("xy"), value).map(lambda pair: "{}={}".format(*pair)),
        st.sampled_from(
            [
                'touch "$x"', "touch $x", 'touch "q$y"', 'touch "${x%.z}.w"', "popd > /dev/null", "true", "false",
                "exit", "set -e", "set +e", "break", "continue", "return", "fn one", "fn two && touch after", "shift",
                'touch "$1"', "unset x", "x=$(pwd)/abs", "trap 'touch trapped' EXIT", 'local x="in" 2> /dev/null',
                "read x <<< told", 'eval "cd d"', "eval 'touch $x'", "export y=exported", "x+=more", "i=$((i + 1))",
                'printf -v y "%s" made', "set -- s1 s2", 'touch "$@"', "mkdir -p d/new && cd d/new", "cd $x", "> $x",
                "touch {x,y}$x", "y=${x##*/}", "touch file$((i + 1))", "((i++))", "touch n$i", "for x in; do :; done",
            ]
        ),
    )  # fmt: skip


TEMPLATES = [
    "%s; %s", "%s\n%s\n%s", "{ %s; } && { %s; }", "{ %s; } || { %s; }", "( %s; )", "if %s; then %s; else %s; fi",
    "if %s; then %s; fi", "for x in one two; do %s; %s; done", "for x in *; do %s; done",
    "case $x in one) %s;; *) %s;; esac", "fn() { %s; %s; }; %s",
    "k=0; while [ $((k += 1)) -le 2 ] && { %s; }; do %s; done",
    "for i in 1 2; do for j in 1 2; do %s; break 2; done; done",
    "{ %s; } | { %s; }", "x=$( %s; )", "! { %s; }", "{ %s; } & wait", "case one in one) %s;& two) %s;; esac",
    "n=0; while [ $n -lt 2 ]; do n=$((n + 1)); %s; done", "n=; until [ \"$n\" = aa ]; do n=a$n; %s; touch $n; done",
    "bash -c '%s'", "y=env bash -c 'touch \"$y\"'; %s",
]  # fmt: skip


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.sampled_from(TEMPLATES).flatmap(
        lambda template: st.tuples(*[inner] * template.count("%s")).map(
            lambda parts: template % tuple(part.replace("'", '"') if "'%s'" in template else part for part in parts)
        )
    )


PROGRAMS = st.recursive(simple(), compound, max_leaves=8)


def missed(program: str, root: Path) -> set[str]:
    shutil.rmtree(root, ignore_errors=True)
    cwd = root / "1" / "2" / "3" / "4"
    (cwd / "d" / "sub").mkdir(parents=True)
    (cwd / "e").mkdir()
    told = writes(program, str(cwd), home=str(root / "home"))
    if told.opaque:
        return set()
    before = live.snapshot(root)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(root / "home"), "LC_ALL": "C.UTF-8", "FUNCNEST": "5"}
    quiet = subprocess.DEVNULL
    with suppress(subprocess.TimeoutExpired):  # loops within loops may share a counter, and not end
        subprocess.run(["bash", "-c", program], cwd=cwd, env=env, stdin=quiet, stdout=quiet, stderr=quiet, timeout=3)
    after = live.snapshot(root)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    return live.uncovered(live.Run(program, frozenset(changed), str(root), ""), told)


@pytest.mark.slow
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=PROGRAMS)
@example(program="x=a; fn() { local x=b; }; fn; touch $x")
@example(program="for i in 1 2; do cd d; break; cd ..; done; touch f")
@example(program="for x in one two; do break; done; touch $x")
@example(program="x=a; local x=b; touch $x")
@example(program="x=a; bash -c 'touch y$x'")
@example(program="i=0; ((i++)); touch n$i")
def test_h26_what_a_program_touches_was_foretold(program: str, tmp_path: Path) -> None:
    assert missed(program, tmp_path / "run") == set(), program


def test_the_check_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "if true; then cd d; fi; touch f"
    assert missed(program, tmp_path / "run") == set()
    monkeypatch.setattr(state, "_together", lambda one, other: other)  # only the last of two ways is remembered
    assert missed(program, tmp_path / "run") != set()
