"""H26: a guard that only knows edits is walked past with a shell. Here the shell's commands are read.

The commands of the corpus are really run, each in a scratch folder of its own, and whatever they changed on the disk
must have been foretold, or the command called opaque.
"""

from pathlib import Path

import pytest

from rookery.core.shell import programs
from rookery.core.shell.site import Site
from rookery.runtime.shell import writes
from tests.shell import live
from tests.shell.corpus import CASES

LIVE = [case for case in CASES if "dry" not in case.flags]
WRITERS = sorted({*programs.RULES, *programs.PLAIN, *programs.MODES})


def missed(runs: list[live.Run]) -> dict[str, set[str]]:
    told = {run.command: live.uncovered(run, writes(run.command, run.cwd, home=run.home)) for run in runs}
    return {command: paths for command, paths in told.items() if paths}


def nothing(name: str, words: list[str], site: Site) -> None:
    """The rule of a program that only reads."""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_h26_what_commands_wrote_had_been_foretold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = live.run_all([case.command for case in LIVE], tmp_path)
    assert missed(runs) == {}
    sure = [run for run in runs if run.changed and not writes(run.command, run.cwd, home=run.home).opaque]
    assert len(runs) >= 400
    assert len(sure) >= 250  # these could have shown a gap

    # The control: each program that wrote something is taken for one that reads, and the gap is seen.
    acted = [name for name in WRITERS if any(name in run.command.split() for run in sure)]
    assert len(acted) >= 30
    assert [name for name in acted if not missed_without(name, sure, monkeypatch)] == []


def missed_without(name: str, runs: list[live.Run], monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    with monkeypatch.context() as patch:
        patch.setitem(programs.RULES, name, nothing)
        return missed([run for run in runs if name in run.command])


@pytest.mark.slow
def test_h26_narrower_answers_are_right_too(tmp_path: Path) -> None:
    """With a look at the disk, `mv a d` goes into d and nowhere else."""
    commands = [
        "mv a d",
        "cp a d",
        "cp -r src d",
        "cd d; touch new",
        "cd nothere; touch new",
        "ln -s a d",
        "git mv c d",
    ]
    commands += ["mkdir fresh; cd fresh; touch new", "rm -r d; mkdir d; cp a d", "rm -r d; cd d; touch new"]
    commands += ["mv d e; mv a d"]
    scratch = live.template(tmp_path)
    for number, command in enumerate(commands):
        folder = live.copied(scratch, tmp_path / f"narrow{number}", "git")
        told = writes(command, str(folder), is_folder=lambda path: Path(path).is_dir())
        changed = live.run(command, folder, tmp_path)
        assert changed, command
        assert live.uncovered(live.Run(command, frozenset(changed), str(folder), ""), told) == set(), command
