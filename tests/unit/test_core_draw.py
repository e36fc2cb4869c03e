"""Pictures: every task and arrow is there, nothing overlaps, and no title leaves its place."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import draw, graph, layout
from rookery.core.draw import Node
from rookery.core.errors import BadInput
from rookery.core.layout import Sizes, layered

SVG = "{http://www.w3.org/2000/svg}"
SIZES = Sizes(box=72.0, gap=20.0, lane=6.0)
HOSTILE = [
    "</text><script>alert(1)</script>",
    '"]; click n0 href "javascript:alert(1)"',
    '%%{init: {"securityLevel": "loose"}}%%',
    "]]>&amp;<!--",
    "' onload='alert(1)",
    "`**markdown**`",
    "1. a list",
    "#quot;#35;",
    "a\nn9 --> n0",
    "\x1b[2J\x07\u202e\u2028end",
    "\ud800 \ufffe \uffff \x00",
    "e\u0301 日本語 👩‍🔧",
    "",
]

Deps = dict[str, list[str]]


@st.composite
def plans(draw: st.DrawFn) -> Deps:
    size = draw(st.integers(0, 25))
    return {
        str(number): [str(dep) for dep in draw(st.lists(st.integers(0, number - 1), max_size=4))] if number else []
        for number in range(size)
    }


def nodes_of(deps: Deps) -> list[Node]:
    statuses = list(draw.PAINTS)
    return [Node(id, f"Task {id}", statuses[n % len(statuses)]) for n, id in enumerate(deps)]


def hostile() -> list[Node]:
    return [Node(f"{number}{text}", text, text, text) for number, text in enumerate(HOSTILE)]


# --- layout -----------------------------------------------------------------------------------------------------------


@given(plans())
def test_arrows_go_right_and_boxes_keep_their_distance(deps: Deps) -> None:
    result = layered(deps, (), SIZES)
    at = {place.task: place for place in result.places if place.task is not None}
    assert set(at) == set(deps)
    assert all(at[dep].column < at[task].column for task in deps for dep in deps[task])
    columns: dict[int, list[layout.Place]] = {}
    for place in result.places:
        columns.setdefault(place.column, []).append(place)
    for places in columns.values():
        for upper, lower in pairwise(sorted(places, key=lambda place: place.middle)):
            heights = sum(SIZES.lane if place.task is None else SIZES.box for place in (upper, lower))
            assert lower.middle - upper.middle >= heights / 2 + 0.7 * SIZES.gap - 1e-6
    assert all(SIZES.lane / 2 <= place.middle + 1e-6 <= result.height for place in result.places)


@given(plans())
def test_arrows_that_follow_from_others_are_left_out_and_nothing_else(deps: Deps) -> None:
    result = layered(deps, (), SIZES)
    drawn: Deps = {task: [] for task in deps}
    for edge in {edge for edges in result.segments.values() for edge in edges}:
        drawn[edge[1]].append(edge[0])
    for task in deps:
        assert set(graph.ancestors(drawn, task)) == set(graph.ancestors(deps, task))
        # Without any one of them, something would be missing.
        for dep in drawn[task]:
            fewer = drawn | {task: [other for other in drawn[task] if other != dep]}
            assert dep not in graph.ancestors(fewer, task)


@given(plans())
def test_every_arrow_is_a_connected_way_from_column_to_column(deps: Deps) -> None:
    result = layered(deps, (), SIZES)
    for (first, last), edges in result.segments.items():
        assert result.places[last].column == result.places[first].column + 1
        for dep, task in edges:
            steps = {a: b for (a, b), users in result.segments.items() if (dep, task) in users}
            place = next(number for number, at in enumerate(result.places) if at.task == dep)
            while place in steps:
                place = steps.pop(place)
            assert (result.places[place].task, steps) == (task, {})


def test_an_arrow_of_the_critical_path_is_kept() -> None:
    deps: Deps = {"a": [], "b": ["a"], "c": ["b", "a"]}
    edges = {edge for users in layered(deps, [("a", "c")], SIZES).segments.values() for edge in users}
    assert edges == {("a", "b"), ("b", "c"), ("a", "c")}


def test_a_wide_plan_is_folded_rather_than_high() -> None:
    deps: Deps = {str(number): [] for number in range(499)} | {"goal": [str(number) for number in range(499)]}
    result = layered(deps, (), SIZES)
    assert result.columns > 10
    assert result.height < 40 * (SIZES.box + SIZES.gap)


def test_beyond_what_can_be_ordered_arrows_go_straight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "_PLACES_LIMIT", 4)
    deps: Deps = {"a": [], "b": ["a"], "c": ["b"], "d": ["c"], "e": [], "f": ["d", "e"]}
    assert "<path" in draw.svg(nodes_of(deps), deps)
    assert all(place.task is not None for place in layered(deps, (), SIZES).places)


# --- text -------------------------------------------------------------------------------------------------------------


def test_text_shows_steps_marks_holders_and_the_critical_path() -> None:
    nodes = [
        Node("lexer", "Write the lexer", "completed"),
        Node("parser", "Write the parser", "in_progress", "SwiftRaven"),
        Node("docs", "Document it", "pending"),
        Node("ship", "Ship", "blocked"),
    ]
    deps = {"parser": ["lexer"], "docs": ["lexer", "outside"], "ship": ["parser", "docs"]}
    assert draw.text(nodes, deps, critical=["parser", "ship"]) == (
        "Step 1\n"
        "  [x] lexer   Write the lexer\n"
        "Step 2\n"
        "* [>] parser  Write the parser  @SwiftRaven  <- lexer\n"
        "  [ ] docs    Document it  <- lexer\n"
        "Step 3\n"
        "* [-] ship    Ship  <- parser, docs\n"
        "\n"
        "* critical path: parser -> ship\n"
    )
    assert "\n  todo docs " in draw.text(nodes, deps, marks={"pending": "todo"})
    assert draw.text([], {}) == "No tasks.\n"


@given(plans(), st.integers(40, 120))
def test_text_has_a_line_for_every_task_after_its_dependencies(deps: Deps, width: int) -> None:
    lines = draw.text(nodes_of(deps), deps, width=width).splitlines()
    place = {found[1]: number for number, line in enumerate(lines) if (found := re.match(r". \[.\] (\d+) ", line))}
    assert set(place) == set(deps)
    assert all(place[dep] < place[task] for task in deps for dep in deps[task])


def test_a_terminal_gets_nothing_but_printable_lines() -> None:
    nodes = hostile()
    shown = draw.text(nodes, {nodes[1].id: [node.id for node in nodes if node is not nodes[1]]})
    assert len(shown.splitlines()) == len(nodes) + 2
    assert not set(shown) & {"\x1b", "\x07", "\x00", "\u202e", "\u2028", "\ud800"}


# --- Mermaid ----------------------------------------------------------------------------------------------------------

LABEL = r"(?:[^\W]|[ _,\-/'().:]|\#[0-9]+;)*"
MERMAID = re.compile(
    rf"""
      flowchart\ LR
    | \ {{4}}n[0-9]+\["{LABEL}"\]:::[a-z_]+
    | \ {{4}}n[0-9]+\ -->\ n[0-9]+
    | \ {{4}}classDef\ [a-z_]+\ fill:\#[0-9a-f]{{6}},stroke:\#[0-9a-f]{{6}},color:\#[0-9a-f]{{6}}
    | \ {{4}}linkStyle\ [0-9,]+\ stroke:\#[0-9a-f]{{6}},stroke-width:3px
    """,
    re.VERBOSE,
)


def test_mermaid() -> None:
    nodes = [
        Node("a", "First: do it", "completed"),
        Node("b", "Second", "strange", "Raven"),
        Node("c", "Third", "pending"),
    ]
    assert draw.mermaid(nodes, {"b": ["a", "gone"], "c": ["a"]}, ["a", "c"]).splitlines() == [
        "flowchart LR",
        '    n0["a: First#58; do it"]:::completed',
        '    n1["b: Second #64;Raven"]:::other',
        '    n2["c: Third"]:::pending',
        "    n0 --> n1",
        "    n0 --> n2",
        "    classDef completed fill:#ecfdf5,stroke:#34d399,color:#047857",
        "    classDef other fill:#faf5ff,stroke:#c084fc,color:#7e22ce",
        "    classDef pending fill:#eff6ff,stroke:#60a5fa,color:#1d4ed8",
        "    linkStyle 1 stroke:#6d28d9,stroke-width:3px",
    ]


def assert_sound(picture: str, count: int) -> None:
    lines = picture.splitlines()
    assert all(MERMAID.fullmatch(line) for line in lines), lines
    assert sum('["' in line for line in lines) == count
    # The signs with which Mermaid itself replaces numbers can not be written by a title, nor can an icon or a list.
    assert not re.search(r"[°¶]|fa:fa-|[0-9]\. ", picture)


def test_no_title_can_leave_its_place_in_mermaid() -> None:
    nodes = hostile()
    assert_sound(draw.mermaid(nodes, {nodes[1].id: [nodes[0].id]}), len(nodes))


@given(st.text(), st.text(), st.text())
def test_no_text_at_all_can_leave_its_place_in_mermaid(id: str, title: str, holder: str) -> None:
    assert_sound(draw.mermaid([Node(id, title, title, holder)], {}), 1)


# --- SVG --------------------------------------------------------------------------------------------------------------

ELEMENTS = {"svg", "title", "desc", "defs", "marker", "path", "rect", "circle", "g", "text"}


def parsed(picture: str) -> ElementTree.Element:
    """The picture, which contains nothing that acts, loads or styles."""
    tree = ElementTree.fromstring(picture.encode())
    for element in tree.iter():
        assert element.tag.removeprefix(SVG) in ELEMENTS
        assert not any(name.startswith("on") or name in ("href", "style", "class") for name in element.attrib)
    return tree


def boxes(tree: ElementTree.Element) -> list[ElementTree.Element]:
    return list(tree.iter(f"{SVG}svg"))[1:]


@pytest.mark.slow
@given(plans())
def test_svg_has_a_box_for_every_task_within_its_bounds(deps: Deps) -> None:
    critical = graph.critical_path(deps, lambda _: 1, lambda _: True)
    picture = draw.svg(nodes_of(deps), deps, critical)
    assert picture == draw.svg(nodes_of(deps), deps, critical)
    tree = parsed(picture)
    assert len(boxes(tree)) == len(deps)
    width, height = float(tree.attrib["width"]), float(tree.attrib["height"])
    for box in boxes(tree):
        assert 0 <= float(box.attrib["x"]) + 28 <= width - float(box.attrib["width"])
        assert 0 <= float(box.attrib["y"]) + 58 <= height - float(box.attrib["height"])
    bold = [path for path in tree.iter(f"{SVG}path") if path.get("marker-end") == "url(#critical)"]
    assert len(bold) == (len(critical) if len(critical) > 1 else 0)  # one for each step, one in the legend


def test_no_title_can_leave_its_place_in_svg() -> None:
    nodes = hostile()
    tree = parsed(draw.svg(nodes, {nodes[1].id: [nodes[0].id]}, [nodes[0].id, nodes[1].id]))
    assert len(boxes(tree)) == len(nodes)
    titles = [box.findtext(f"{SVG}title") or "" for box in boxes(tree)]
    assert any("</text><script>alert(1)</script>" in title for title in titles)


@given(st.text(), st.text())
def test_any_text_makes_a_picture(id: str, title: str) -> None:
    assert len(boxes(parsed(draw.svg([Node(id, title, title, title)], {})))) == 1


def test_the_legend_counts_and_an_empty_plan_says_so() -> None:
    nodes = [Node("a", "A", "completed"), Node("b", "B", "completed"), Node("c", "C", "odd")]
    words = [text.text for text in parsed(draw.svg(nodes, {})).iter(f"{SVG}text")]
    assert {"2 completed", "1 other"} <= set(words)
    assert "critical path" not in words
    assert [text.text for text in parsed(draw.svg([], {})).iter(f"{SVG}text")] == ["No tasks."]


def test_a_long_title_is_wrapped_and_cut() -> None:
    for title in ("many words " * 20, "x" * 300, "日本語" * 60):
        tree = parsed(draw.svg([Node("a", title, "pending")], {}))
        lines = [text.text or "" for text in boxes(tree)[0].iter(f"{SVG}text")][2:]
        assert len(lines) == 2
        assert lines[1].endswith("…")
        assert all(len(line) <= 31 for line in lines)


@pytest.mark.slow
def test_five_hundred_tasks_are_drawn() -> None:
    deps: Deps = {str(n): [str(n - step) for step in (1, 7, 40) if n % 5 and n >= step] for n in range(500)}
    assert len(boxes(parsed(draw.svg(nodes_of(deps), deps)))) == 500


def test_a_circular_plan_is_refused() -> None:
    nodes = [Node("a", "A", "pending"), Node("b", "B", "pending")]
    for picture in (draw.text, draw.svg):
        with pytest.raises(BadInput, match="a -> b -> a"):
            picture(nodes, {"a": ["b"], "b": ["a"]})
