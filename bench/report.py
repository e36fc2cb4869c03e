"""A row is ours against a floor or a peer; a bound is on their ratio. Here it is judged, shown and written down."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table

SCHEMA_VERSION = 1
WIDTH = 100
READINGS = Path(__file__).with_name("readings.json")  # the last ratios of every bounded row, from `--record`
ENOUGH, MARGIN = 5, 0.25


class Bound(NamedTuple):
    """Where the ratio ours / floor has to stay. Rates have a least, times have a most."""

    sense: str  # "least" or "most"
    limit: float

    def holds(self, ratio: float) -> bool:
        return ratio >= self.limit if self.sense == "least" else ratio <= self.limit

    def has_room(self, ratio: float) -> bool:
        """Is the ratio on the right side by more than the margin?"""
        return (ratio / self.limit if self.sense == "least" else self.limit / ratio) > 1 + MARGIN

    def __str__(self) -> str:
        return f"{'>=' if self.sense == 'least' else '<='} {self.limit:g}"


def at_least(limit: float) -> Bound:
    return Bound("least", limit)


def at_most(limit: float) -> Bound:
    return Bound("most", limit)


@dataclass(frozen=True)
class Row:
    name: str
    ours: float | None  # None: it could not be measured, which no bound forgives
    floor: float | None
    unit: str  # "/s", "ms" or "MiB"
    bound: Bound | None = None
    notes: str = ""  # a sentence that belongs to the number

    @property
    def ratio(self) -> float | None:
        return self.ours / self.floor if self.ours is not None and self.floor else None

    @property
    def ok(self) -> bool | None:
        """None where nothing is demanded."""
        if self.bound is None:
            return None
        return self.ratio is not None and self.bound.holds(self.ratio)


@dataclass(frozen=True)
class Section:
    title: str
    against: str  # what stands in the floor column
    rows: Sequence[Row]
    took_s: float = 0.0


def timed(section: Section, took_s: float) -> Section:
    return replace(section, took_s=took_s)


def named(sections: Sequence[Section]) -> list[tuple[str, Row]]:
    return [(f"{section.title}: {row.name}", row) for section in sections for row in section.rows]


def missed(sections: Sequence[Section]) -> list[str]:
    """One sentence for each bound that does not hold."""
    return [_sentence(name, row) for name, row in named(sections) if row.ok is False]


def _sentence(name: str, row: Row) -> str:
    return f"{name}: {_shown_ratio(row)} is not {row.bound}" + (f" ({row.notes})" if row.notes else "")


def exit_code(sections: Sequence[Section], readings: Mapping[str, Sequence[float]]) -> int:
    return 1 if any(fails(row, readings.get(name, ())) for name, row in named(sections)) else 0


def fails(row: Row, readings: Sequence[float]) -> bool:
    """Does this row fail the run? A missed bound does if the last readings all held it with room to spare, so that
    noise does not explain it; what could not be measured always does."""
    if row.ok is not False or row.bound is None:
        return False
    return row.ratio is None or (len(readings) >= ENOUGH and all(map(row.bound.has_room, readings)))


def read_readings(path: Path = READINGS) -> dict[str, list[float]]:
    return json.loads(path.read_text()) if path.exists() else {}


def record(sections: Sequence[Section], path: Path = READINGS) -> None:
    """Add the ratios of this run; the oldest beyond the last few go."""
    readings = read_readings(path)
    for name, row in named(sections):
        if row.bound is not None and row.ratio is not None:
            readings[name] = [*readings.get(name, ()), round(row.ratio, 3)][-ENOUGH:]
    path.write_text(json.dumps(readings, indent=1) + "\n", encoding="utf-8")


# -- the table -----------------------------------------------------------------------------------------------------


def show(sections: Sequence[Section], console: Console, readings: Mapping[str, Sequence[float]]) -> None:
    for section in sections:
        _show_section(section, console)
    failures = [(name, row) for name, row in named(sections) if row.ok is False]
    held = sum(row.ok is True for _, row in named(sections))
    for name, row in failures:
        is_fatal = fails(row, readings.get(name, ()))
        word, style = ("missed", "bold red") if is_fatal else ("missed, as it may by chance", "yellow")
        console.print(f"{word}: {_sentence(name, row)}", style=style, markup=False, highlight=False)
    console.print(f"{held} bounds hold, {len(failures)} missed", style="red" if failures else "green", highlight=False)


def _show_section(section: Section, console: Console) -> None:
    numbers = {note: number for number, note in enumerate(dict.fromkeys(r.notes for r in section.rows if r.notes), 1)}
    table = Table(box=box.SIMPLE_HEAD, width=WIDTH, pad_edge=False, header_style="dim", show_edge=False)
    table.add_column(section.title, ratio=1, header_style="bold")
    for heading, width in (("ours", 11), (section.against, 14), ("ratio", 5), ("bound", 7), ("", 6)):
        table.add_column(heading, justify="right", width=width)
    for row in section.rows:
        mark = f" ({numbers[row.notes]})" if row.notes else ""
        table.add_row(row.name + mark, _shown(row.ours, row.unit), _shown(row.floor, row.unit), _shown_ratio(row),
                      str(row.bound or ""), _verdict(row))  # fmt: skip
    console.print(table)
    for note, number in numbers.items():
        console.print(f"({number}) {note}", style="dim", markup=False, highlight=False)
    console.print()


def _shown(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    if unit == "/s":
        return f"{value:,.0f} /s"
    return f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3}f} {unit}"


def _shown_ratio(row: Row) -> str:
    return "-" if row.ratio is None else f"{row.ratio:.2f}"


def _verdict(row: Row) -> str:
    return {None: "", True: "[green]ok[/green]", False: "[bold red]missed[/bold red]"}[row.ok]


# -- the file ------------------------------------------------------------------------------------------------------


def document(sections: Sequence[Section], about: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "schemaVersion": SCHEMA_VERSION,
        **about,
        "ok": not missed(sections),
        "missed": missed(sections),
        "sections": [
            {"title": section.title, "against": section.against, "took_s": round(section.took_s, 1),
             "rows": [_plain(row) for row in section.rows]}
            for section in sections
        ],
    }  # fmt: skip


def _plain(row: Row) -> dict[str, Any]:
    return asdict(row) | {"bound": str(row.bound) if row.bound else None, "ratio": row.ratio, "ok": row.ok}


def write(path: Path, sections: Sequence[Section], about: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document(sections, about), indent=2) + "\n", encoding="utf-8")
