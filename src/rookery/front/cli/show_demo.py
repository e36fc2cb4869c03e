"""How `rook demo` looks: what happened as lines, and below them, on a terminal, how things stand; at the end what came
of it, and what to try next."""

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from rookery.core.text import one_line

from .call import Desk
from .showing import say

MOMENT = {
    "worker": "dim", "refused": "bold yellow", "mail": "cyan", "question": "bold magenta", "answer": "bold magenta",
    "sent back": "bold red", "landed": "bold green",
}  # fmt: skip
NEXT = (
    ("rook init", "in your repository: your agent programs ask Rookery"),
    ('rook spawn "Write tests for the parser"', "one worker, in a worktree of its own"),
    ("rook crew run plan.md --workers 3", "a checklist, worked off by a crew"),
    ("rook workers", "who is at it; `rook peek w1` shows a screen"),
    ("rook questions", "what waits for you; `rook answer` settles it"),
    ("rook demo --keep", "this again, to look around in afterwards"),
)
WIDE = 36  # of the bar


class Screen:
    """Lines that stay, and below them a picture that is drawn anew; without a terminal only the lines."""

    def __init__(self, desk: Desk) -> None:
        self._call = desk.call
        self._silent = desk.options.json
        self._lines: list[str] = []
        self._below: list[str] = []
        self._drawn = 0

    def opening(self, graph: str) -> None:
        self._add(say(("rook demo", "bold"), "  a crew works off a plan: eight tasks, three workers, one you"))
        self._add(Padding(Text(graph.rstrip("\n"), "dim", no_wrap=True, overflow="ellipsis"), (1, 0, 1, 2)))
        self._draw()

    def moment(self, seconds: float, kind: str, who: str, what: str) -> None:
        row = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        row.add_column(width=6, justify="right", style="dim")
        row.add_column(width=9, style=MOMENT[kind])
        row.add_column(width=14, no_wrap=True, overflow="ellipsis", style="bold")
        row.add_column(overflow="fold")
        row.add_row(f"{seconds:.1f} s", kind, one_line(who, 30), one_line(what, 200))
        self._add(row)

    def note(self, words: str) -> None:
        self._add(Padding(Text(words, "dim italic"), (0, 0, 0, 19)))

    def board(self, status: Mapping[str, Any], landed: int, seconds: float) -> None:
        """The picture below, and all that was said since the last one."""
        self._below = self._rendered(_board(status, landed, seconds))
        self._draw()

    def close(self) -> None:
        self._below = []
        self._draw()

    def _add(self, what: RenderableType) -> None:
        self._lines += self._rendered(what)

    def _rendered(self, what: RenderableType) -> list[str]:
        from .show import render

        return render(what, self._call.width, terminal=self._call.terminal).removesuffix("\n").split("\n")

    def _draw(self) -> None:
        """In one piece, over what stood there: nothing flickers."""
        below = self._below if self._call.terminal else []
        lines, self._lines = self._lines, []
        if self._silent or not (lines or below or self._drawn):
            return
        up = f"\x1b[{self._drawn}F\x1b[J" if self._drawn else ""
        self._drawn = len(below)
        self._call.emit(up + "".join(f"{line}\n" for line in [*lines, *below]))


def _board(status: Mapping[str, Any], landed: int, seconds: float) -> RenderableType:
    total = status["counts"]["total"]
    bar = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    done = ProgressBar(total=total, completed=landed, width=WIDE, complete_style="green", finished_style="green")
    line = status["landings"].get("queued", 0) + status["landings"].get("working", 0)
    waits = Text(f"{line} merged and checked now" if line else "", "green")
    bar.add_row(done, f"{landed} of {total} landed", Text(f"{seconds:.0f} s", "dim"), waits)
    rows = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    rows.add_column(width=16, no_wrap=True, overflow="ellipsis", style="bold")
    rows.add_column(no_wrap=True, overflow="ellipsis")
    for worker in status["workers"]:
        rows.add_row(one_line(worker["name"], 30), _doing(worker))
    return Group(Rule(style="dim"), bar, rows)


def _doing(worker: Mapping[str, Any]) -> Text:
    title = one_line(worker["title"], 60)
    if worker["state"] in ("queued", "starting"):
        return Text(f"starts, to review {title}" if worker["role"] == "review" else "starts", "dim")
    if worker["state"] != "running":
        return Text(worker["state"], "dim")
    if worker["role"] == "review":
        return say(("reviews  ", "blue"), title)
    if worker["report"] == "asking":
        return say(("asks you ", "bold magenta"), title)
    if worker["report"]:
        return say((f"{worker['report']:<9}", "green"), (title, "dim"))
    if not worker["task"]:
        return Text("waits for a task", "dim")
    return say(("works on ", "cyan"), title)


# -- the end ---------------------------------------------------------------------------------------------------------


def ended(result: dict[str, Any]) -> RenderableType:
    parts: list[RenderableType] = [
        Text(""),
        Text(f"All {result['tasks']} tasks are on main, checks green, in {result['seconds']:.0f} s.", "bold green"),
        Text(_sums(result)),
        _part("git log --graph --oneline", Text("\n".join(result["log"]))),
        _part("python -m textstat samples/rooks.txt", Text("\n".join(result["made"]))),
        _part("Next, with agents of your own", _next()),
    ]  # fmt: skip
    if result["folder"]:
        folder = result["folder"]
        parts += [Text(""), say("Kept: ", (folder, "bold"), ", the repository in textstat/. "),
                  say((f"ROOK_HOME={folder}/home ROOK_TEAM={result['team']} rook feed", "dim"))]  # fmt: skip
    return Group(*parts)


def _sums(result: Mapping[str, Any]) -> str:
    names = ", ".join(result["workers"])
    return (
        f"{names}: {result['landings']} landings, {result['reviews']} reviews ({result['sent_back']} sent back), "
        f"{result['messages']} messages, {result['questions']} question answered, {result['refused']} reservation "
        f"refused and talked over; {result['events']} events in one ledger."
    )


def _part(head: str, what: RenderableType) -> RenderableType:
    return Group(Text(""), Text(head, "bold"), Padding(what, (0, 0, 0, 2)))


def _next() -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(style="dim")
    for command, what in NEXT:
        table.add_row(command, what)
    return table


SHOWS = {"demo": ended}
