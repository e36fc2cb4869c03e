"""The screen on pyte, which keeps the cells; what pyte lacks, gets wrong or lets grow without bound is done here.

Own are the parser (`sift`: pyte's dies of sequences it does not know, and keeps strings of any length), the alternate
screen, faint text, drawing (pyte drops the rest of a text after a character without width, and lets marks pile up in a
cell), lines deleted over blank ones, the saved cursor (one, not a stack without end) and a smaller size.
"""

import unicodedata
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from pyte import charsets, modes
from pyte.screens import Char, Margins, wcwidth
from pyte.screens import Screen as Cells

from . import SHARED_MODES, sift
from .numbers import attributes, numbers
from .sift import Sifter, Token

HISTORY = 2_000  # lines that have left the screen at its top
MARKS = 8  # characters in one cell
STYLES, CELLS = 64, 1_024  # that are kept made
ANSWERS_LIMIT = 1_024  # characters in one go, for a program that only asks

_PRIVATE = {5: modes.DECSCNM, 6: modes.DECOM, 7: modes.DECAWM, 25: modes.DECTCEM}  # what pyte acts on
_ALTERNATE = (47, 1047, 1049)
PASTE, CURSOR_KEYS = 2004, 1
BLANK = Char(" ")
_PASSED_CONTROLS = "\x07\b\t\n\v\f\r\x0e\x0f"
_PASSED_STRINGS = ("0;", "1;", "2;", "8;")  # titles and links


class _Cells(dict[str, Char]):
    """By character, all in one style."""

    def __init__(self, style: Char) -> None:
        self._style = style

    def __missing__(self, char: str) -> Char:
        made = self[char] = self._style._replace(data=char)
        return made


class Emulator(Cells):
    def __init__(self, columns: int, rows: int) -> None:
        self.history: deque[str] = deque(maxlen=HISTORY)
        self.asked: set[int] = set()  # private modes, of those that a person's terminal is told
        self.keypad = False
        self.must_repaint = False  # what was passed on is not enough
        self._sifter = Sifter()
        self._answers: list[str] = []
        self._main: tuple[Any, ...] | None = None  # while the alternate screen is shown
        self._saved: tuple[Any, ...] | None = None
        self._styles: dict[Char, _Cells] = {}
        self._drawn = " "
        super().__init__(columns, rows)

    def feed(self, data: bytes) -> tuple[str, str]:
        """Take in what the program wrote: what may be passed on to a person's terminal, and what it is answered."""
        passed: list[str] = []
        for token in self._sifter.feed(data):
            passed.append(_TAKE[token.kind](self, token))
        answer = "".join(self._answers)
        self._answers.clear()
        return "".join(passed), answer if len(answer) <= ANSWERS_LIMIT else ""

    # -- what is seen --------------------------------------------------------------------------------------------------

    @property
    def spot(self) -> tuple[int, int]:
        return min(self.cursor.x, self.columns - 1), self.cursor.y

    def look(self) -> tuple[list[str], list[str]]:
        """The lines, and the same with what is faint left blank."""
        rows = [self.buffer.get(y, {}) for y in range(self.lines)]
        whole = [self.text_of(row) for row in rows]
        firm = [self.text_of(row, firm=True)[: len(line)] for row, line in zip(rows, whole, strict=True)]
        return whole, firm

    def text_of(self, row: Mapping[int, Char], firm: bool = False) -> str:
        count = len(row)
        if not firm and list(row) == list(range(count)):  # the usual case, and quick
            text = "".join([cell.data for cell in row.values()])
            if len(text) == count and text.isascii():  # no cell is half of a character
                return text.rstrip(" ")
        text = "".join(" " * len(cell.data) if firm and cell.blink else cell.data for cell in self.cells_of(row))
        return text if firm else text.rstrip(" ")

    def cells_of(self, row: Mapping[int, Char]) -> list[Char]:
        """As they are shown: where half of a wide character was overwritten, the other half is a blank."""
        cells = [row.get(x, BLANK) for x in range(min(max(row, default=-1) + 1, self.columns))]
        for x, cell in enumerate(cells):
            if cell.data and wcwidth(cell.data[0]) == 2:
                if x + 1 == len(cells) or cells[x + 1].data:
                    cells[x] = cell._replace(data=" ")
            elif not cell.data and (not x or not cells[x - 1].data or wcwidth(cells[x - 1].data[0]) != 2):
                cells[x] = cell._replace(data=" ")
        return cells

    def tail(self, count: int) -> list[str]:
        lines = [*self.history, *self.look()[0]]
        while lines and not lines[-1]:
            lines.pop()
        return lines[-count:] if count > 0 else []

    # -- tokens --------------------------------------------------------------------------------------------------------

    def _text(self, token: Token) -> str:
        self.draw(token.text)
        return token.text

    def _control(self, token: Token) -> str:
        deed = _CONTROLS.get(token.text)
        if deed:
            deed(self)
        return token.text if token.text in _PASSED_CONTROLS else ""

    def _string(self, token: Token) -> str:
        """None of them is shown. Titles and links are harmless; the clipboard, colours asked for and the like stay."""
        harmless = token.prefix == "]" and token.text.startswith(_PASSED_STRINGS)
        return f"\x1b]{token.text}\x1b\\" if harmless and token.text.isprintable() else ""

    def _escape(self, token: Token) -> str:
        if token.between in ("(", ")") and token.final in "B0AU":
            self.define_charset(token.final, token.between)
            return token.text
        if token.between == "#" and token.final == "8":
            self.alignment_display()
            return token.text
        deed = _ESCAPES.get(token.final) if not token.between else None
        if deed is None:
            return ""
        deed(self)
        return token.text if token.final != "c" else ""

    def _csi(self, token: Token) -> str:
        known = _SEQUENCES.get(f"{token.prefix}{token.between}{token.final}")
        if known is None:
            return token.text if token.between == " " and token.final == "q" else ""  # the shape of the cursor
        return known(self, token)

    def _moded(self, token: Token) -> str:
        """Private modes, each by itself."""
        on, passed = token.final == "h", ""
        for mode in numbers(token.numbers):
            if mode in _ALTERNATE:
                self._alternate(on)
            elif mode in _PRIVATE:
                (self.set_mode if on else self.reset_mode)(mode, private=True)
            if mode in SHARED_MODES:
                (self.asked.add if on else self.asked.discard)(mode)
                passed += f"\x1b[?{mode}{token.final}"
        return passed

    def _plain_mode(self, token: Token) -> str:
        known = [mode for mode in numbers(token.numbers) if mode in (modes.IRM, modes.LNM)]
        (self.set_mode if token.final == "h" else self.reset_mode)(*known)
        return token.text if known else ""

    def _report(self, token: Token) -> str:
        asked = numbers(token.numbers)[:1]
        if asked == [5]:
            self._answers.append("\x1b[0n")
        elif asked == [6]:
            column, row = self.spot
            top = self.margins.top if self.margins and modes.DECOM in self.mode else 0
            self._answers.append(f"\x1b[{row - top + 1};{column + 1}R")
        return ""

    def _identify(self, token: Token) -> str:
        if numbers(token.numbers) in ([], [0]):
            self._answers.append("\x1b[>0;0;0c" if token.prefix else "\x1b[?1;2c")
        return ""

    def _styled(self, token: Token) -> str:
        if told := attributes(token.numbers):
            self.select_graphic_rendition(*told)
        return token.text

    def _soft_reset(self, _token: Token) -> str:
        self.set_margins()
        self.reset_mode(modes.IRM, modes.DECOM)
        self.set_mode(modes.DECAWM, modes.DECTCEM)
        self.select_graphic_rendition()
        self.must_repaint = True
        return ""

    # -- drawing -------------------------------------------------------------------------------------------------------

    def draw(self, data: str) -> None:
        charset = self.g1_charset if self.charset else self.g0_charset
        text = data if charset is charsets.LAT1_MAP else data.translate(charset)
        if text.isascii() and modes.IRM not in self.mode:
            self._put_many(text)
            return
        for char in text:
            width = 1 if char.isascii() else wcwidth(char)
            if width > 0:
                self._put(char, width)
            elif unicodedata.combining(char) or char in "\u200d\ufe0f":
                self._mark(char)

    def _put_many(self, text: str) -> None:
        """As `_put` one by one, at a tenth of the cost: nearly all that programs write is such text."""
        cells, at = self._cells(), 0
        while at < len(text):
            self._make_room(1)
            x = self.cursor.x
            part = text[at : at + self.columns - x]
            self.buffer[self.cursor.y].update(zip(range(x, x + len(part)), map(cells.__getitem__, part), strict=True))
            self.cursor.x += len(part)
            at += len(part)
        self._drawn = text[-1]

    def _put(self, char: str, width: int) -> None:
        self._make_room(width)
        if modes.IRM in self.mode:
            self.insert_characters(width)
        line, x, cells = self.buffer[self.cursor.y], self.cursor.x, self._cells()
        line[x] = cells[char]
        for stub in range(x + 1, min(x + width, self.columns)):
            line[stub] = cells[""]
        self.cursor.x = min(x + width, self.columns)
        self._drawn = char

    def _make_room(self, width: int) -> None:
        if self.cursor.x + width > self.columns:
            if modes.DECAWM in self.mode:
                self.carriage_return()
                self.linefeed()
            else:
                self.cursor.x = max(self.columns - width, 0)

    def _cells(self) -> "_Cells":
        """Cells in the style of the cursor; kept, for making them is what drawing costs."""
        style = self.cursor.attrs
        found = self._styles.get(style)
        if found is None or len(found) > CELLS:
            if len(self._styles) >= STYLES:
                self._styles.clear()
            found = self._styles[style] = _Cells(style)
        return found

    def _mark(self, char: str) -> None:
        """An accent or the like, on the character before it."""
        line, x = self.buffer[self.cursor.y], self.cursor.x - 1
        if x > 0 and line[x].data == "":
            x -= 1
        if x >= 0 and len(line[x].data) < MARKS:
            line[x] = line[x]._replace(data=line[x].data + char)

    def insert_characters(self, count: int | None = None) -> None:
        super().insert_characters(count)
        self.buffer[self.cursor.y].pop(self.columns, None)  # pyte keeps one that is not on the screen any more

    def repeat(self, count: int | None = None) -> None:
        self.draw(self._drawn * min(count or 1, self.columns * self.lines))

    def select_graphic_rendition(self, *attrs: int) -> None:
        """Blinking is what pyte can remember and nobody needs: it stands for faint."""
        super().select_graphic_rendition(*attrs)
        if self.cursor.attrs.data != " ":
            self.cursor.attrs = self.cursor.attrs._replace(data=" ")

    # -- moving --------------------------------------------------------------------------------------------------------

    def index(self) -> None:
        top, bottom = self.margins or Margins(0, self.lines - 1)
        if self.cursor.y == bottom:
            self._scroll(top, bottom)
        elif self.cursor.y < self.lines - 1:
            self.cursor.y += 1

    def reverse_index(self) -> None:
        top, bottom = self.margins or Margins(0, self.lines - 1)
        if self.cursor.y == top:
            self._scroll_back(top, bottom)
        elif self.cursor.y > 0:
            self.cursor.y -= 1

    def _scroll(self, top: int, bottom: int) -> None:
        buffer = self.buffer
        gone = buffer.pop(top, None)
        if top == 0 and self._main is None:
            self.history.append(self.text_of(gone or {}))
        if bottom - top == self.lines - 1:
            moved_up = {y - 1: row for y, row in buffer.items()}
            buffer.clear()
            buffer.update(moved_up)
            return
        for y in range(top, bottom):
            moved = buffer.pop(y + 1, None)
            if moved is not None:
                buffer[y] = moved

    def _scroll_back(self, top: int, bottom: int) -> None:
        self.buffer.pop(bottom, None)
        for y in range(bottom, top, -1):
            moved = self.buffer.pop(y - 1, None)
            if moved is not None:
                self.buffer[y] = moved

    def scroll_up(self, count: int | None = None) -> None:
        top, bottom = self.margins or Margins(0, self.lines - 1)
        for _ in range(min(count or 1, bottom - top + 1)):
            self._scroll(top, bottom)

    def scroll_down(self, count: int | None = None) -> None:
        top, bottom = self.margins or Margins(0, self.lines - 1)
        for _ in range(min(count or 1, bottom - top + 1)):
            self._scroll_back(top, bottom)

    def delete_lines(self, count: int | None = None) -> None:
        top, bottom = self.margins or Margins(0, self.lines - 1)
        if top <= self.cursor.y <= bottom:
            for _ in range(min(count or 1, bottom - self.cursor.y + 1)):
                self.buffer.pop(self.cursor.y, None)
                for y in range(self.cursor.y, bottom):
                    moved = self.buffer.pop(y + 1, None)
                    if moved is not None:
                        self.buffer[y] = moved
            self.carriage_return()

    def set_margins(self, top: int | None = None, bottom: int | None = None) -> None:
        """Without a region that makes sense, the whole screen is one; the cursor goes home either way."""
        first, last = max(top or 1, 1), min(bottom or self.lines, self.lines)
        if first < last:
            self.margins = None if (first, last) == (1, self.lines) else Margins(first - 1, last - 1)
            self.cursor_position()

    def cursor_up(self, count: int | None = None) -> None:
        """Stopped by the margin only from within it."""
        top = self.margins.top if self.margins and self.cursor.y >= self.margins.top else 0
        self.cursor.y = max(self.cursor.y - (count or 1), top)

    def cursor_down(self, count: int | None = None) -> None:
        bottom = self.margins.bottom if self.margins and self.cursor.y <= self.margins.bottom else self.lines - 1
        self.cursor.y = min(self.cursor.y + (count or 1), bottom)

    def cursor_position(self, line: int | None = None, column: int | None = None) -> None:
        """In a region that is the origin, kept within it."""
        top = self.margins.top if self.margins and modes.DECOM in self.mode else 0
        self.cursor.x, self.cursor.y = (column or 1) - 1, top + (line or 1) - 1
        self.ensure_hbounds()
        self.ensure_vbounds()

    def cursor_to_line(self, line: int | None = None) -> None:
        self.cursor_position(line, self.cursor.x + 1)

    def cursor_forward_tab(self, count: int | None = None) -> None:
        for _ in range(min(count or 1, self.columns)):
            self.tab()

    def cursor_back_tab(self, count: int | None = None) -> None:
        for _ in range(min(count or 1, self.columns)):
            self.cursor.x = max((stop for stop in self.tabstops if stop < self.cursor.x), default=0)

    def save_cursor(self) -> None:
        place = (self.cursor.x, self.cursor.y, self.cursor.attrs)
        self._saved = (*place, self.g0_charset, self.g1_charset, self.charset, modes.DECOM in self.mode)

    def restore_cursor(self) -> None:
        if self._saved is None:
            self.mode.discard(modes.DECOM)
            self.cursor_position()
            self.select_graphic_rendition()
            self.g0_charset, self.g1_charset, self.charset = charsets.LAT1_MAP, charsets.VT100_MAP, 0
            return
        x, y, style, self.g0_charset, self.g1_charset, self.charset, origin = self._saved
        (self.mode.add if origin else self.mode.discard)(modes.DECOM)
        self.cursor.x, self.cursor.y, self.cursor.attrs = x, y, style
        self.ensure_hbounds()
        self.ensure_vbounds()

    # -- the whole -----------------------------------------------------------------------------------------------------

    def erase_in_display(self, how: int = 0, *_: Any, **__: Any) -> None:
        if how == 3:
            self.history.clear()
        elif how in (0, 1, 2):
            super().erase_in_display(how)

    def erase_in_line(self, how: int = 0, private: bool = False) -> None:
        if how in (0, 1, 2):
            super().erase_in_line(how)

    def reset(self) -> None:
        super().reset()
        self.asked = {7, 25}
        self.keypad = False
        self._main = self._saved = None
        self.must_repaint = True

    def _alternate(self, on: bool) -> None:
        """The other screen, empty, and back to the one before as it was."""
        if on == (self._main is not None):
            return
        self.must_repaint = True
        if on:
            place = (self.cursor.x, self.cursor.y, self.cursor.attrs)
            self._main = (dict(self.buffer), place, self.columns, self.lines)
            self.buffer.clear()
            return
        assert self._main
        kept, place, columns, lines = self._main
        size = self.columns, self.lines
        self.buffer.clear()
        self.buffer.update(kept)
        self._main = None
        self.columns, self.lines = columns, lines
        self.cursor.x, self.cursor.y, self.cursor.attrs = place
        self.fit(*size)

    def fit(self, columns: int, rows: int) -> None:
        """Another size: lines below the cursor go first, then those at the top."""
        if (columns, rows) == (self.columns, self.lines):
            return
        lost = max(self.lines - rows, 0)
        self.margins = None
        for _ in range(max(lost - (self.lines - 1 - self.cursor.y), 0)):
            self._scroll(0, self.lines - 1)
            self.cursor.y -= 1
        for y in [y for y in self.buffer if y >= rows]:
            del self.buffer[y]
        for line in self.buffer.values():
            for x in [x for x in line if x >= columns]:
                del line[x]
        self.columns, self.lines = columns, rows
        self.tabstops = set(range(8, columns, 8))
        self.ensure_hbounds()
        self.ensure_vbounds()
        self.must_repaint = True


def _calls(method: Callable[..., None], most: int = 1) -> Callable[[Emulator, Token], str]:
    def call(screen: Emulator, token: Token) -> str:
        method(screen, *numbers(token.numbers)[:most])
        return token.text

    return call


def _moves(method: Callable[..., None], most: int = 1) -> Callable[[Emulator, Token], str]:
    def move(screen: Emulator, token: Token) -> str:
        screen.cursor.x = min(screen.cursor.x, screen.columns - 1)  # no wrap is due any more
        method(screen, *numbers(token.numbers)[:most])
        return token.text

    return move


_CONTROLS: Mapping[str, Callable[[Emulator], None]] = {
    "\b": Emulator.backspace, "\t": Emulator.tab, "\n": Emulator.linefeed, "\v": Emulator.linefeed,
    "\f": Emulator.linefeed, "\r": Emulator.carriage_return, "\x0e": Emulator.shift_out, "\x0f": Emulator.shift_in,
}  # fmt: skip


def _next_line(screen: Emulator) -> None:
    screen.carriage_return()
    screen.index()


def _keypad(on: bool) -> Callable[[Emulator], None]:
    def switch(screen: Emulator) -> None:
        screen.keypad = on

    return switch


_ESCAPES: Mapping[str, Callable[[Emulator], None]] = {
    "7": Emulator.save_cursor, "8": Emulator.restore_cursor, "D": Emulator.index, "E": _next_line,
    "M": Emulator.reverse_index, "H": Emulator.set_tab_stop, "c": Emulator.reset, "=": _keypad(True),
    ">": _keypad(False),
}  # fmt: skip
_SEQUENCES: Mapping[str, Callable[[Emulator, Token], str]] = {
    "A": _moves(Emulator.cursor_up), "B": _moves(Emulator.cursor_down), "e": _moves(Emulator.cursor_down),
    "C": _moves(Emulator.cursor_forward), "a": _moves(Emulator.cursor_forward), "D": _moves(Emulator.cursor_back),
    "E": _moves(Emulator.cursor_down1), "F": _moves(Emulator.cursor_up1), "G": _moves(Emulator.cursor_to_column),
    "`": _moves(Emulator.cursor_to_column), "d": _moves(Emulator.cursor_to_line),
    "H": _moves(Emulator.cursor_position, 2), "f": _moves(Emulator.cursor_position, 2),
    "J": _calls(Emulator.erase_in_display), "K": _calls(Emulator.erase_in_line),
    "?J": _calls(Emulator.erase_in_display), "?K": _calls(Emulator.erase_in_line),
    "L": _calls(Emulator.insert_lines), "M": _calls(Emulator.delete_lines), "P": _calls(Emulator.delete_characters),
    "@": _calls(Emulator.insert_characters), "X": _calls(Emulator.erase_characters),
    "S": _calls(Emulator.scroll_up), "T": _calls(Emulator.scroll_down), "I": _moves(Emulator.cursor_forward_tab),
    "Z": _moves(Emulator.cursor_back_tab), "b": _calls(Emulator.repeat), "g": _calls(Emulator.clear_tab_stop),
    "r": _calls(Emulator.set_margins, 2), "s": _calls(Emulator.save_cursor, 0), "u": _calls(Emulator.restore_cursor, 0),
    "m": Emulator._styled, "h": Emulator._plain_mode, "l": Emulator._plain_mode, "?h": Emulator._moded,
    "?l": Emulator._moded, "n": Emulator._report, "c": Emulator._identify, ">c": Emulator._identify,
    "!p": Emulator._soft_reset,
}  # fmt: skip
_TAKE: Mapping[str, Callable[[Emulator, Token], str]] = {
    sift.TEXT: Emulator._text, sift.CONTROL: Emulator._control, sift.STRING: Emulator._string,
    sift.ESCAPE: Emulator._escape, sift.CSI: Emulator._csi,
}  # fmt: skip
