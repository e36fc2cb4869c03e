"""Test runs in what a command printed: which runner, and how many passed, failed, were skipped or could not be run.

A number is told only where the runner itself wrote it: output that was cut before its end tells nothing. Of `go test`
without -v the runner names packages and no tests, and so does `of`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from rookery.core.record import NamedTuple

from . import text

if TYPE_CHECKING:
    from re import Match, Pattern

LINE = 400  # characters of a line that are looked at


class Ran(NamedTuple):
    runner: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    errors: int = 0  # what could not be run at all: a file that does not load, a package that does not compile
    of: str = "tests"

    @property
    def is_green(self) -> bool:
        return self.passed > 0 and not self.failed and not self.errors

    def told(self) -> str:
        """In one line."""
        parts = [(self.passed, "passed"), (self.failed, "failed"), (self.errors, "errors"), (self.skipped, "skipped")]
        said = ", ".join(f"{count} {word}" for count, word in parts if count) or "nothing ran"
        return f"{said} ({self.runner}{'' if self.of == 'tests' else ', ' + self.of})"


def recognised(command: str, output: str) -> Ran | None:
    """What a command that was run says of tests. One that only mentions a runner (`pip install pytest`) runs none."""
    runner = runner_of(command)
    return parse(output, runner) if runner or is_test_like(command) else None


def parse(output: str, runner: str = "") -> Ran | None:
    """The last result in this output: of this runner, or whichever fits."""
    lines = [line[:LINE].strip() for line in text.plain(output).split("\n")]
    for name, read in _READERS.items():
        if not runner or runner in name.split("/"):
            found = read(lines)
            if found is not None:
                return found
    return None


# -- commands ----------------------------------------------------------------------------------------------------------

# Words before a program that are none of its own, each with how many words it takes itself.
_WRAPPERS: Mapping[str, int] = {
    "uv": 0, "poetry": 0, "pdm": 0, "hatch": 0, "pipenv": 0, "rye": 0, "run": 0, "npx": 0, "pnpm": 0, "yarn": 0,
    "bunx": 0, "bun": 0, "exec": 0, "dlx": 0, "time": 0, "env": 0, "sudo": 0, "nice": 0, "timeout": 1, "coverage": 0,
    "python": 0, "python3": 0, "xvfb-run": 0, "stdbuf": 0,
}  # fmt: skip
_RUNNERS = {"pytest": "pytest", "py.test": "pytest", "jest": "jest", "vitest": "vitest"}
_SEPARATORS = ("&&", "||", ";", "|", "(", "{", "!", "then", "do")


def runner_of(command: str) -> str:
    """The runner that a shell command starts, "" if none is known."""
    for words in _segments(command):
        program = _name(words[0]) if words else ""
        if program in _RUNNERS:
            return _RUNNERS[program]
        rest = [word for word in words[1:3] if not word.startswith("+")]  # cargo +nightly test
        if program in _SUBCOMMANDS and rest and rest[0] in _SUBCOMMANDS[program]:
            return program
    return ""


_SUBCOMMANDS = {"go": ("test",), "cargo": ("test", "t", "nextest")}


def is_test_like(command: str) -> bool:
    """Is it a word of the project's own for its tests: make test, npm run test:unit, ./check.sh?"""
    words = [words for words in _segments(command) if words and _name(words[0]) not in _NO_TESTS]
    return any(_name(word).startswith(("test", "check", "ci")) for segment in words for word in segment)


_NO_TESTS = ("cat", "grep", "rg", "ls", "cd", "echo", "pip", "git", "rm", "head", "tail", "less", "sed", "find")


def _name(word: str) -> str:
    return word.rpartition("/")[2]


def _segments(command: str) -> list[list[str]]:
    """The words of each simple command in it, without what only goes before its program."""
    spaced = command[:4_000]
    for mark in ("&&", "||", ";", "|", "\n", "(", ")"):
        spaced = spaced.replace(mark, f" {mark.strip() or ';'} ")
    segments: list[list[str]] = [[]]
    for word in spaced.split():
        if word in _SEPARATORS:
            segments.append([])
        else:
            segments[-1].append(word.strip("\"'"))
    return [_program(words) for words in segments if words]


def _program(words: Sequence[str]) -> list[str]:
    rest = list(words)
    while len(rest) > 1:
        name = _name(rest[0])
        if rest[0].startswith("-") or "=" in rest[0] or name.rstrip("0123456789.") in ("python", ""):
            rest = rest[1:]
        elif name in _WRAPPERS:
            rest = rest[1 + _WRAPPERS[name] :]
        else:
            break
    return rest


# -- what each of them prints ------------------------------------------------------------------------------------------


def _pytest(lines: Sequence[str]) -> Ran | None:
    for line in reversed(lines):
        bare = line.strip("= ")
        if _compiled(r"(?:\d{1,9} [a-z]{1,20},? )+in \d[\d.:()hms ]*s?(?: \(.*)?").fullmatch(bare):
            return _pytest_counts(bare)
        if bare.startswith("no tests ran in "):
            return Ran("pytest")
    return None


def _pytest_counts(line: str) -> Ran | None:
    counts = _counts(line.rpartition(" in ")[0])
    if not counts.keys() & {"passed", "failed", "error", "errors", "skipped", "xfailed", "xpassed", "deselected"}:
        return None
    return Ran(
        "pytest", counts.get("passed", 0) + counts.get("xpassed", 0), counts.get("failed", 0),
        counts.get("skipped", 0) + counts.get("xfailed", 0), counts.get("error", 0) + counts.get("errors", 0),
    )  # fmt: skip


def _jest(lines: Sequence[str]) -> Ran | None:
    counts = _after(lines, r"Tests:\s+(?P<rest>\d.*\btotal)")
    suites = _after(lines, r"Test Suites:\s+(?P<rest>\d.*\btotal)")
    if counts is None and (suites is None or not suites.get("failed")):
        return None
    counts = counts or {}
    broken = sum(line.endswith("Test suite failed to run") for line in lines)
    if suites is not None:  # each is told of twice when many fail
        broken = min(broken, suites.get("failed", 0))
    skipped = counts.get("skipped", 0) + counts.get("todo", 0)
    return Ran("jest", counts.get("passed", 0), counts.get("failed", 0), skipped, broken)


def _vitest(lines: Sequence[str]) -> Ran | None:
    counts = _after(lines, r"Tests\s+(?P<rest>\d.*\(\d{1,9}\))")
    files = _after(lines, r"Test Files\s+(?P<rest>\d.*\(\d{1,9}\))")
    if counts is None and files is None:
        return None
    errors = _after(lines, r"Errors\s+(?P<rest>\d.*)") or {}
    counts = counts or {}
    broken = files.get("failed", 0) if files is not None and not counts.get("failed") else 0
    return Ran(
        "vitest", counts.get("passed", 0), counts.get("failed", 0), counts.get("skipped", 0) + counts.get("todo", 0),
        max(broken, errors.get("error", 0) + errors.get("errors", 0)),
    )  # fmt: skip


def _go(lines: Sequence[str]) -> Ran | None:
    tests = {word: sum(line.startswith(f"--- {word}: ") and "/" not in line.split()[2] for line in lines)
             for word in ("PASS", "FAIL", "SKIP")}  # fmt: skip
    good = [line for line in lines if _compiled(r"ok\s+\S+\s+(?:\(cached\)|[\d.]+s)(?:\s.*)?").fullmatch(line)]
    bad = [line for line in lines if _compiled(r"FAIL\s+\S+\s+(?:[\d.]+s|\[(?:build|setup) failed\])").fullmatch(line)]
    if not good and not bad:
        return None
    broken = sum("failed]" in line for line in bad)
    if tests["PASS"]:  # with -v
        return Ran("go", tests["PASS"], tests["FAIL"], tests["SKIP"], broken)
    if tests["FAIL"]:
        return Ran("go", len(good), max(len(bad) - broken, 1), 0, broken, "packages")
    return Ran("go", len(good), len(bad) - broken, 0, broken, "packages")


def _cargo(lines: Sequence[str]) -> Ran | None:
    results = [line for line in lines if line.startswith(("test result: ok. ", "test result: FAILED. "))]
    broken = sum(line.startswith("error: could not compile") for line in lines)
    summary = _after(lines, r"Summary \[[^\]]{1,40}\] \d{1,9}(?:/\d{1,9})? tests? run: (?P<rest>\d.*)")
    if summary is not None:
        return Ran("cargo", summary.get("passed", 0), summary.get("failed", 0), summary.get("skipped", 0), broken)
    if not results and not broken:
        return None
    total: dict[str, int] = {}
    for line in results:
        for word, count in _counts(line.replace(";", ",").partition(". ")[2]).items():
            total[word] = total.get(word, 0) + count
    return Ran("cargo", total.get("passed", 0), total.get("failed", 0), total.get("ignored", 0), broken)


_READERS: Mapping[str, Callable[[Sequence[str]], Ran | None]] = {
    "pytest": _pytest, "jest": _jest, "vitest": _vitest, "cargo": _cargo, "go": _go,
}  # fmt: skip


def _after(lines: Sequence[str], pattern: str) -> dict[str, int] | None:
    """The counts in the last line like this."""
    for line in reversed(lines):
        match = _compiled(pattern).match(line)
        if match is not None:
            return _counts(match["rest"])
    return None


def _counts(said: str) -> dict[str, int]:
    """`3 failed, 95 passed` and `3 failed | 95 passed` as numbers by their words."""
    found: list[Match[str]] = list(_compiled(r"(\d{1,9}) ([a-z]{1,20})").finditer(said))
    return {match[2]: int(match[1]) for match in found}


@cache
def _compiled(pattern: str) -> "Pattern[str]":
    import re

    return re.compile(pattern)
