"""What every renderer uses: tables, lines, times."""

from rich import box
from rich.table import Table
from rich.text import Text


def new_table(*columns: str, **styles: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, style=styles.get(name, ""), overflow="fold")
    return table


def say(*parts: str | tuple[str, str]) -> Text:
    return Text.assemble(*parts)


def clock(stamp: str | None) -> str:
    return f"{stamp[:10]} {stamp[11:19]}Z" if stamp else ""


def time_of(stamp: str) -> str:
    return stamp[11:19]
