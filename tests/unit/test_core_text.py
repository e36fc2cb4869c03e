"""Agent text is data: nothing of it steers a terminal, a page or a prompt."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import text
from rookery.core.errors import BadInput

LINE_ENDS = ["\r\n", "\r", "\v", "\f", "\x85", "\u2028", "\u2029"]
# Short pieces out of which hypothesis builds sequences that are whole, broken, nested and interleaved.
PIECES = [
    *[
        "\x1b",
        "\x1b[",
        "\x1b]0;",
        "\x1bP",
        "\x1b\\",
        "\x07",
        "\x9b",
        "\x9d",
        "\x9c",
        "\x18",
        "31m",
        "[",
        "]",
        "\\",
        "m",
    ],
    *["a", "b ", "\n", "\t", "\0", "\x7f", "\u202e", "\u2066", "\ud800", "\udc00", "\U000e0041", "\u00e9", *LINE_ENDS],
]
hostile = st.one_of(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.text(max_size=80))


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("caf\u00e9, \u65e5\u672c\u8a9e \U0001f426", "caf\u00e9, \u65e5\u672c\u8a9e \U0001f426"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[1;1Hgone", "gone"),
        ("\x1b[?25l\x1b[38;5;196mx", "x"),
        ("\x9b31mred", "red"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\b", "alinkb"),
        ("a\x9d52;c;AAAA\x9cb", "ab"),
        ("a\x1bPq payload\x1b\\b", "ab"),
        ("a\x1b_apc\x1b\\b\x1b^pm\x1b\\c\x1bXsos\x1b\\d", "abcd"),
        ("a\x1bcb\x1b(Bc\x1b7d", "abcd"),
        ("a\x1b]0;never ends", "a0;never ends"),
        ("cut\x1b[", "cut"),
        ("cut\x1b", "cut"),
        ("\x1b\x1b[m[31mnot red", "[31mnot red"),
        ("a\0b\x08c\x7fd\x81e", "abcde"),
        ("user\u202etxt.exe\u2066x\u2069", "usertxt.exex"),
        ("hi\U000e0049\U000e0067\U000e007f", "hi"),
        ("x\ud800y\udfff", "x\ufffdy\ufffd"),
        ("tab\tnew\nline", "tab\tnew\nline"),
        ("\u200fright-to-left mark stays", "\u200fright-to-left mark stays"),
    ],
)
def test_plain(raw: str, shown: str) -> None:
    assert text.plain(raw) == shown


@pytest.mark.parametrize("end", LINE_ENDS)
def test_every_line_end_becomes_one_newline_or_one_space(end: str) -> None:
    assert text.plain(f"a{end}b") == "a\nb"
    assert text.plain(f"a{end}b", keep_newlines=False) == "a b"


@given(hostile, st.booleans())
def test_plain_leaves_nothing_that_steers(raw: str, keep: bool) -> None:
    shown = text.plain(raw, keep_newlines=keep)
    allowed = {"\n", "\t"} if keep else set[str]()
    assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"} and c not in allowed]
    assert not [c for c in shown if unicodedata.bidirectional(c) in {"LRE", "RLE", "LRO", "RLO", "PDF"}]
    assert not [c for c in shown if unicodedata.bidirectional(c) in {"LRI", "RLI", "FSI", "PDI"}]
    assert text.plain(shown, keep_newlines=keep) == shown
    assert len(shown) <= len(raw)


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"])))
def test_honest_text_is_untouched(raw: str) -> None:
    assert text.plain(raw) == raw


@pytest.mark.parametrize("piece", ["\x1b]", "\x9d", "\x1b[", "\x9b1", "\x1bP\x07", "\x1b]a\x1b", "\x1b ", "\x9b!"])
def test_hostile_repetition_stays_linear(piece: str) -> None:
    """Quadratic work on a megabyte would run into the time limit of the test by hours."""
    assert len(text.plain(piece * 300_000)) <= 600_000


@given(hostile, st.integers(-2, 90))
def test_one_line_is_one_line_and_fits(raw: str, width: int) -> None:
    line = text.one_line(raw, width)
    assert len(line) <= max(width, 0)
    assert line == " ".join(line.split())
    assert "\n" not in line


def test_one_line_folds_and_cuts() -> None:
    assert text.one_line(" a\n\n b\t c ") == "a b c"
    assert text.one_line("x" * 80) == "x" * 80
    assert text.one_line("x" * 81) == "x" * 79 + "…"
    assert text.one_line("one two three", 5) == "one…"
    assert text.one_line("abc", 1) == "…"


@given(hostile)
def test_no_line_escapes_the_fence(raw: str) -> None:
    fenced = text.fence(raw)
    assert all(line.startswith("| ") for line in fenced.splitlines())
    assert "\n".join(line[2:] for line in fenced.split("\n")) == text.plain(raw)


@pytest.mark.parametrize("end", ["\n", *LINE_ENDS])
def test_a_fence_marks_lines_of_every_kind(end: str) -> None:
    assert text.fence(f"a{end}b") == "| a\n| b"
    assert text.fence("") == "| "


@given(st.text(), st.integers(-3, 30))
def test_cut(raw: str, limit: int) -> None:
    kept, more = text.cut(raw, limit)
    assert raw.startswith(kept)
    assert len(kept) == min(len(raw), max(limit, 0))
    assert more == (kept != raw)


@given(hostile)
def test_check_text_passes_what_can_be_stored(raw: str) -> None:
    if "\0" not in raw and not any("\ud800" <= c <= "\udfff" for c in raw):
        assert text.check_text(raw, "the body") == raw
        return
    with pytest.raises(BadInput, match="The body contains ") as caught:
        text.check_text(raw, "the body")
    assert caught.value.code == "BAD_TEXT"
    assert caught.value.message.isprintable()
    assert caught.value.hint


def test_check_text_says_where() -> None:
    with pytest.raises(BadInput, match="An attachment contains a NUL character at position 2"):
        text.check_text("ab\0", "an attachment")
    with pytest.raises(BadInput, match=r"lone surrogate U\+DC80\) at position 1"):
        text.check_text("a\udc80", "the subject")


@given(hostile, st.integers(10, 70))
def test_quoted_is_safe_to_print_and_short(raw: str, width: int) -> None:
    shown = text.quoted(raw, width)
    assert shown.isascii()
    assert shown.isprintable()
    assert len(shown) <= width


@pytest.mark.parametrize(
    ("raw", "made"),
    [
        ("Fix the Parser!", "fix-the-parser"),
        ("../../etc/passwd", "etc-passwd"),
        ("  --Hello--World--  ", "hello-world"),
        ("Caf\u00e9 Stra\u00dfe", "cafe-strasse"),
        ("\U0001d56c\u0130", "ai"),  # capitals that only a normal form reveals
        ("\u65e5\u672c", ""),
        ("a" * 30, "a" * 24),
        ("abcdefghijklmnopqrstuvw xyz", "abcdefghijklmnopqrstuvw"),
    ],
)
def test_slug(raw: str, made: str) -> None:
    assert text.slug(raw) == made


@given(hostile, st.integers(-1, 40))
def test_slug_is_a_slug(raw: str, limit: int) -> None:
    made = text.slug(raw, limit)
    assert len(made) <= max(limit, 0)
    assert set(made) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert made == made.strip("-")
    assert "--" not in made
