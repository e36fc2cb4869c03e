"""What a terminal shows, read: is the agent program in it busy, ready, or blocked, and does its input line hold text.

    starting ──> ready <──> busy          a busy marker anywhere on the screen means busy, whatever else is there (H10)
                   │  ▲      │
                   ▼  └──────┴─ blocked   a dialog: trust, login, permission ... it is reported, not answered

`Patterns` is what is known of one program, as data (`hosts.screens`). `read` is one look. `Watch` is what follows from
several: ready counts only after it has stayed so, and a line that someone else changes is let be for a while (H11).
What can not be told is `unknown`, and nobody types then.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from rookery.core.ports import Screen
from rookery.core.record import NamedTuple


class State(StrEnum):
    STARTING = "starting"  # nothing of the program is to be seen yet
    READY = "ready"
    BUSY = "busy"
    BLOCKED = "blocked"
    UNKNOWN = "unknown"


class Gate(NamedTuple):
    """A dialog that stands in the way, known by what is written in it."""

    shows: str
    answer: tuple[str, ...] = ()  # the keys that agree to it; none: only a person answers


class Patterns(NamedTuple):
    """How a program's screen is read. Every pattern is a regular expression that is looked for in single lines.

    The cursor stands in the input line, also where it is hidden: that is how the line is told from others like it.
    """

    name: str
    prompt: str  # the beginning of the input line, up to where text is typed
    above: str = ""  # the one or two lines over it, where they tell
    below: str = ""  # the line that ends the input; without it a blank line does
    margin: int = 0  # rows before that end which are not input
    indent: str = r"\s*"  # what further lines of the input begin with
    placeholders: tuple[str, ...] = ()  # what stands in the line while it is empty, besides what is faint
    starting: tuple[str, ...] = ()  # it shows an input line, and forgets what is typed there
    busy: tuple[str, ...] = ()
    dialog: str = ""  # among the last lines: a dialog is open, and the keys go to it
    gates: Mapping[str, Gate] = {}  # which dialog it is, by the first that shows
    restless: tuple[str, ...] = ()  # lines that change of themselves and mean nothing: a logo, a clock
    folded: str = ""  # how it shows a long paste instead of the text itself
    multiline: bool = True  # a paste of several lines is one prompt
    reference: str = "@{path}"  # a file that it is to read
    clear: str = ""  # the command that makes it forget
    interrupt: tuple[str, ...] = ("escape",)
    submit: tuple[str, ...] = ("enter",)


class View(NamedTuple):
    state: State
    gate: str = ""
    typed: str = ""  # what stands in the input line
    prompt: bool = False  # the input line is to be seen
    empty: bool = False  # nothing is in it, and the cursor is at its beginning
    column: int = 0
    row: int = 0  # from the first of the input line


class Rules(NamedTuple):
    """How long what must have been so. They come from the settings `terminal.*`."""

    poll_s: float = 0.2
    stable_s: float = 2.0  # ready for so long, without a change
    quiet_s: float = 3.0  # since someone typed
    cap_s: float = 60.0  # then it is given up for now
    pause_s: float = 0.3  # between the text and the key that submits it
    verify_s: float = 5.0  # for the text to show, and to be gone from the line
    doubt_s: float = 10.0  # a program that is said to be busy, and looks ready for so long, is ready
    answer_gates: tuple[str, ...] = ()


def rules(settings: Mapping[str, Any]) -> Rules:
    said: dict[str, Any] = {name: settings[f"terminal.{name}"] for name in Rules._fields}
    return Rules(**said)._replace(answer_gates=tuple(said["answer_gates"]))


# -- one look --------------------------------------------------------------------------------------------------------

DIALOG_LINES = 2  # a dialog says on its last lines which keys it takes


class _Input(NamedTuple):
    first: int  # its rows
    last: int
    start: int  # the column where text begins
    typed: str


def read(patterns: Patterns, screen: Screen) -> View:
    written = [line for line in screen.lines if line.strip()]
    view = _line(patterns, screen)
    if patterns.dialog and _any((patterns.dialog,), written[-DIALOG_LINES:]):
        return view._replace(state=State.BLOCKED, gate=_gate(patterns, written))
    if _any(patterns.busy, written):
        return view._replace(state=State.BUSY)
    if not written or _any(patterns.starting, written):
        return view._replace(state=State.STARTING)
    return view._replace(state=State.READY) if view.prompt else view


def _line(patterns: Patterns, screen: Screen) -> View:
    """What there is to say of the input line."""
    found = _input(patterns, screen)
    if not found:
        return View(State.UNKNOWN, column=screen.column, row=screen.row)
    at_start = (screen.row, screen.column) == (found.first, found.start)
    empty = at_start and not found.typed.strip()
    return View(State.UNKNOWN, "", found.typed, True, empty, screen.column, screen.row - found.first)


def _in(pattern: str, line: str) -> bool:
    import re

    return re.search(pattern, line) is not None


def _any(patterns: tuple[str, ...], lines: list[str]) -> bool:
    return any(_in(pattern, line) for pattern in patterns for line in lines)


def _gate(patterns: Patterns, written: list[str]) -> str:
    named = (name for name, gate in patterns.gates.items() if _any((gate.shows,), written))
    return next(named, "dialog")


def _input(patterns: Patterns, screen: Screen) -> _Input | None:
    """The input line that the cursor is in; it may be several rows."""
    lines = screen.lines
    for row in range(min(screen.row, len(lines) - 1), -1, -1):
        start = _begins(patterns, lines, row)
        if start >= 0:
            end = _ends(patterns, screen, row)
            return _Input(row, end, start, _typed(patterns, screen, row, end, start)) if end >= screen.row else None
        if patterns.below and _in(patterns.below, lines[row]):
            return None  # the cursor is outside of any input line
    return None


def _begins(patterns: Patterns, lines: tuple[str, ...], row: int) -> int:
    """The column where text begins, if an input line begins in this row; -1 if not."""
    import re

    found = re.match(patterns.prompt, lines[row] + "    ")  # blanks at the end of a line are not told
    if not found or (patterns.above and not _in(patterns.above, "\n".join(lines[max(row - 2, 0) : row]))):
        return -1
    return found.end()


def _ends(patterns: Patterns, screen: Screen, first: int) -> int:
    """Its last row; -1 if it has no end, and so was none."""
    for row in range(first + 1, len(screen.lines)):
        if patterns.below:
            if _in(patterns.below, screen.lines[row]):
                return row - 1 - patterns.margin
        elif row > screen.row and not screen.lines[row].strip():
            return row - 1
    return -1 if patterns.below else len(screen.lines) - 1


def _typed(patterns: Patterns, screen: Screen, first: int, last: int, start: int) -> str:
    import re

    further = [re.sub(f"^{patterns.indent}", "", line) for line in screen.firm[first + 1 : last + 1]]
    typed = "\n".join(line.rstrip() for line in [screen.firm[first][start:], *further]).rstrip()
    shown = screen.lines[first][start:].strip()
    placeholder = any(re.fullmatch(each, shown) for each in patterns.placeholders)
    return "" if placeholder and not any(line.strip() for line in further) else typed


# -- several looks ---------------------------------------------------------------------------------------------------


class Watch(NamedTuple):
    """What was seen until now, and since when it is so."""

    view: View = View(State.UNKNOWN)
    shown: tuple[str, ...] = ()
    since: float = 0.0  # nothing on the screen has changed
    held: float = 0.0  # it is in the same state, whatever else changed
    touched: float | None = None  # someone typed
    read_back: bool = False
    elsewhere: str = ""


class Ruling(NamedTuple):
    """Why nothing may be typed now; without a reason it may."""

    reason: str = ""
    detail: str = ""
    settled: bool = False  # it will not pass of itself


def seen(watch: Watch | None, patterns: Patterns, screen: Screen, now: float) -> Watch:
    view = read(patterns, screen)
    shown = tuple(line for line in screen.lines if not _any(patterns.restless, [line]))
    fresh = Watch(view, shown, now, now, now if view.typed else None, screen.read_back, screen.elsewhere)
    if watch is None:
        return fresh
    same = fresh._replace(since=watch.since, held=watch.held, touched=watch.touched) == watch
    still = (view.state, view.gate, screen.elsewhere) == (watch.view.state, watch.view.gate, watch.elsewhere)
    return fresh._replace(
        since=watch.since if same else now,
        held=watch.held if still else now,
        touched=now if view.typed or _moved(watch.view, view) else watch.touched,
    )


def _moved(before: View, after: View) -> bool:
    """Did what is in the input line, or the cursor in it, change? Nobody of ours types while it is watched."""
    both = before.prompt and after.prompt
    return both and (before.typed, before.column, before.row) != (after.typed, after.column, after.row)


def ruling(watch: Watch, told: str, rules: Rules, now: float) -> Ruling:
    """May it be typed into now? `told` is what the program's own hooks said last: busy, idle, blocked or nothing."""
    view, still_s = watch.view, now - watch.since
    if watch.elsewhere or view.state is State.BLOCKED:
        return Ruling("blocked", watch.elsewhere or view.gate, now - watch.held >= rules.stable_s)
    if view.state is State.BUSY:
        return Ruling("busy", "its screen shows that it works")
    if view.state is not State.READY:
        return Ruling(
            "blocked" if view.state is State.UNKNOWN else "busy", f"{view.state}: no input line is to be seen"
        )
    if told in ("busy", "blocked") and still_s < rules.doubt_s:
        return Ruling(told, "its hooks said so")
    if watch.read_back or not view.empty:
        return Ruling("user-typing", "a person reads back" if watch.read_back else "the line is not empty")
    if watch.touched is not None and now - watch.touched < rules.quiet_s:
        return Ruling("user-typing", "someone typed just now")
    return Ruling() if still_s >= rules.stable_s else Ruling("busy", "its screen still changes")


# -- what became of a text -------------------------------------------------------------------------------------------

TRACE = 24  # letters that are looked for


def _letters(text: str) -> str:
    """Without what a terminal wraps, pads, replaces or leaves out."""
    return "".join(filter(str.isalnum, text))


def is_ours(patterns: Patterns, typed: str, text: str) -> bool:
    """Is what stands in the input line this text, or a part of it, and nothing else?"""
    import re

    there = _letters(typed)
    if patterns.folded and re.fullmatch(patterns.folded, " ".join(typed.split())):
        return True
    return bool(typed.strip()) and there in _letters(text)


def holds_more(typed: str, line: str) -> bool:
    """Does the input line hold what it showed before, with something else before or behind it?"""
    return bool(_letters(line)) and _letters(line) in _letters(typed)


def is_left(patterns: Patterns, typed: str, text: str) -> bool:
    """Is what stands in the input line all of this text and nothing else? Of a folded one its size has to agree."""
    import re

    if patterns.folded and re.fullmatch(patterns.folded, " ".join(typed.split())):
        sizes = [int(number) for number in re.findall(r"\b(\d+) (?:lines|chars)", typed)]
        return sizes in ([text.count("\n")], [text.count("\n") + 1], [len(text)])
    return bool(typed.strip()) and _letters(typed) == _letters(text)


def traces(patterns: Patterns, screen: Screen, text: str, line: str) -> int:
    """How often the text, or what the input line showed instead of it, stands on the screen outside of that line."""
    found = _input(patterns, screen)
    around = [line for row, line in enumerate(screen.lines) if not (found and found.first <= row <= found.last)]
    there, said = _letters("".join(around)), _letters(text)
    needles = {said[:TRACE], said[-TRACE:], _letters(line)[:TRACE]} - {""}
    return sum(there.count(needle) for needle in needles)
