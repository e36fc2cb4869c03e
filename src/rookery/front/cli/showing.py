"""What every renderer uses: tables, lines, times."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

# Columns that must stay whole: an id in two pieces can not be copied.
WHOLE = {"id": 16, "to": 1, "state": 6, "status": 1, "priority": 6, "from": 8, "sent": 12}
LONG = ("subject",)  # gives way to all others
WIDEST = 24
FOLDED = ("what happened", "what it is", "from", "value", "setting")


def new_table(*columns: str, folded: Sequence[str] = FOLDED) -> Table:
    """One line a row where it can be; what is long is cut, never an id."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 1))
    for name in columns:
        if name in folded:
            table.add_column(name, overflow="fold")
        else:
            ratio = 1 if name in LONG else None
            table.add_column(name, no_wrap=True, overflow="ellipsis", min_width=WHOLE.get(name), ratio=ratio)
    return table


def giving_way(table: Table, name: str) -> Table:
    """One column is cut where room is short, and the others stay whole."""
    for column in table.columns:
        if column.header == name:
            column.ratio, table.expand = 1, True
        else:
            said = [str(column.header), *map(str, column.cells)]
            column.min_width = min(max(map(cell_len, said)), WIDEST)
    return table


def say(*parts: str | tuple[str, str]) -> Text:
    return Text.assemble(*parts)


def clock(stamp: str | None) -> str:
    return f"{stamp[:10]} {stamp[11:19]}Z" if stamp else ""


def short(stamp: str) -> str:
    """Month, day and minute: enough to tell which, short enough for a list."""
    return f"{stamp[5:10]} {stamp[11:16]}Z"


def minute(stamp: str) -> str:
    return f"{stamp[11:16]}Z"


def time_of(stamp: str) -> str:
    return stamp[11:19]


def taken(agent: Mapping[str, Any]) -> str:
    """Processor and memory of a session's processes, as far as anyone watches."""
    cpu = f"{agent['cpu']} % " if agent.get("cpu") is not None else ""
    return f"{cpu}{agent['memory'] // 1024:,} MiB" if agent.get("memory") else ""


def counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
