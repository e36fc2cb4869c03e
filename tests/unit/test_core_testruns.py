"""Test runs are read from what runners print. Pytest is really run here; what the others print is written by hand after
their own output, with their colours, in `SAMPLES`."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import testruns
from rookery.core.testruns import Ran

SUITE = """
import pytest
def test_a(): pass
def test_b(): pass
def test_c(): assert 1 == 2
@pytest.mark.skip(reason="later")
def test_d(): pass
@pytest.fixture
def broken(): raise RuntimeError("no")
def test_e(broken): pass
@pytest.mark.xfail
def test_f(): assert False
"""


def run_pytest(folder: Path, *args: str) -> str:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-c", "/dev/null", *args]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize("args", [("-q",), ("--color=yes",)])
def test_pytest_as_it_prints(tmp_path: Path, args: tuple[str, ...]) -> None:
    (tmp_path / "test_it.py").write_text(SUITE)
    output = run_pytest(tmp_path, *args)
    found = testruns.recognised(f"cd x && python3 -m pytest {' '.join(args)}", output)
    assert found == Ran("pytest", passed=2, failed=1, skipped=2, errors=1)
    assert found is not None
    assert found.told() == "2 passed, 1 failed, 1 errors, 2 skipped (pytest)"
    assert not found.is_green
    assert testruns.parse(output[: len(output) // 2]) is None, "what was cut before its end tells nothing"
    ends = output[:100] + "\n... left out here ...\n" + output[-200:]
    assert testruns.parse(ends) == found


def test_pytest_that_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("import nothing_of_that_name")
    assert testruns.parse(run_pytest(tmp_path)) == Ran("pytest", errors=1)
    (tmp_path / "test_it.py").write_text("")
    assert testruns.parse(run_pytest(tmp_path, "-q")) == Ran("pytest")


RED, GREEN, BOLD, OFF = "\x1b[31m", "\x1b[32m", "\x1b[1m", "\x1b[0m"
JEST = f"""FAIL src/sum.test.js
  {BOLD}\u25cf adds 1 + 2 to equal 3{OFF}

    expect(received).toBe(expected) // Object.is equality

{BOLD}Test Suites: {OFF}{BOLD}{RED}1 failed{OFF}, {BOLD}{GREEN}2 passed{OFF}, 3 total
{BOLD}Tests:       {OFF}{BOLD}{RED}1 failed{OFF}, 1 skipped, 1 todo, {BOLD}{GREEN}5 passed{OFF}, 8 total
{BOLD}Snapshots:   {OFF}0 total
{BOLD}Time:{OFF}        1.204 s
Ran all test suites.
"""
JEST_BROKEN = """FAIL src/sum.test.js
  \u25cf Test suite failed to run

    Cannot find module './sum' from 'src/sum.test.js'

Test Suites: 1 failed, 1 passed, 2 total
Tests:       2 passed, 2 total
Snapshots:   0 total
Time:        0.6 s
"""
VITEST = f"""
 RUN  v3.0.5 /repo

 {GREEN}\u2713{OFF} src/b.test.ts (5 tests) 4ms
 {RED}\u276f{OFF} src/a.test.ts (2 tests | 1 failed) 9ms
   {RED}\u00d7{OFF} adds

 Test Files  {BOLD}{RED}1 failed{OFF} | {BOLD}{GREEN}1 passed{OFF} (2)
      Tests  {BOLD}{RED}1 failed{OFF} | {BOLD}{GREEN}5 passed{OFF} | 1 skipped (7)
   Start at  10:31:44
   Duration  312ms (transform 40ms, setup 0ms, collect 51ms, tests 13ms)
"""
VITEST_BROKEN = """
 FAIL  src/a.test.ts [ src/a.test.ts ]
Error: Failed to load url ./sum

 Test Files  1 failed | 1 passed (2)
      Tests  5 passed (5)
   Start at  10:31:44
"""
GO = """--- FAIL: TestSum (0.00s)
    sum_test.go:9: got 4, want 3
FAIL
FAIL\texample.com/m/sum\t0.003s
ok  \texample.com/m/other\t0.002s
ok  \texample.com/m/third\t(cached)
?   \texample.com/m/none\t[no test files]
FAIL
"""
GO_VERBOSE = """=== RUN   TestSum
=== RUN   TestSum/small
--- PASS: TestSum (0.00s)
    --- PASS: TestSum/small (0.00s)
=== RUN   TestOld
    sum_test.go:12: not now
--- SKIP: TestOld (0.00s)
=== RUN   TestBad
--- FAIL: TestBad (0.00s)
FAIL
FAIL\texample.com/m/sum\t0.003s
"""
GO_BUILD = """# example.com/m/sum
sum/sum.go:4:2: undefined: x
FAIL\texample.com/m/sum [build failed]
ok  \texample.com/m/other\t0.002s\tcoverage: 80.0% of statements
FAIL
"""
CARGO = f"""   Compiling m v0.1.0 (/repo)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.51s
     Running unittests src/lib.rs (target/debug/deps/m-0123456789abcdef)

running 3 tests
test tests::works ... {GREEN}ok{OFF}
test tests::fails ... {RED}FAILED{OFF}
test tests::slow ... ignored

test result: {RED}FAILED{OFF}. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests m

running 2 tests
test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.20s
"""
NEXTEST = """        PASS [   0.004s] m tests::works
        FAIL [   0.003s] m tests::fails
------------
     Summary [   0.012s] 5 tests run: 4 passed, 1 failed, 2 skipped
"""
SAMPLES = [
    ("npx jest", JEST, Ran("jest", 5, 1, 2)), ("yarn jest --ci", JEST_BROKEN, Ran("jest", 2, 0, 0, 1)),
    ("npm test", JEST, Ran("jest", 5, 1, 2)), ("pnpm exec vitest run", VITEST, Ran("vitest", 5, 1, 1)),
    ("npx vitest run", VITEST_BROKEN, Ran("vitest", 5, 0, 0, 1)),
    ("go test ./...", GO, Ran("go", 2, 1, 0, 0, "packages")), ("go test -v ./sum", GO_VERBOSE, Ran("go", 1, 1, 1)),
    ("go test ./...", GO_BUILD, Ran("go", 1, 0, 0, 1, "packages")), ("cargo test", CARGO, Ran("cargo", 3, 1, 1)),
    ("cargo nextest run", NEXTEST, Ran("cargo", 4, 1, 2)),
    ("cargo test", "error: could not compile `m` (lib) due to 1 previous error\n", Ran("cargo", errors=1)),
    ("make test", "== 12 passed in 1.00s ==", Ran("pytest", 12)),
    ("tox -e tests", "= 1 failed, 2 passed, 3 warnings, 1 error in 61.20s (0:01:01) =", Ran("pytest", 2, 1, 0, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("command", "output", "expected"), SAMPLES)
def test_what_runners_print(command: str, output: str, expected: Ran) -> None:
    assert testruns.recognised(command, output) == expected
    assert testruns.recognised(command, output.replace("\n", "\r\n")) == expected
    assert testruns.recognised("cat results.txt", output) is None
    assert testruns.recognised(command, "") is None


@pytest.mark.parametrize(
    ("command", "runner"),
    [
        ("pytest -q", "pytest"), (".venv/bin/python -m pytest tests", "pytest"), ("uv run pytest", "pytest"),
        ("cd a && FOO=1 timeout 60 python3.11 -m pytest | tail -5", "pytest"), ("npx --yes vitest", "vitest"),
        ("go test ./... 2>&1", "go"), ("cargo +nightly test", "cargo"), ("cargo t", "cargo"),
        ("pip install pytest", ""),
        ("grep -r pytest .", ""), ("cat pytest.ini", ""), ("go build ./...", ""),
        ("git commit -m 'pytest passes'", ""),
        ("", ""), ("&&", ""), ("python", ""),
    ],
)  # fmt: skip
def test_which_runner_a_command_starts(command: str, runner: str) -> None:
    assert testruns.runner_of(command) == runner


@pytest.mark.parametrize("said", ["I think 3 passed in the end", "12 files in 3s", "Tests: none",
                                  "test result: unknown", "ok", "FAIL", "2 warnings in 0.1s", "1 passed in 2s and then it hung"])  # fmt: skip
def test_prose_is_no_run(said: str) -> None:
    assert testruns.parse(said) is None


@given(st.text(alphabet="0123456789 passed,failed in=s().:|\n\x1b[m", max_size=2_000), st.text(max_size=200))
def test_nothing_breaks_it(output: str, command: str) -> None:
    testruns.parse(output)
    testruns.recognised(command, output)
    testruns.runner_of(output)
