"""A worker's git commands: which of them would move the branch that its change lands on."""

import pytest

from rookery.core import branch_moves

TREE = "/home/me/.rook/teams/t/workers/w1/workspace"


@pytest.mark.parametrize(
    "command",
    [
        "git push . HEAD:main", "git push . +HEAD:refs/heads/main", "git push origin main", "git push --all origin",
        "git push --mirror", "git fetch . HEAD:main", "git pull . x:main", "git update-ref refs/heads/main HEAD",
        "echo x | git update-ref --stdin", "git branch -f main HEAD", "git branch --force main", "git branch -M main",
        "git branch -D main", "git checkout -B main", "git switch -C main", "/usr/bin/git push . 'HEAD:main'",
        "git checkout --ignore-other-worktrees main && git merge x", "git symbolic-ref HEAD refs/heads/main",
        "git -C /repo merge w1", "git -C ../../../../../../../repo reset --hard x", "cd /repo && git merge abc",
        "git --git-dir=/repo/.git update-ref refs/heads/other x", "git --git-dir /repo/.git --work-tree /repo commit",
        "GIT_DIR=/repo/.git git commit -m x", "git worktree add -f ../m main", "true; git -c a=b push . HEAD:main",
        "sh -c 'git push . HEAD:main'", "cd /repo\ngit cherry-pick abc", "git -C /repo branch -f x y",
    ],
)  # fmt: skip
def test_what_moves_it_is_found(command: str) -> None:
    assert branch_moves.find(command, "main", TREE)


@pytest.mark.parametrize(
    "command",
    [
        "git status", "git commit -am 'fix main loop'", "git log main..HEAD", "git diff main",
        "git show main:src/a.py", "git checkout main -- src/a.py", "git rebase main", "git merge main",
        "git reset --hard main", "git branch -a", "git fetch origin main", "git pull --rebase origin main",
        "git push origin HEAD:my-work", "git branch mine main", "git checkout -b mine main", "git -C /repo log",
        "git -C /repo branch", "cd src && git add . && git commit -m x", f"cd {TREE}/src && git commit -m x",
        f"git -C {TREE} commit -m x", "git -C src stash", "git branch -f mine HEAD", "grep -r git main",
        "git worktree list", "git rev-parse main", "git -C /repo branch --list", "git stash", "git tag main-before",
        "git restore --source main src/a.py", "git symbolic-ref HEAD",
    ],
)  # fmt: skip
def test_what_does_not_is_left_alone(command: str) -> None:
    assert branch_moves.find(command, "main", TREE) == ""
