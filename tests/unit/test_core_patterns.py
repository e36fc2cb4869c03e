"""Patterns: every answer is compared with regular expressions tried on all paths of a small world.

The two worlds (names; paths) are large enough to hold the shortest common example of any two of their patterns, so
there `overlap` must equal "some path of the world matches both" exactly, and every pair is tried.
"""

import re
import sys
from collections.abc import Callable
from functools import cache
from itertools import product
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rookery.core.errors import BadInput
from rookery.core.patterns import Pattern, covers, lineage, overlap, parse, root, within, witness

# --- the reference: a regular expression over a path written as /name/name --------------------------------------------

ANY_DEPTH = r"(?:/[^/]+)*"


@cache
def reference(text: str) -> re.Pattern[str]:
    names = [name for name in text.split("/") if name not in ("", ".")]
    made = ""
    for name in names:
        if name == "**":
            made += ANY_DEPTH
        else:
            made += "/(?=[^/])" + re.escape(name).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
    if not names or text.endswith("/") or not set("*?") & set(names[-1]):
        made += ANY_DEPTH
    return re.compile(made, re.DOTALL)


def matches(text: str, path: str) -> bool:
    return (
        reference(text).fullmatch("".join(f"/{name}" for name in path.split("/") if name not in ("", "."))) is not None
    )


def rows(items: str | list[str], longest: int, shortest: int = 1) -> list[tuple[str, ...]]:
    return [row for length in range(shortest, longest + 1) for row in product(items, repeat=length)]


def real(name: str) -> bool:
    return name not in (".", "..")


def mask(text: str, world: list[str]) -> int:
    return sum(1 << i for i, path in enumerate(world) if matches(text, path))


def check_every_pair(texts: list[str], world: list[str]) -> None:
    made = [(text, parse(text), mask(text, world)) for text in texts]
    for text, pattern, expected in made:
        assert sum(1 << i for i, path in enumerate(world) if covers(pattern, path)) == expected, text
    for i, (text, a, mask_a) in enumerate(made):
        for other, b, mask_b in made[i:]:
            assert overlap(a, b) == bool(mask_a & mask_b), (text, other)


@pytest.mark.slow
def test_every_pair_of_short_names() -> None:
    globs = [glob for glob in map("".join, rows("ab.*?", 3)) if real(glob) and "**" not in glob]
    check_every_pair(globs, [name for name in map("".join, rows("ab.", 4)) if real(name)])


@pytest.mark.slow
def test_every_pair_of_short_paths() -> None:
    texts = ["/".join(row) for row in rows(["a", "b", "*", "**"], 3)]
    texts += [f"{text}/" for text in texts if text.endswith("*")] + ["."]
    check_every_pair(texts, ["/".join(row) for row in rows("ab", 5, shortest=0)])


# --- larger ones, by chance -------------------------------------------------------------------------------------------

names = st.text("aAb.", min_size=1, max_size=3).filter(real)
paths = st.lists(st.one_of(names, st.sampled_from(["*", "a?", "**", "a b", "\x01", "\n"])), max_size=4).map("/".join)
globs = st.text("aAb.*?", min_size=1, max_size=5).filter(lambda glob: real(glob) and "**" not in glob)
texts = st.builds(
    lambda segments, end: "/".join(segments) + end,
    st.lists(st.one_of(globs, names, st.just("**")), min_size=1, max_size=5),
    st.sampled_from(["", "/"]),
)
patterns = texts.map(parse)


@given(texts, paths)
@example("*", "*")
@example("a", "?")
@example("**", "")
def test_covers_agrees_with_the_reference(text: str, path: str) -> None:
    assert covers(parse(text), path) == matches(text, path)


@given(texts, paths)
def test_covers_without_case_agrees_with_the_reference(text: str, path: str) -> None:
    assert covers(parse(text), path, fold=True) == matches(text.lower(), path.lower())


@given(texts, texts)
def test_an_overlap_has_a_witness_and_a_gap_has_none(text_a: str, text_b: str) -> None:
    a, b = parse(text_a), parse(text_b)
    found = witness(a, b)
    assert overlap(a, b) == overlap(b, a) == (found is not None) == (witness(b, a) is not None)
    if found is not None:
        assert matches(text_a, found)
        assert matches(text_b, found)
        assert covers(a, found)
        assert covers(b, found)
        assert overlap(a, b, fold=True)


@given(texts, texts)
def test_overlap_without_case_is_overlap_in_lower_case(text_a: str, text_b: str) -> None:
    a, b = parse(text_a), parse(text_b)
    found = witness(a, b, fold=True)
    assert overlap(a, b, fold=True) == (found is not None) == overlap(parse(text_a.lower()), parse(text_b.lower()))
    if found is not None:
        assert covers(a, found, fold=True)
        assert covers(b, found, fold=True)


@given(patterns, patterns, paths)
def test_a_path_under_both_is_an_overlap(a: Pattern, b: Pattern, path: str) -> None:
    for fold in (False, True):
        if covers(a, path, fold=fold) and covers(b, path, fold=fold):
            assert overlap(a, b, fold=fold)


@given(patterns, patterns, paths)
def test_what_lies_within_is_covered(a: Pattern, b: Pattern, path: str) -> None:
    if within(a, b) and covers(a, path):
        assert covers(b, path)


def test_within_never_invents_a_pair_of_short_paths() -> None:
    texts = ["/".join(row) for row in rows(["a", "*", "**", "a*"], 3)]
    world = ["/".join(row) for row in rows(["a", "ab", "b"], 4)]
    masks = {text: mask(text, world) for text in texts}
    found = 0
    for one, other in product(texts, texts):
        if within(parse(one), parse(other)):
            found += 1
            assert masks[one] & ~masks[other] == 0, (one, other)
    assert found > len(texts), "more than each in itself"


@pytest.mark.parametrize(
    ("inner", "outer", "expected"),
    [("src/x.py", "src/", True), ("src/*.py", "src", True), ("src/a/**", "src/**", True), ("src/x", "src/x", True),
     (".", "src/", False), ("src/", "src/x.py", False), ("src/x.py", "src/*.py", False), ("src/a", "**", True)],
)  # fmt: skip
def test_within(inner: str, outer: str, expected: bool) -> None:
    assert within(parse(inner), parse(outer)) is expected


@given(patterns)
def test_a_pattern_overlaps_itself(a: Pattern) -> None:
    assert overlap(a, a)
    assert overlap(a, parse("**"))
    assert overlap(a, parse("."), fold=True)


@given(patterns)
def test_what_is_shown_means_the_same(a: Pattern) -> None:
    assert parse(a.text) == a


# --- roots ------------------------------------------------------------------------------------------------------------


@given(patterns, patterns)
def test_overlapping_patterns_have_roots_in_one_line(a: Pattern, b: Pattern) -> None:
    if overlap(a, b):
        assert root(a) in lineage(root(b)) or root(b) in lineage(root(a))
    if overlap(a, b, fold=True):
        first, second = root(a).casefold(), root(b).casefold()
        assert first in lineage(second) or second in lineage(first)


@given(patterns, paths)
def test_a_covered_path_descends_from_the_root(a: Pattern, path: str) -> None:
    if covers(a, path):
        assert root(a) in lineage(path)
    if covers(a, path, fold=True):
        assert root(a).casefold() in lineage(path.casefold())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("src/api/*.py", "src/api"),
        ("src/io/", "src/io"),
        ("src/io/x.py", "src/io/x.py"),
        ("src/**/x.py", "src"),
        ("a/b?/c", "a"),
        ("**", ""),
        (".", ""),
        ("*.py", ""),
    ],
)
def test_root(text: str, expected: str) -> None:
    assert root(parse(text)) == expected


def test_lineage() -> None:
    assert lineage("src/io/x") == ["src/io/x", "src/io", "src", ""]
    assert lineage("") == lineage(".") == [""]


# --- by example -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("src/io/", "src/io src/io/x src/io/x/y", "src src/iox src/i"),
        ("src/io", "src/io src/io/x/y", "src src/iox"),
        ("src/*.py", "src/a.py src/.py src/a.b.py", "src/a.pyc src/x/a.py src/a.py/b a.py"),
        ("src/*/", "src/a src/a/b/c src/.git", "src"),
        ("src/*", "src/a", "src src/a/b"),
        ("src/**", "src src/a src/a/b", "srcx"),
        ("src/**/t_?.py", "src/t_1.py src/a/b/t_x.py", "src/t_.py src/t_12.py t_1.py src/t_1.py/x"),
        ("**/docs", "docs a/docs a/docs/x", "docsx a/xdocs"),
        ("**/a/*/b/**/c?", "a/x/b/cc q/a/a/x/b/y/z/cd", "a/b/cc a/x/b/c"),
        ("app/[slug]/page.tsx", "app/[slug]/page.tsx", "app/s/page.tsx"),
        ("{a,b}", "{a,b}", "a b"),
        ("!a", "!a !a/b", "a b"),
        ("ä/ü?", "ä/üß", "ä/ü ä/u\u0308 a/üß"),
        (".", ". a a/b", ""),
    ],
)
def test_what_is_covered(text: str, inside: str, outside: str) -> None:
    pattern = parse(text)
    assert [path for path in inside.split() if not covers(pattern, path)] == []
    assert [path for path in outside.split() if covers(pattern, path)] == []


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("a*b", "*c?b", "axcxb"),
        ("src/*.py", "src/a*", "src/ax.py"),
        ("src/io/", "src/io/x.py", "src/io/x.py"),
        ("src/io", "src/*/x.py", "src/io/x.py"),
        ("src/*", "src/io/x.py", None),
        ("**/x.py", "src/**", "src/x.py"),
        ("a/**/b", "c/**/b", None),
        ("*.py", "*.pyc", None),
        ("?", ".*", None),  # only `.` would match both
        ("?.", ".?", None),  # only `..`
        ("?.", "*.*", "x."),  # not `..`, where the dot is found first
        ("*", "?", "x"),
        ("**", ".", "."),
    ],
)
def test_witness(a: str, b: str, expected: str | None) -> None:
    assert witness(parse(a), parse(b)) == expected


def test_case_is_ignored_character_by_character() -> None:
    assert not covers(parse("README.md"), "readme.MD")
    assert covers(parse("README.md"), "readme.MD", fold=True)
    assert overlap(parse("Src/*.py"), parse("sRC/A*"), fold=True)
    assert covers(parse("ß"), "ẞ", fold=True)
    assert covers(parse("ΟΔΟΣ"), "οδος", fold=True)  # the final sigma has no capital of its own
    assert covers(parse("?"), "ß", fold=True)  # its casefold has two characters, its name one
    assert overlap(parse("?"), parse("ß"), fold=True)
    assert not covers(parse("??"), "ß", fold=True)


@given(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="/\\*?."))
def test_folding_loses_no_match(char: str) -> None:
    for text in (f"a{char}", "a?", f"a{char.upper()[0]}"):
        for path in (f"a{char}", f"a{char.upper()[0]}"):
            assert covers(parse(text), path, fold=True) >= covers(parse(text), path)
    assert covers(parse(f"a{char}"), f"a{char}", fold=True)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("./src//io/", "src/io/"),
        ("src/./io", "src/io"),
        ("src/*/.", "src/*/"),
        ("./", "."),
        (".", "."),
        (".//.", "."),
        ("**/**/**", "**"),
        ("a/**/**/b", "a/**/b"),
        (".github/", ".github/"),
        ("...", "..."),
        ("a..b", "a..b"),
    ],
)
def test_normal_form(text: str, shown: str) -> None:
    assert parse(text).text == shown
    assert parse(shown).segments == parse(text).segments


def test_three_spellings_of_a_folder_mean_the_same() -> None:
    assert parse("src/io").segments == parse("src/io/").segments == parse("src/io/**").segments


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        ("/etc/passwd", "absolute"),
        ("/", "absolute"),
        ("..", "`..`"),
        ("src/../x", "`..`"),
        ("a\0b", "control"),
        ("a\nb", "control"),
        ("a\x9bb", "control"),
        ("a\ud800b", "half a character"),
        ("src\\io", "backslash"),
        ("a**b", "`**` inside"),
        ("src/***", "`**` inside"),
        ("**.py", "`**` inside"),
        ("a/" * 201, "200 segments"),
        ("a" * 256, "255 characters"),
        ("a/" * 2049, "4096 characters"),
    ],
)
def test_refused(text: str, problem: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(text)
    assert caught.value.code == "BAD_PATTERN"
    assert problem in caught.value.message
    assert caught.value.hint
    assert caught.value.message.isascii()


def test_the_limits_themselves_are_allowed() -> None:
    assert len(parse("a/" * 200).segments) == 201  # with the `**` for what lies beneath
    assert parse("a" * 255)
    assert parse("./" * 2047 + "a/")


@pytest.mark.parametrize("path", ["/etc/passwd", "..", "src/../../x"])
def test_an_unresolved_path_does_not_slip_through(path: str) -> None:
    for ask in (lambda: covers(parse("src"), path), lambda: lineage(path)):
        with pytest.raises(BadInput) as caught:
            ask()
        assert caught.value.code == "BAD_PATH"


# --- hostile patterns: the work is counted, not timed -----------------------------------------------------------------


def calls(work: Callable[[], Any]) -> int:
    """How many functions are called, built-in ones too."""
    count = 0

    def note(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


NESTED = "*a" * 120 + "*b"
HOSTILE = [
    (NESTED, "a" * 240),
    (NESTED, "*b" * 120 + "*a"),
    (NESTED, "?" * 240 + "c"),
    ("*" + "a" * 120 + "b", "a?" * 120),
    ("**/a/" * 90 + "b", "**/b/" * 90 + "a"),
    ("**/a/" * 90 + "*b", "a/" * 190 + "*c"),
    ("**/" + "*a*a*/" * 90 + "b*", "aaaaaaaa/" * 190 + "c?"),
    ("**/" + "*a*a*a*b/" * 20 + "*", "/".join(["?" * 15] * 190) + "?"),
    (("**/" + NESTED + "/") * 16, ("a" * 240 + "/") * 16 + "?"),
]


@pytest.mark.parametrize(("one", "other"), HOSTILE)
def test_the_work_is_bounded_by_the_product_of_the_lengths(one: str, other: str) -> None:
    a, b = parse(one), parse(other)
    bound = 4 * len(one) * len(other)
    assert calls(lambda: overlap(a, b)) < bound
    assert calls(lambda: overlap(b, a, fold=True)) < 2 * bound
    assert calls(lambda: covers(a, other)) < bound
