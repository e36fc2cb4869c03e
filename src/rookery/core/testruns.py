"""What a test runner printed, as counts: pytest, jest and vitest, go test, cargo test. Pure: text in, counts out.

The last summary counts, for a runner tells it at its end; of go and cargo, which tell one for each package or binary,
the sum. Colours and what was cut out of the middle do not matter. What has no summary of a known runner is no test run.
"""

from rookery.core.record import NamedTuple

from . import text

TAIL = 200_000  # characters: summaries stand at the end
_WORDS = {"passed": "passed", "failed": "failed", "skipped": "skipped", "error": "errors", "errors": "errors",
          "xfailed": "skipped", "xpassed": "passed", "todo": "skipped", "pending": "skipped"}  # fmt: skip


class Run(NamedTuple):
    runner: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    errors: int = 0

    @property
    def green(self) -> bool:
        """Something was tested, and nothing failed."""
        return self.passed > 0 and not (self.failed or self.errors)


def parsed(output: str) -> Run | None:
    """The counts; None if no test runner speaks here."""
    lines = [text.plain(line).strip() for line in output[-TAIL:].splitlines()]
    return _pytest(lines) or _jest(lines) or _cargo(lines) or _go(lines)


def _counts(said: str) -> dict[str, int] | None:
    """`3 failed, 12 passed` as counts; None if anything else stands there."""
    found: dict[str, int] = {}
    for part in said.replace("|", ",").split(","):
        number, _, word = part.strip().partition(" ")
        word = word.strip()
        if not (number.isascii() and number.isdigit() and len(number) < 10):
            return None
        if word in ("total", "warning", "warnings", "deselected", "rerun", "subtests passed"):
            continue
        if word not in _WORDS:
            return None
        found[_WORDS[word]] = found.get(_WORDS[word], 0) + int(number)
    return found


# -- pytest ----------------------------------------------------------------------------------------------------------


def _pytest(lines: list[str]) -> Run | None:
    """`== 1 failed, 2 passed in 0.12s ==`, with -q without the bars."""
    for line in reversed(lines):
        said, between, took = line.strip("= ").rpartition(" in ")
        if not between or not took[:1].isdigit() or "s" not in took:
            continue
        if said == "no tests ran":
            return Run("pytest")
        counts = _counts(said)
        if counts is not None:
            return Run("pytest", **counts)
    return None


# -- jest, vitest ----------------------------------------------------------------------------------------------------


def _jest(lines: list[str]) -> Run | None:
    """`Tests: 1 failed, 2 passed, 3 total`; vitest has `Tests  1 failed | 2 passed (3)`."""
    for line in reversed(lines):
        word, _, rest = line.partition(" ")
        if word == "Tests:":
            counts = _counts(rest)
            if counts is not None:
                return Run("jest", **counts)._replace(errors=sum("Test suite failed to run" in line for line in lines))
        elif word == "Tests":
            counts = _counts(rest.rpartition("(")[0].strip() or rest)
            if counts:
                return Run("vitest", **counts)._replace(errors=0 if counts.get("failed") else _broken_files(lines))
    return None


def _broken_files(lines: list[str]) -> int:
    """Files that failed though no test in them did: they could not be loaded."""
    for line in reversed(lines):
        if line.startswith("Test Files "):
            return (_counts(line[len("Test Files ") :].rpartition("(")[0].strip()) or {}).get("failed", 0)
    return 0


# -- cargo -----------------------------------------------------------------------------------------------------------


def _cargo(lines: list[str]) -> Run | None:
    """`test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out`, once for each binary."""
    broken = sum(line.startswith("error: could not compile") for line in lines)
    total = Run("cargo", errors=broken) if broken else _nextest(lines)
    for line in lines:
        verdict, _, rest = line.removeprefix("test result: ").partition(". ")
        if verdict in ("ok", "FAILED") and line.startswith("test result: "):
            known = dict(_pair(part) for part in rest.split(";"))
            before = total or Run("cargo")
            total = Run(
                "cargo", before.passed + known.get("passed", 0), before.failed + known.get("failed", 0),
                before.skipped + known.get("ignored", 0), before.errors,
            )  # fmt: skip
    return total


def _nextest(lines: list[str]) -> Run | None:
    """`Summary [   0.012s] 5 tests run: 4 passed, 1 failed, 2 skipped`."""
    for line in reversed(lines):
        before, _, rest = line.partition(" run: ")
        counts = _counts(rest) if before.startswith("Summary [") and before.endswith((" test", " tests")) else None
        if counts:
            return Run("cargo", **counts)
    return None


def _pair(part: str) -> tuple[str, int]:
    number, _, word = part.strip().partition(" ")
    return word, int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0


# -- go --------------------------------------------------------------------------------------------------------------


def _go(lines: list[str]) -> Run | None:
    """With -v each test has a line; without, each package."""
    tests, packages = {"PASS": 0, "FAIL": 0, "SKIP": 0}, {"ok": 0, "FAIL": 0}
    broken = 0
    for line in lines:
        for word in tests:
            tests[word] += line.startswith(f"--- {word}: ")
        parts = line.split("\t")
        name = parts[0].strip()
        if len(parts) > 1 and name in packages:
            broken += "[build failed]" in line or "[setup failed]" in line
            packages[name] += 1
    if not any(packages.values()):
        return None
    if tests["PASS"] or tests["SKIP"]:
        return Run("go", tests["PASS"], tests["FAIL"], tests["SKIP"], broken)
    return Run("go", packages["ok"], max(tests["FAIL"], packages["FAIL"] - broken), 0, broken)
