"""Counts of test runs. pytest is really run; the others' outputs are written after their documentation."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.testruns import Run, parsed

JEST = """\
FAIL src/sum.test.js
  ✕ adds (3 ms)

Test Suites: 1 failed, 2 passed, 3 total
Tests:       1 failed, 1 skipped, 7 passed, 9 total
Snapshots:   0 total
Time:        1.2 s
"""
VITEST = """\
 \x1b[32m✓\x1b[39m src/sum.test.ts (3 tests) 2ms

 Test Files  1 failed | 1 passed (2)
      Tests  \x1b[31m1 failed\x1b[39m | \x1b[32m4 passed\x1b[39m (5)
   Start at  10:00:00
"""
GO = "--- FAIL: TestOne (0.00s)\nFAIL\nFAIL\texample.com/a\t0.003s\nok  \texample.com/b\t0.002s\nFAIL\n"
GO_V = "=== RUN   TestA\n--- PASS: TestA (0.00s)\n--- SKIP: TestB (0.00s)\nPASS\nok  \texample.com/a\t0.002s\n"
GO_BROKEN = "# example.com/a\n./a.go:3:2: undefined: x\nFAIL\texample.com/a [build failed]\nFAIL\n"
CARGO = """\
running 2 tests
test one ... ok
test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

test result: FAILED. 3 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.01s
"""


@pytest.mark.parametrize(("said", "counted"), [
    (JEST, Run("jest", 7, 1, 1)), (VITEST, Run("vitest", 4, 1)), (GO, Run("go", 1, 1)), (GO_V, Run("go", 1, 0, 1)),
    (f"  ● Test suite failed to run\n{JEST.replace('1 failed, 1 skipped, ', '')}", Run("jest", 7, 0, 0, 1)),
    (VITEST.replace("\x1b[31m1 failed\x1b[39m | ", ""), Run("vitest", 4, 0, 0, 1)),
    ("Summary [   0.012s] 5 tests run: 4 passed, 1 failed, 2 skipped", Run("cargo", 4, 1, 2)),
    (f"error: could not compile `m` (lib)\n{CARGO}", Run("cargo", 5, 1, 2, 1)),
    ("error: could not compile `m` (lib) due to 1 previous error", Run("cargo", errors=1)),
    (GO_BROKEN, Run("go", 0, 0, 0, 1)), (CARGO, Run("cargo", 5, 1, 2)),
    ("no tests ran in 0.01s\n", Run("pytest")), ("===== 2 passed, 1 warning in 0.1s =====", Run("pytest", 2)),
    ("1 failed, 2 passed, 3 errors in 61.02s (0:01:01)", Run("pytest", 2, 1, 0, 3)),
])  # fmt: skip
def test_what_runners_say(said: str, counted: Run) -> None:
    assert parsed(said) == counted
    assert parsed(f"\x1b[1m{said}\x1b[0m") == counted


@pytest.mark.parametrize("said", [
    "", "12 passed", "All 12 tests passed in 3 days", "ok", "Tests", "Tests: none", "FAIL",
    "test result: maybe. 1 passed", "it stood still in 3s", "ok\n", "Tests: 1 of 2 total",
])  # fmt: skip
def test_what_is_no_summary_counts_nothing(said: str) -> None:
    assert parsed(said) is None


def test_green_needs_something_that_passed() -> None:
    assert Run("pytest", 1).green
    assert not Run("pytest").green
    assert not Run("pytest", 3, 1).green
    assert not Run("pytest", 3, 0, 0, 1).green


@pytest.mark.slow
@pytest.mark.parametrize("quiet", [[], ["-q"], ["-q", "--color=yes"]])
def test_pytest_itself(tmp_path: Path, quiet: list[str]) -> None:
    path = tmp_path / "test_it.py"
    path.write_text(
        "import pytest\n\ndef test_a(): pass\n\ndef test_b(): assert 0\n\n@pytest.mark.skip\ndef test_c(): pass\n"
    )
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), *quiet, str(path)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert parsed(done.stdout) == Run("pytest", 1, 1, 1), done.stdout


@given(st.text(), st.sampled_from([JEST, VITEST, GO, CARGO, "1 passed in 0.1s"]))
def test_nothing_that_stands_before_it_breaks_it(before: str, said: str) -> None:
    assert parsed(f"{before}\n{said}") is not None
    parsed(before)
