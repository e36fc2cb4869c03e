"""A screen as text that draws it in another terminal, from whatever state that one is in."""

from collections.abc import Mapping, Sequence

from pyte import charsets, graphics, modes
from pyte.screens import Char

from .screen import BLANK as BLANK_CELL
from .screen import Emulator

# Whatever was begun is given up; then the state that drawing starts from.
BLANK = "\x18\x1b\\\x1b[?2026l\x1b[m\x1b[r\x1b[?6l\x1b[4l\x1b[?7h\x1b(B\x1b)B\x0f\x1b[H\x1b[2J"
_FRONT: Mapping[str, int] = {name: code for code, name in (graphics.FG_ANSI | graphics.FG_AIXTERM).items()}
_BACK: Mapping[str, int] = {name: code for code, name in (graphics.BG_ANSI | graphics.BG_AIXTERM).items()}
_NAMES = {id(charsets.VT100_MAP): "0"}


def whole(screen: Emulator) -> str:
    parts = [BLANK]
    for y in range(screen.lines):
        if row := screen.buffer.get(y):
            parts.append(f"\x1b[{y + 1};1H{_row(screen.cells_of(row))}")
    return "".join([*parts, "\x1b[m", _state(screen)])


def _row(cells: Sequence[Char]) -> str:
    style, parts = BLANK_CELL, ["\x1b[m"]
    for cell in cells:
        if cell._replace(data=" ") != style:
            style = cell._replace(data=" ")
            parts.append(_style(style))
        parts.append(cell.data)
    return "".join(parts)


def _style(style: Char) -> str:
    told = {"bold": 1, "blink": 2, "italics": 3, "underscore": 4, "reverse": 7, "strikethrough": 9}
    codes = ["0", *(str(code) for name, code in told.items() if getattr(style, name))]
    codes += [*_colour(style.fg, _FRONT, 38), *_colour(style.bg, _BACK, 48)]
    return f"\x1b[{';'.join(codes)}m"


def _colour(name: str, named: Mapping[str, int], many: int) -> list[str]:
    if name == "default":
        return []
    if name in named:
        return [str(named[name])]
    return [str(many), "2", *(str(int(name[at : at + 2], 16)) for at in (0, 2, 4))]


def _state(screen: Emulator) -> str:
    """Everything besides the cells that what comes next depends on."""
    parts = [f"\x1b[{screen.margins.top + 1};{screen.margins.bottom + 1}r" if screen.margins else ""]
    parts += [f"\x1b[?{mode}{'h' if mode in screen.asked else 'l'}" for mode in (1, 5, 7, 25)]
    parts += [f"\x1b[?{mode}h" for mode in sorted(screen.asked - {1, 5, 7, 25, 2026})]
    parts.append("\x1b[4h" if modes.IRM in screen.mode else "")
    parts.append("\x1b=" if screen.keypad else "\x1b>")
    parts.append(f"\x1b({_NAMES.get(id(screen.g0_charset), 'B')}\x1b){_NAMES.get(id(screen.g1_charset), 'B')}")
    parts.append("\x0e" if screen.charset else "\x0f")
    column, row = screen.spot
    parts.append(f"\x1b[{row + 1};{column + 1}H")
    if modes.DECOM in screen.mode and screen.margins:
        parts.append(f"\x1b[?6h\x1b[{row - screen.margins.top + 1};{column + 1}H")
    return "".join([*parts, _style(screen.cursor.attrs)])
