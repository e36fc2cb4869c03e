"""Pictures of a dependency graph: lines for a terminal, Mermaid for a page, SVG for everything else.

Titles are text that agents wrote. None of it can leave its place: a terminal gets one line without controls, Mermaid
gets every character that its grammar, its Markdown or its HTML might notice as a number, SVG gets it escaped, and no
picture contains a script, a link or a style sheet. Arrows go from what must be done first to what waits for it.
Circular dependencies can not be drawn: text and SVG raise what `graph.order` raises.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from rookery.core import graph
from rookery.core.layout import Layout, Place, Sizes, layered
from rookery.core.record import NamedTuple
from rookery.core.text import ELLIPSIS, one_line

MARKS: Mapping[str, str] = {
    "blocked": "[-]",
    "pending": "[ ]",
    "in_progress": "[>]",
    "completed": "[x]",
    "failed": "[!]",
    "canceled": "[~]",
}
_UNKNOWN_MARK = "[?]"


class Node(NamedTuple):
    id: str
    title: str
    status: str
    holder: str = ""


class Paint(NamedTuple):
    fill: str
    line: str
    ink: str


# Soft fills; words have a contrast of at least 4.5 to 1 on them. Icons tell the statuses apart without any colour.
PAINTS: Mapping[str, Paint] = {
    "blocked": Paint("#f1f5f9", "#94a3b8", "#475569"),
    "pending": Paint("#eff6ff", "#60a5fa", "#1d4ed8"),
    "in_progress": Paint("#fffbeb", "#f59e0b", "#92400e"),
    "completed": Paint("#ecfdf5", "#34d399", "#047857"),
    "failed": Paint("#fef2f2", "#f87171", "#b91c1c"),
    "canceled": Paint("#fafafa", "#d4d4d8", "#71717a"),
    "other": Paint("#faf5ff", "#c084fc", "#7e22ce"),
}


def text(
    nodes: Sequence[Node],
    deps: graph.Deps,
    marks: Mapping[str, str] = MARKS,
    critical: Sequence[str] = (),
    width: int = 100,
) -> str:
    """The tasks in steps: what stands in one step can be done side by side once the steps before are done."""
    by_id, inner = _graph(nodes, deps)
    if not by_id:
        return "No tasks.\n"
    steps: dict[int, list[Node]] = {}
    for id, level in sorted(graph.levels(inner).items(), key=lambda item: item[1]):
        steps.setdefault(level, []).append(by_id[id])
    position = {id: place for place, id in enumerate(by_id)}
    wide = min(max(len(one_line(id, 24)) for id in by_id), 24)
    on_path = frozenset(critical)
    lines: list[str] = []
    for level, members in steps.items():
        lines.append(f"Step {level + 1}")
        for node in sorted(members, key=lambda node: position[node.id]):
            star = "*" if node.id in on_path else " "
            mark = marks.get(node.status, _UNKNOWN_MARK)
            lines.append(f"{star} {mark} {_row(node, inner[node.id], wide, width - 3 - len(mark))}")
    if critical:
        lines += ["", f"* critical path: {graph.show_cycle([one_line(id, 24) for id in critical])}"]
    return "\n".join(lines) + "\n"


def _row(node: Node, needs: Sequence[str], wide: int, width: int) -> str:
    """id, title, holder, dependencies; the title gives way first, but keeps 24 characters."""
    after = ", ".join(one_line(dep, 24) for dep in needs[:4])
    after += f" and {len(needs) - 4} more" if len(needs) > 4 else ""
    tail = (f"  @{one_line(node.holder, 24)}" if node.holder else "") + (f"  <- {after}" if after else "")
    title = one_line(node.title, max(width - wide - 2 - len(tail), 24))
    return f"{one_line(node.id, 24):<{wide}}  {title}{tail}"


def mermaid(nodes: Sequence[Node], deps: graph.Deps, critical: Sequence[str] = ()) -> str:
    """A flowchart. Names of nodes are ours (n0, n1 ...), so that no id can be a keyword."""
    by_id, inner = _graph(nodes, deps)
    names = {id: f"n{number}" for number, id in enumerate(by_id)}
    lines = ["flowchart LR"]
    for id, node in by_id.items():
        holder = f" @{one_line(node.holder, 24)}" if node.holder else ""
        label = f"{_mermaid(one_line(id, 24))}: {_mermaid(one_line(node.title, 60) + holder)}"
        lines.append(f'    {names[id]}["{label}"]:::{_painted(node.status)}')
    bold: list[int] = []
    pairs = set(pairwise(critical))
    edges = [(dep, id) for id, needs in inner.items() for dep in needs]
    for number, (dep, id) in enumerate(edges):
        lines.append(f"    {names[dep]} --> {names[id]}")
        bold += [number] if (dep, id) in pairs else []
    for status in dict.fromkeys(_painted(node.status) for node in by_id.values()):
        paint = PAINTS[status]
        lines.append(f"    classDef {status} fill:{paint.fill},stroke:{paint.line},color:{paint.ink}")
    if bold:
        lines.append(f"    linkStyle {','.join(map(str, bold))} stroke:{_CRITICAL},stroke-width:3px")
    return "\n".join(lines) + "\n"


def _mermaid(label: str) -> str:
    """Letters, digits, spaces and a few marks stay; the rest becomes `#NUMBER;`, which Mermaid shows as the character.

    The first character too unless it is a letter or digit, because a label may be read as Markdown.
    """

    def stays(place: int, c: str) -> bool:
        if c == ".":
            return label[place + 1 : place + 2].isalnum()  # `1.2`, but not `1. `, which would be a list
        return c.isalnum() or (place > 0 and c in " _,-/'()")

    return "".join(c if stays(place, c) else f"#{ord(c)};" for place, c in enumerate(label))


# --- SVG --------------------------------------------------------------------------------------------------------------

_BOX_WIDTH, _COLUMN_GAP, _MARGIN, _HEADER = 248, 76, 28, 58
_SIZES = Sizes(box=72.0, gap=20.0, lane=6.0)
_TITLE_CELLS, _HEADER_CELLS = 31, 34  # how many letters fit, estimated for a wide font; what does not is clipped
_INK, _PALE, _ARROW, _CRITICAL = "#0f172a", "#5b6879", "#94a3b8", "#6d28d9"
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
_MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"

# Drawn in a box of 14 by 14, so that a status can be told without its colour.
_ICONS: Mapping[str, str] = {
    "blocked": '<circle cx="7" cy="7" r="6"/><path d="M4 7h6"/>',
    "pending": '<circle cx="7" cy="7" r="6"/>',
    "in_progress": '<circle cx="7" cy="7" r="6"/><path d="M5.5 4.3l4 2.7-4 2.7z" fill="currentColor"/>',
    "completed": '<circle cx="7" cy="7" r="6"/><path d="M4.2 7.2l2 2 3.6-4.2"/>',
    "failed": '<circle cx="7" cy="7" r="6"/><path d="M5 5l4 4M9 5l-4 4"/>',
    "canceled": '<circle cx="7" cy="7" r="6"/><path d="M2.8 11.2l8.4-8.4"/>',
    "other": '<circle cx="7" cy="7" r="6"/><path d="M7 4v3.4M7 9.8v.2"/>',
}


def svg(nodes: Sequence[Node], deps: graph.Deps, critical: Sequence[str] = ()) -> str:
    """Boxes in columns from left to right, coloured by status, the critical path in violet, a legend above."""
    by_id, inner = _graph(nodes, deps)
    pairs = set(pairwise(critical))
    layout = layered(inner, pairs, _SIZES)
    on_path = frozenset(critical)
    boxes = [_box(at, by_id[at.task], at.task in on_path) for at in layout.places if at.task is not None]
    legend, legend_width = _legend(list(by_id.values()), bool(pairs))
    columns_width = layout.columns * (_BOX_WIDTH + _COLUMN_GAP) - _COLUMN_GAP
    width = 2 * _MARGIN + max(columns_width, legend_width)
    height = _HEADER + layout.height + _MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{_n(height)}"'
            f' viewBox="0 0 {width:g} {_n(height)}" role="img" aria-label="Dependencies of {len(by_id)} tasks"'
            f' font-family="{_FONT}" font-size="13">',
            "<desc>Arrows go from a task to what waits for it; those that follow from others are left out.</desc>",
            "<defs>",
            _arrowhead("arrow", _ARROW),
            _arrowhead("critical", _CRITICAL),
            "</defs>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            legend,
            f'<g transform="translate({_MARGIN} {_HEADER})">',
            *_arrows(layout, pairs),
            *boxes,
            "</g>",
            "</svg>",
            "",
        ]
    )


def _arrowhead(name: str, colour: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9"'
        f' markerUnits="userSpaceOnUse" orient="auto"><path d="M0 1l9 4-9 4z" fill="{colour}"/></marker>'
    )


def _arrows(layout: Layout, pairs: set[tuple[str, str]]) -> Iterator[str]:
    """Every piece once, however many arrows share it; the critical ones last, over the others."""
    pieces: dict[bool, dict[str, None]] = {False: {}, True: {}}
    for (start, end), edges in layout.segments.items():
        bold = not pairs.isdisjoint(edges)
        first, last = layout.places[start], layout.places[end]
        head = f' marker-end="url(#{"critical" if bold else "arrow"})"' if last.task is not None else ""
        pieces[bold][f'<path d="{_curve(first, last)}"{head}/>'] = None
        if last.task is None:
            pieces[bold][f'<path d="M{_left(last):g} {_n(last.middle)}h{_BOX_WIDTH}"/>'] = None
    for bold, colour, thick in ((False, _ARROW, 1.4), (True, _CRITICAL, 2.6)):
        if pieces[bold]:
            yield f'<g fill="none" stroke="{colour}" stroke-width="{thick}">'
            yield from pieces[bold]
            yield "</g>"


def _curve(first: Place, last: Place) -> str:
    """From the right side of one place to the left side of the other."""
    start, end = _left(first) + _BOX_WIDTH, _left(last) - (0 if last.task is None else 1)
    bend = (end - start) * 0.5
    a, b = _n(first.middle), _n(last.middle)
    return f"M{start:g} {a}C{start + bend:g} {a} {end - bend:g} {b} {end:g} {b}"


def _left(place: Place) -> float:
    return place.column * (_BOX_WIDTH + _COLUMN_GAP)


def _box(place: Place, node: Node, critical: bool) -> str:
    """A picture within the picture, because that clips what a font makes wider than expected."""
    status = _painted(node.status)
    paint = PAINTS[status]
    width, height = _BOX_WIDTH, _SIZES.box
    line, thick = (_CRITICAL, 2.5) if critical else (paint.line, 1.3)
    dashes = ' stroke-dasharray="5 4"' if status == "canceled" and not critical else ""
    strike = ' text-decoration="line-through"' if status == "canceled" else ""
    id = _cut(node.id, 16)
    said = _cut(node.holder or _said(node.status), _HEADER_CELLS - _cells(id))
    titles = _wrapped(node.title, _TITLE_CELLS)
    first = 46 if len(titles) > 1 else 52
    return "".join(
        [
            f'<svg x="{_left(place) - 2:g}" y="{_n(place.middle - height / 2 - 2)}"',
            f' width="{width + 4}" height="{height + 4:g}">',
            f"<title>{_xml(_tooltip(node))}</title>",
            f'<rect x="2" y="2" width="{width}" height="{height:g}" rx="9" fill="{paint.fill}" stroke="{line}"'
            f' stroke-width="{thick}"{dashes}/>',
            _icon(status, paint, 14, 13),
            f'<text x="34" y="24" font-family="{_MONO}" font-size="11" fill="{_PALE}">{_xml(id)}</text>',
            f'<text x="{width - 10}" y="24" text-anchor="end" font-size="11" font-weight="600" fill="{paint.ink}">',
            f"{_xml(said)}</text>",
            *(
                f'<text x="14" y="{first + 17 * row}" fill="{_PALE if strike else _INK}"{strike}>{_xml(title)}</text>'
                for row, title in enumerate(titles)
            ),
            "</svg>",
        ]
    )


def _icon(status: str, paint: Paint, x: float, y: float) -> str:
    return (
        f'<g transform="translate({x:g} {y:g})" color="{paint.ink}" fill="none" stroke="{paint.ink}" stroke-width="1.5"'
        f' stroke-linecap="round" stroke-linejoin="round">{_ICONS[status]}</g>'
    )


def _legend(nodes: Sequence[Node], path: bool) -> tuple[str, float]:
    """How many of each status there are, and what violet means; with the width it takes."""
    counts: dict[str, int] = dict.fromkeys(PAINTS, 0)
    for node in nodes:
        counts[_painted(node.status)] += 1
    parts: list[str] = []
    x = 0.0
    for status, count in counts.items():
        if count:
            said = f"{count} {_said(status)}"
            parts.append(_icon(status, PAINTS[status], x, 0))
            parts.append(f'<text x="{x + 21:g}" y="11.5" fill="{PAINTS[status].ink}">{said}</text>')
            x += 21 + 7.6 * len(said) + 22
    if path:
        parts.append(f'<path d="M{x:g} 7h26" stroke="{_CRITICAL}" stroke-width="2.6" marker-end="url(#critical)"/>')
        parts.append(f'<text x="{x + 35:g}" y="11.5" fill="{_CRITICAL}">critical path</text>')
        x += 35 + 7.6 * 13
    if not parts:
        parts.append(f'<text y="11.5" fill="{_PALE}">No tasks.</text>')
        x = 80.0
    return f'<g transform="translate({_MARGIN} 22)">{"".join(parts)}</g>', round(x)


def _tooltip(node: Node) -> str:
    holder = f", held by {one_line(node.holder, 60)}" if node.holder else ""
    return f"{one_line(node.id, 100)}: {one_line(node.title, 300)} ({one_line(_said(node.status), 40)}{holder})"


# --- shared -----------------------------------------------------------------------------------------------------------


def _graph(nodes: Sequence[Node], deps: graph.Deps) -> tuple[dict[str, Node], dict[str, list[str]]]:
    """The nodes by id, and the dependencies among them."""
    by_id = {node.id: node for node in nodes}
    return by_id, {id: [dep for dep in dict.fromkeys(deps.get(id, ())) if dep in by_id] for id in by_id}


def _painted(status: str) -> str:
    return status if status in PAINTS else "other"


def _said(status: str) -> str:
    return status.replace("_", " ")


def _n(number: float) -> str:
    return f"{round(number, 1):g}"


def _xml(value: str) -> str:
    """Escaped for content and attributes. U+FFFE and U+FFFF are no characters of XML, not even escaped."""
    for char, escape in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        value = value.replace(char, escape)
    return value.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")


def _cells(value: str) -> int:
    """How wide a text is, in letters."""
    if value.isascii():
        return len(value)
    import unicodedata

    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in value)


def _cut(value: str, cells: int) -> str:
    line = one_line(value, 400)
    if _cells(line) <= cells:
        return line
    while line and _cells(line) > cells - 1:
        line = line[:-1]
    return line.rstrip() + ELLIPSIS


def _wrapped(title: str, cells: int) -> list[str]:
    """At most two lines."""
    line = one_line(title, 400)
    if _cells(line) <= cells:
        return [line]
    first = ""
    for word in line.split(" "):
        if _cells(f"{first} {word}".strip()) > cells:
            break
        first = f"{first} {word}".strip()
    if _cells(first) < cells // 3:  # one long word, or a language without spaces
        first = _cut(line, cells + 1).removesuffix(ELLIPSIS)
    return [first, _cut(line[len(first) :].strip(), cells)]
