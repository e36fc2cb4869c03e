"""Where change sets meet, for people."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from rookery.core.text import one_line

from .showing import giving_way, new_table, say

GRADE = {"contested": "bold red", "adjacent": "yellow", "same file": "cyan", "none": "dim"}
SHOWN = 3  # places of a pair


def conflicts(result: dict[str, Any]) -> RenderableType:
    if not result["conflicts"]:
        return say("No change sets that may still land come close to each other.")
    table = new_table("grade", "change", "by", "with", "of", "where")
    for row in result["conflicts"]:
        table.add_row(
            Text(row["grade"], GRADE[row["grade"]]), row["change"], one_line(row["worker"], 16), row["other"],
            one_line(row["otherWorker"], 16), _where(row),
        )  # fmt: skip
    hints = [hint for row in result["conflicts"] for hint in row["hints"]]
    return Group(giving_way(table, "where"), *(Text(one_line(each, 300), "magenta") for each in hints))


def _where(row: dict[str, Any]) -> str:
    places = [f"{each['path']}:{each['lines']}" if each["lines"] else each["path"] for each in row["paths"]]
    more = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
    return one_line(", ".join(each or "everything" for each in places[:SHOWN]) + more, 200)


SHOWS = {"conflicts": conflicts}
