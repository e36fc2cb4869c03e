"""The bench's verdicts: which bound holds, what is said of one that does not, and how the command ends."""

import io
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bench import __main__ as command
from bench import report
from bench.report import Row, Section, at_least, at_most

positive = st.floats(min_value=1e-6, max_value=1e9)


def section(*rows: Row) -> Section:
    return Section("Send", "bare", rows)


def shown(*sections: Section) -> str:
    out = io.StringIO()
    report.show(sections, Console(file=out, width=report.WIDTH), {})
    return out.getvalue()


@pytest.mark.parametrize(
    ("row", "ok"),
    [
        (Row("a rate above its bound", 60.0, 100.0, "/s", at_least(0.5)), True),
        (Row("a rate at its bound", 50.0, 100.0, "/s", at_least(0.5)), True),
        (Row("a rate below its bound", 49.0, 100.0, "/s", at_least(0.5)), False),
        (Row("a time below its bound", 2.0, 1.0, "ms", at_most(3.0)), True),
        (Row("a time at its bound", 3.0, 1.0, "ms", at_most(3.0)), True),
        (Row("a time above its bound", 3.1, 1.0, "ms", at_most(3.0)), False),
        (Row("not measured", None, None, "ms", at_most(6.0), "not there"), False),
        (Row("no floor", 1.0, None, "ms", at_most(6.0)), False),
        (Row("a floor of nothing", 1.0, 0.0, "/s", at_least(0.5)), False),
        (Row("nothing demanded", 1.0, 1000.0, "/s"), None),
    ],
    ids=lambda value: value.name if isinstance(value, Row) else "",
)
def test_verdict(row: Row, ok: bool | None) -> None:
    assert row.ok is ok
    far = row.bound and (9.0 * row.bound.limit if row.bound.sense == "least" else row.bound.limit / 9)
    assert report.exit_code([section(row)], {f"Send: {row.name}": [far or 0.0] * 5}) == (1 if ok is False else 0)


@pytest.mark.parametrize(
    ("readings", "code"),
    [([], 0), ([0.9] * 4, 0), ([0.9] * 5, 1), ([0.9, 0.9, 0.9, 0.9, 0.63], 1), ([0.9, 0.9, 0.9, 0.9, 0.62], 0)],
)
def test_a_bound_that_was_ever_near_does_not_fail_a_run(readings: list[float], code: int) -> None:
    sections = [section(Row("sends", 49.0, 100.0, "/s", at_least(0.5)))]
    assert report.exit_code(sections, {"Send: sends": readings}) == code


def test_what_could_not_be_measured_always_fails() -> None:
    assert report.exit_code([section(Row("sends", None, 100.0, "/s", at_least(0.5)))], {}) == 1


def test_readings_are_kept_for_the_last_runs(tmp_path: Path) -> None:
    path = tmp_path / "readings.json"
    for ours in range(1, 8):
        sends = Row("sends", float(ours), 10.0, "/s", at_least(0.5))
        report.record([section(sends, Row("free", 1.0, 1.0, "ms"))], path)
    assert report.read_readings(path) == {"Send: sends": [0.3, 0.4, 0.5, 0.6, 0.7]}


def test_the_recorded_readings_are_of_the_last_runs() -> None:
    known = report.read_readings()
    assert len(known) >= 40
    assert all(1 <= len(readings) <= report.ENOUGH for readings in known.values())


def test_one_missed_bound_among_many_fails_and_is_named() -> None:
    good = Row("1 process: sends", 60.0, 100.0, "/s", at_least(0.5))
    bad = Row("4 processes: sends", 10.0, 100.0, "/s", at_least(0.5), "a noisy disk")
    sections = [section(good, Row("p99", 9.0, 1.0, "ms")), section(good, bad)]
    assert report.exit_code(sections, {"Send: 4 processes: sends": [0.9] * 5}) == 1
    assert report.missed(sections) == ["Send: 4 processes: sends: 0.10 is not >= 0.5 (a noisy disk)"]
    assert report.exit_code(sections[:1], {}) == 0
    assert report.missed(sections[:1]) == []


@given(ours=positive, floor=positive, limit=positive)
def test_a_bound_is_on_the_ratio_alone(ours: float, floor: float, limit: float) -> None:
    assert Row("", ours, floor, "/s", at_least(limit)).ok is (ours / floor >= limit)
    assert Row("", ours, floor, "ms", at_most(limit)).ok is (ours / floor <= limit)


def test_the_table_fits_and_tells_what_was_missed() -> None:
    good = Row("1 process: sends", 1234.5, 2000.0, "/s", at_least(0.5))
    gone = Row("rook inbox --json", None, None, "ms", at_most(6.0), "not there: [bin]/rook " + "x" * 100)
    text = shown(section(good), section(gone))
    assert max(map(len, text.splitlines())) <= report.WIDTH
    assert "1,234 /s" in text
    assert "missed: Send: rook inbox --json: - is not <= 6 (not there: [bin]/rook" in " ".join(text.split())
    assert text.rstrip().endswith("1 bounds hold, 1 missed")


def test_rows_with_the_same_note_share_it() -> None:
    text = shown(
        section(*(Row(f"row {n}", 1.0, 1.0, "ms", notes="why") for n in range(2)), Row("bare", 1.0, 1.0, "ms"))
    )
    assert text.count("(1)") == 3  # both rows and the note itself
    assert text.count("why") == 1


def test_the_file_says_what_the_table_says(tmp_path: Path) -> None:
    sections = [report.timed(section(Row("sends", 40.0, 100.0, "/s", at_least(0.5))), 1.25)]
    path = tmp_path / "results" / "one.json"
    report.write(path, sections, {"size": "ci"})
    written = json.loads(path.read_text(encoding="utf-8"))
    assert written["schemaVersion"] == report.SCHEMA_VERSION
    assert (written["size"], written["ok"], written["missed"]) == ("ci", False, report.missed(sections))
    assert written["sections"][0]["rows"] == [
        {"name": "sends", "ours": 40.0, "floor": 100.0, "unit": "/s", "bound": ">= 0.5", "notes": "", "ratio": 0.4,
         "ok": False}
    ]  # fmt: skip


@pytest.mark.parametrize(("ours", "code"), [(60.0, 0), (40.0, 1)])
def test_the_command_ends_with_1_when_a_bound_is_missed(
    ours: float, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROOK_AGENT", "caller")
    seen: dict[str, str] = {}

    def measure(place: object, sizes: object) -> Section:
        seen.update(os.environ)
        return section(Row("sends", ours, 100.0, "/s", at_least(0.5)))

    monkeypatch.setattr(report, "read_readings", lambda: {"Send: sends": [0.9] * 5})
    monkeypatch.setattr(command, "MEASUREMENTS", {"send": SimpleNamespace(measure=measure)})
    assert command.main(["--ci", "--out", str(tmp_path / "out.json")]) == code
    assert ("missed: Send: sends: 0.40" in capsys.readouterr().out) is bool(code)
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["ok"] is not bool(code)
    assert not [name for name in seen if name.startswith("ROOK_")], "the caller's settings reach a measurement"
    assert not os.path.exists(seen["HOME"]), "the scene is left behind"
    assert os.environ["ROOK_AGENT"] == "caller"
