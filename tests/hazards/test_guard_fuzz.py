"""H46, by chance: 100,000 hook events in the formats of all hosts, half of them valid ones with mutated commands. None
fails open under `--closed`: no exception, no exit code but 0 and 2, and what writes a held file in plain sight, or met
an error on the way, is denied.

ROOK_FUZZ_SEED repeats a run or makes another; a failure names its seed and the number of its event.
"""

import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest

from rookery.core import hook_failures
from rookery.front.cli import router
from tests.support import hook_fuzz
from tests.support.hook_fuzz import FailedOpen, Fuzz

EVENTS, SHARDS, SHARE = 100_000, 20, 500
SEED = int(os.environ.get("ROOK_FUZZ_SEED", hook_fuzz.SEED))
PER_SHARD = EVENTS // SHARDS


@pytest.fixture
def fuzz(tmp_path: Path) -> Generator[Fuzz]:
    made = Fuzz(tmp_path, SEED)
    yield made
    made.close()


def answers(fuzz: Fuzz, numbers: range) -> Counter[str]:
    print(f"seed {fuzz.seed}, events {numbers.start} to {numbers.stop - 1}")
    return Counter(fuzz.check(number) for number in numbers)


def test_h46_every_command_of_the_fuzz_is_denied_as_it_stands(fuzz: Fuzz) -> None:
    """Otherwise a mutation that is let through would show nothing."""
    for command in hook_fuzz.PLAIN:
        event = hook_fuzz.hooking.shell("claude", command.replace("{root}", str(fuzz.root)), str(fuzz.root))
        given = hook_fuzz.Given("claude", ("before",), hook_fuzz.json.dumps(event), must_deny=True)
        assert hook_fuzz.decision(fuzz.ask(given)) == "deny", command


def test_h46_a_share_of_the_events_never_fails_open(fuzz: Fuzz) -> None:
    found = answers(fuzz, range(SHARE))
    assert found["deny"] > SHARE / 2
    assert found[""] > SHARE / 20, "what is harmless or unknown is let through: not everything is denied"


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_h46_no_event_fails_open(fuzz: Fuzz, shard: int) -> None:
    found = answers(fuzz, range(shard * PER_SHARD, (shard + 1) * PER_SHARD))
    assert found["deny"] > PER_SHARD / 2
    assert found[""] > PER_SHARD / 20


# -- controls: a guard that fails open is found ------------------------------------------------------------------------


def test_h46_the_control_a_policy_that_lets_errors_through_is_found(
    fuzz: Fuzz, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_failures, "decide", lambda *_args: hook_failures.NOTHING)
    with pytest.raises(FailedOpen, match="seed"):
        answers(fuzz, range(SHARE))


def test_h46_the_control_an_exception_that_escapes_is_found(fuzz: Fuzz, monkeypatch: pytest.MonkeyPatch) -> None:
    def escapes(_call: object, error: Exception) -> None:
        raise error

    from rookery.front.hook import failures

    monkeypatch.setattr(router, "hook_failed", escapes)
    monkeypatch.setattr(failures, "reply", lambda _desk, _seen, error: escapes(None, error))
    with pytest.raises(FailedOpen, match="seed"):
        answers(fuzz, range(SHARE))


def test_h46_the_control_a_guard_that_sees_no_write_is_found(fuzz: Fuzz, monkeypatch: pytest.MonkeyPatch) -> None:
    from rookery.core.shell import Reading
    from rookery.runtime import shell

    monkeypatch.setattr(shell, "writes", lambda *_args, **_more: Reading((), ()))
    with pytest.raises(FailedOpen, match="seed"):
        answers(fuzz, range(SHARE))
