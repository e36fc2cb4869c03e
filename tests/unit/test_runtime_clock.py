"""The real ports: time, chance, processes."""

import os
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.ports import Chance, Clock, Prober
from rookery.runtime import process
from rookery.runtime.clock import SystemChance, SystemClock, SystemProber


def test_the_classes_are_the_ports() -> None:
    ports: tuple[Clock, Prober, Chance] = (SystemClock(), SystemProber(), SystemChance())
    assert all(ports)


def test_time_does_not_go_back() -> None:
    clock = SystemClock()
    first, second = clock.mono_ms(), clock.mono_ms()
    assert 0 < first <= second
    assert clock.wall_ms() > clock.mono_ms() - first


def test_the_boot_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SystemClock()
    boot = clock.boot()
    assert boot == process.boot_id()
    monkeypatch.setattr(process, "boot_id", lambda: "another")
    assert clock.boot() == boot


def test_the_prober_looks() -> None:
    me = process.identify(os.getpid())
    assert me
    assert SystemProber().state(*me) == "running"


@given(st.integers(1, 1 << 64))
def test_chance_stays_below(n: int) -> None:
    assert 0 <= SystemChance().below(n) < n


def test_chance_reaches_every_number() -> None:
    chance = SystemChance()
    assert set(Counter(chance.below(4) for _ in range(1000))) == {0, 1, 2, 3}


def test_chance_draws_again_where_the_last_numbers_would_be_favoured(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter([b"\xff" * 8, (7).to_bytes(8)])
    monkeypatch.setattr(os, "urandom", lambda _: next(drawn))
    assert SystemChance().below(3) == 1


@pytest.mark.parametrize("n", [0, -1, (1 << 64) + 1])
def test_chance_below_nothing_is_an_error(n: int) -> None:
    with pytest.raises(ValueError, match="cannot draw"):
        SystemChance().below(n)
