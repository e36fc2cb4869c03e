"""Front matter through real YAML: text comes out as it went in, and nothing else ever does."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import drop, errors
from rookery.front.maildrop import matter
from tests.support.drops import letter

# What YAML can carry: printable, without what its readers take for line ends.
LETTERS = st.characters(
    codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters="\ufeff\ufffe\uffff\x85"
)
TEXT = st.text(LETTERS)
WORDS = st.sampled_from(["no", "0123", "1e5", "~", "true", "2024-11-02", "0x1f", "null", "- a", "a: b", "#", "'", "|"])


@pytest.mark.slow
@given(fields=st.dictionaries(TEXT.filter(bool), TEXT | WORDS | st.lists(TEXT | WORDS), max_size=6))
def test_what_is_written_as_yaml_is_read_as_text(fields: dict[str, Any]) -> None:
    """Round trip through the emitter of the same library; `no`, 0123 and dates stay the words they are."""
    written = yaml.safe_dump(fields, allow_unicode=True)
    assert matter.parsed(written, "front") == fields


@given(body=st.text(st.characters(codec="utf-8", exclude_characters="\r\0")), subject=TEXT.filter(str.strip))
def test_a_whole_letter_round_trip(body: str, subject: str) -> None:
    front = yaml.safe_dump({"to": "bob", "from": "ada", "subject": subject[:400]}, allow_unicode=True)
    assert drop.split(f"---\n{front}---\n{body}") is not None
    found = matter.letter(f"---\n{front}---\n{body}".encode(), 5)
    assert found.args["subject"] == subject[:400].strip()
    if not any(word in body for word in drop.REAR):
        assert found.args["body"] == body.strip("\n")


def test_without_care_a_word_is_another_thing() -> None:
    """What the usual loader would make of the same lines: this is why it is not used."""
    lines = "to: no\nmsg-id: 0123\nfrom: 1e5\ntimestamp: 2024-11-02T08:30:00.000Z\n"
    usual = yaml.safe_load(lines)
    assert usual["to"] is False
    assert usual["msg-id"] == 83
    assert matter.parsed(lines, "front") == {
        "to": "no", "msg-id": "0123", "from": "1e5", "timestamp": "2024-11-02T08:30:00.000Z",
    }  # fmt: skip


LAUGHS = "a: &a [x, x]\nb: &b [*a, *a]\nto: *b\n"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (LAUGHS, "an alias"),
        ("to: [a", "no YAML"),
        ("to: a\nto: b\n", "twice"),
        ("- a\n- b\n", "no mapping"),
        ("just words", "no mapping"),
        ("a: b: c", "no YAML"),
        ("to: \x01", "no YAML"),
        ("? {a: b}\n: c\n", "no YAML|no mapping"),
        pytest.param("a: " + "[" * 5000, "no YAML", marks=pytest.mark.slow),
        ("a: b\n---\nc: d\n", "no YAML"),
        ("\tto: a", "no YAML"),
    ],
    ids=lambda each: each[:12] if isinstance(each, str) else None,
)
def test_bad_yaml_is_told(written: str, said: str) -> None:
    with pytest.raises(errors.BadInput, match=said) as caught:
        matter.parsed(written, "front")
    assert str(caught.value).isprintable()


def test_a_tag_makes_nothing(tmp_path: Any) -> None:
    """A tag that names a program is a word like any other; nothing is run, nothing but text is made."""
    witness = tmp_path / "ran"
    found = matter.parsed(f"to: !!python/object/apply:os.system ['touch {witness}']\nfrom: !!int 5\n", "front")
    assert found == {"to": [f"touch {witness}"], "from": "5"}
    assert not witness.exists()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (letter().encode("utf-16"), "NOT_UTF8"),
        (b"---\nto: \xff\n---\n", "NOT_UTF8"),
        ("---\nto: bob\n---\nna\u00efve".encode()[:-3], drop.NOT_WHOLE),
        (b"---\nto: a\0b\n---\n", "NOT_UTF8"),
    ],
)
def test_what_is_no_text_is_told(data: bytes, code: str) -> None:
    with pytest.raises(errors.BadInput) as caught:
        matter.letter(data, 5)
    assert caught.value.code == code
