"""H26: commands of three later attacks that changed a reserved file and once passed the hook.

`second_attack.jsonl`, `third_attack.jsonl` and `fourth_attack.jsonl`. Each names its target and is denied, or its row
says why its text does not name it. The share is taken over these and the first attack's commands.
"""

import os
from collections import Counter

import pytest

from tests.shell.coverage import CLASS, WHOLE
from tests.shell.repositories import Known, Repositories, load
from tests.shell.test_let_through import KNOWN as FIRST

SECOND, THIRD, FOURTH = load("second_attack.jsonl"), load("third_attack.jsonl"), load("fourth_attack.jsonl")
FIFTH = load("fifth_attack.jsonl")  # only what is denied since; docs/security-review.md tells what is open
LATER = [*SECOND, *THIRD, *FOURTH]
NAMED = [each for each in LATER if not each.nameless]
PARTS = 4
SAMPLE = 25  # one in so many, in the default run
EXECUTED = 12  # one in so many
# Each needs a program, a newer version of one, or rights that not every machine has.
RARE = ("npm", "java", "docker", "cmake", "ctest", "node", "ssh ", "gpg", "vim", "ex ", "tmux", "script", "zip", "pip",
        "gcc", "ld ", "unshare", "nsenter", "setpriv", "xgettext", "curl", "-i", "/proc/1/",
        "PPID", "make ", "grep -c def", "sqlite3", "strace", "gdb", "tclsh", "git ", "openssl", "zstd", "lz4",
        "fakeroot", "jq", "valgrind", "perf ", "mvn", "wget", "MEMUSAGE", "pytest", "less")  # fmt: skip

in_parts = pytest.mark.parametrize("part", [pytest.param(part, marks=pytest.mark.slow) for part in range(PARTS)])


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Repositories:
    return Repositories(tmp_path_factory.mktemp("repositories"))


def passed(box: Repositories, commands: list[Known]) -> list[str]:
    return [each.command for each in commands if "held by holder" not in box.denial(each.command, each.cwd, each.agent)]


def test_nearly_all_of_them_name_their_target() -> None:
    """A row that is not marked is denied (below), so the marked ones are all that pass."""
    assert (len(SECOND), len(THIRD), len(FOURTH)) == (252, 492, 140)
    for rows in ([*FIRST, *LATER], LATER):
        assert sum(not each.nameless for each in rows) >= WHOLE * len(rows)
    found = Counter(each.group for each in LATER)
    marked = Counter(each.group for each in LATER if each.nameless)
    assert {
        group for group in found if marked[group] > 1 and found[group] - marked[group] < CLASS * found[group]
    } == set()


@in_parts
def test_h26_a_command_that_names_its_target_is_denied(box: Repositories, part: int) -> None:
    assert passed(box, NAMED[part::PARTS]) == []


@in_parts
def test_h26_what_the_fifth_attack_found_is_denied(box: Repositories, part: int) -> None:
    assert len(FIFTH) >= 455
    assert passed(box, FIFTH[part::PARTS]) == []


def test_a_sample_of_the_commands_that_name_their_target_is_denied(box: Repositories) -> None:
    assert passed(box, [*NAMED[::SAMPLE], *FIFTH[::SAMPLE]]) == []


@pytest.mark.slow
def test_the_commands_change_what_is_reserved(box: Repositories) -> None:
    """One in so many: to run all of them takes ten minutes."""
    rows = LATER[::EXECUTED]
    unchanged = [each.command for each in rows if not box.execute(each.command, each.cwd)]
    assert [command for command in unchanged if not any(word in command for word in RARE)] == []
    assert len(unchanged) < 0.25 * len(rows) or os.geteuid() != 0
