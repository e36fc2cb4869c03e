"""Ten workers end in any order, and a person clears the docket: one command an item, each decision with its evidence,
and what is merged is what was approved."""

import json
import random
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.doors import environment
from tests.support.panes import until
from tests.support.supervised import Site, site
from tests.unit.gitrepo import git

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
WORKERS = 10
# Each waits for its turn, then does what its number says. w7 asks first, and writes down the answer.
PROGRAM = """\
#!/bin/sh
while [ ! -e "{folder}/go-$ROOK_WORKER" ]; do sleep 0.05; done
result() {{
    rook done --outcome "$1" -m "$2, as the task says, and looked at what came of it." $3
}}
case $ROOK_WORKER in
w7)
    rook ask "Tabs or spaces?" --option tabs --option spaces --risk low
    while ! rook inbox --json | grep -q spaces; do sleep 0.1; done
    echo spaces >w7.txt
    result completed "Wrote w7.txt with the answer in it" "--evidence w7.txt" ;;
w8) rook fail -m "There is no compiler here, and none may be installed." ;;
w9) result findings "Read all of base.txt and found one line in it" "--evidence base.txt" ;;
*)
    echo "$ROOK_WORKER" >"$ROOK_WORKER.txt"
    [ $ROOK_WORKER = w10 ] && echo other >base.txt
    [ $ROOK_WORKER = w1 ] && echo mine >base.txt
    result completed "Wrote $ROOK_WORKER.txt with a line in it" "--evidence $ROOK_WORKER.txt" ;;
esac
"""


class Person:
    """Who sits at a terminal, and has nothing but the command line."""

    def __init__(self, here: Site) -> None:
        self._here = here
        self.said: list[str] = []

    def rook(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).parent / "rook"), *words]
        environ = environment(self._here.folder, **self._here.environ)
        return subprocess.run(command, cwd=self._here.repo, env=environ, capture_output=True, text=True, timeout=120)

    def told(self, *words: str) -> Any:
        done = self.rook(*words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def judge(self, item: dict[str, Any]) -> None:
        """By what the line says; one command."""
        subject, rank = item["subject"], item["rank"]
        self.said.append(subject)
        if rank == "needs_input":
            self.decide(subject, "answer", "--option", "2")
        elif rank == "failed":
            self.decide(subject, "dismiss")
        elif item["worker"] == "w10":
            self.decide(subject, "reject", "Another has this line already.")
        else:
            self.decide(subject, "promote" if rank == "change" else "accept")

    def decide(self, *words: str) -> None:
        done = self.rook("verdict", *words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)


@pytest.fixture
def here() -> Generator[Site]:
    with site(ROOK_WORKER_LIMIT=str(WORKERS), ROOK_WORKER_TERM_S="60") as made:
        (made.repo / "base.txt").write_text("base\n")
        git("add", ".", cwd=made.repo)
        git("commit", "-qm", "base", cwd=made.repo)
        path = made.folder / "program"
        path.write_text(PROGRAM.format(folder=made.folder))
        yield made


def cleared(here: Site, person: Person) -> bool:
    """The first of the queue is judged; whether nothing is left, and nothing will come."""
    items = person.told("docket")["items"]
    if items:
        person.judge(items[0])
        return False
    cards = here.call("workers", all=True)["workers"]
    return all(card["report"] in ("done", "failed") for card in cards) and not person.told("docket")["items"]


def merged_anew(here: Site, base: str, heads: list[str]) -> str:
    """The tree that these commits make, merged by git alone."""
    scratch = here.folder / "scratch"
    git("worktree", "add", "--quiet", "--detach", str(scratch), base, cwd=here.repo)
    for head in heads:
        git("merge", "--quiet", "--no-edit", "-m", "m", head, cwd=scratch)
    return git("rev-parse", "HEAD^{tree}", cwd=scratch).strip()


@pytest.mark.parametrize("seed", [2])
def test_a_person_clears_the_docket_of_ten_workers(here: Site, seed: int) -> None:
    base = git("rev-parse", "HEAD", cwd=here.repo).strip()
    order = [f"w{n}" for n in range(1, WORKERS + 1)]
    random.Random(seed).shuffle(order)
    person = Person(here)
    with here.up():
        for n in range(WORKERS):
            here.spawn(f"Piece {n + 1} of the work")
        for id in order:
            (here.folder / f"go-{id}").touch()
        until(lambda: cleared(here, person), lambda: (person.said, here.call("workers", all=True)), 400)
        landings = until(lambda: all_landed(here), lambda: here.call("land.list"), 120)
    assert len(person.said) == len(set(person.said)), "one command an item"
    decided = person.told("decisions", "-n", "100")["decisions"]
    assert sorted(each["subject"] for each in decided) == sorted(person.said)
    assert all(each["evidence"] for each in decided), "each tells what was seen"
    assert {each["worker"] for each in decided} == set(order)
    approved = [each["head"] for each in reversed(decided) if each["verb"] == "promote"]
    assert len(approved) == 7, "w1 to w7 changed something that was wanted"
    assert sorted(each["head"] for each in landings) == sorted(approved)
    tip = git("rev-parse", "HEAD^{tree}", cwd=here.repo).strip()
    assert tip == merged_anew(here, base, approved), "what is merged is what was approved"
    assert tip != merged_anew_without_last(here, base, approved), "the comparison can fail"
    assert (here.repo / "base.txt").read_text() == "mine\n"
    assert (here.repo / "w7.txt").read_text() == "spaces\n"


def merged_anew_without_last(here: Site, base: str, heads: list[str]) -> str:
    git("worktree", "remove", "--force", str(here.folder / "scratch"), cwd=here.repo)
    return merged_anew(here, base, heads[:-1])


def all_landed(here: Site) -> list[dict[str, Any]]:
    found = here.call("land.list")["landings"]
    return found if found and all(each["state"] == "landed" for each in found) else []
