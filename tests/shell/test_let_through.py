"""H26: commands that changed a reserved file and once passed the hook (let_through.jsonl).

Each names its target and is denied, or the file says why its text does not: then the look after the command reports it.
"""

import os
from collections import Counter
from collections.abc import Callable

import pytest

from rookery.core.shell import Reading, mentions
from rookery.front.hook import asking
from rookery.runtime import shell
from tests.shell.harmless import FOLDER, FURTHER
from tests.shell.repositories import Known, Repositories, load

KNOWN = load()
NAMED = [each for each in KNOWN if not each.nameless]
PARTS = 4
SAMPLE = 12  # one in so many, in the default run
# Each needs a program that is not on every machine, or the rights to make a namespace.
RARE = ("cscope", "cmake", "ninja", "npm", "jar", "gdb", "subtree", "mount", "chroot", "nsenter", "unshare", "su root",
        "setarch", "scp", "sqlite3", "node", "ctags", "zip", "vim", "view", "ed ", "ex ", "curl", "script")  # fmt: skip

in_parts = pytest.mark.parametrize("part", [pytest.param(part, marks=pytest.mark.slow) for part in range(PARTS)])


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Repositories:
    return Repositories(tmp_path_factory.mktemp("repositories"))


def passed(box: Repositories, commands: list[Known]) -> list[str]:
    return [each.command for each in commands if "held by holder" not in box.denial(each.command, each.cwd, each.agent)]


def test_nearly_all_of_them_name_their_target() -> None:
    assert len(KNOWN) == 402
    assert len(NAMED) >= 350
    nameless = Counter(each.group[:1] for each in KNOWN if each.nameless)
    assert set(nameless) <= set("FGIJLM")


@in_parts
def test_h26_a_command_that_names_its_target_is_denied(box: Repositories, part: int) -> None:
    assert passed(box, NAMED[part::PARTS]) == []


def test_a_sample_of_the_commands_that_name_their_target_is_denied(box: Repositories) -> None:
    assert passed(box, NAMED[::SAMPLE]) == []


@in_parts
def test_each_further_attack_is_denied(box: Repositories, part: int) -> None:
    assert len(FURTHER) >= 700
    assert [command for command in FURTHER[part::PARTS] if "held by holder" not in box.denial(command)] == []


@in_parts
@pytest.mark.timeout(200)
def test_the_commands_change_what_is_reserved(box: Repositories, part: int) -> None:
    unchanged = [each.command for each in KNOWN[part::PARTS] if not box.execute(each.command, each.cwd)]
    assert [command for command in unchanged if not any(word in command for word in RARE)] == []
    assert len(unchanged) < 0.1 * len(KNOWN[part::PARTS]) or os.geteuid() != 0


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_a_command_that_names_nothing_is_reported_afterwards(box: Repositories) -> None:
    silent: list[str] = []

    def report(command: str) -> Callable[[], None]:
        def look() -> None:
            if "additionalContext" not in box.hook("PostToolUse", command):
                silent.append(command)

        return look

    for each in KNOWN:
        if each.nameless:
            box.hook("PreToolUse", each.command)
            if not box.execute(each.command, each.cwd, report(each.command)) and each.command in silent:
                silent.remove(each.command)  # its program is missing here
    assert silent == []


def test_no_harmless_command_about_a_reserved_folder_is_denied(box: Repositories) -> None:
    assert {command: why for command in FOLDER if (why := box.denial(command))} == {}


# --- each rule is needed ----------------------------------------------------------------------------------------------

REPO, ELSEWHERE = "/base/repo", "/base/elsewhere"
CONTROLS: dict[str, tuple[object, str, object, str, list[str]]] = {
    "reading": (shell, "writes", lambda *_, **__: Reading((), ()), REPO, ["rm src/a.py"]),
    "searching": (mentions, "named", lambda *_, **__: [], REPO, ["python3 -c \"import os; os.remove('src/a.py')\""]),
    "the disk": (shell, "small_text", lambda _: None, REPO, ["patch -p1 < tmp/p.diff", "xargs rm < tmp/list"]),
    "other trees": (mentions, "places", lambda *_: [], ELSEWHERE, ["python3 -c \"open('../repo/src/a.py', 'w')\""]),
}


@pytest.mark.parametrize("name", CONTROLS)
def test_without_a_rule_its_commands_pass(box: Repositories, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, attribute, instead, cwd, commands = CONTROLS[name]
    assert all(box.denial(command, cwd) for command in commands)
    monkeypatch.setattr(place, attribute, instead)
    assert not any(box.denial(command, cwd) for command in commands)


def test_a_name_that_no_team_knows_opens_nothing(box: Repositories, monkeypatch: pytest.MonkeyPatch) -> None:
    for cwd, command in ((ELSEWHERE, "rm ../repo/src/a.py"), (REPO, "rm src/a.py")):
        for agent in ("nobody", "guest", "asker"):
            assert "held by holder" in box.denial(command, cwd, agent), (cwd, agent)
    assert box.hook("PreToolUse", "rm src/b.py", agent="nobody").get("additionalContext")
    monkeypatch.setattr(asking.Stranger, "__init__", lambda *_: (_ for _ in ()).throw(RuntimeError("no stranger")))
    assert not box.denial("rm src/a.py", REPO, "nobody")
