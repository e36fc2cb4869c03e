"""Generated names are friendly, valid, and never taken."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import naming, wordlists
from rookery.core.errors import BadInput
from rookery.core.names import RESERVED, check_new_name, key

THEMES = ["default", "nature", "space", "minimal"]


def never(name: str) -> bool:
    return False


def first(n: int) -> int:
    return 0


def last(n: int) -> int:
    return n - 1


def among(taken: set[str]) -> Callable[[str], bool]:
    return lambda name: key(name) in taken


def every_name(theme: str, custom: list[str]) -> list[str]:
    """All names a theme has before it needs numbers."""
    made: list[str] = []
    while True:
        made.append(naming.generate_name(theme, custom, among(set(map(key, made))), first))
        if made[-1][-1].isdigit():
            return made[:-1]


@pytest.mark.parametrize("theme", THEMES)
def test_word_lists_are_long_distinct_and_plain(theme: str) -> None:
    firsts, seconds = (part.split() for part in wordlists.THEMES[theme])
    for words in filter(None, (firsts, seconds)):
        assert len(words) >= (60 if theme == "minimal" else 40)
        assert len(set(words)) == len(words)
        assert all(word.isascii() and word.isalpha() and word == word.capitalize() for word in words)
        assert max(map(len, words)) <= naming.WORD_LIMIT


def test_the_themes_sound_as_promised() -> None:
    made = {theme: [part.split() for part in wordlists.THEMES[theme]] for theme in THEMES}
    assert "Swift" in made["default"][0]
    assert "Raven" in made["default"][1]
    assert "Lunar" in made["space"][0]
    assert "Dust" in made["space"][1]
    assert not made["minimal"][1]
    assert max(map(len, made["minimal"][0])) <= 6


@pytest.mark.parametrize("theme", THEMES)
@given(data=st.data())
def test_a_generated_name_is_valid(theme: str, data: st.DataObject) -> None:
    name = naming.generate_name(theme, [], never, lambda n: data.draw(st.integers(0, n - 1)))
    assert check_new_name(name) == name


@pytest.mark.parametrize("pick", [first, last])
def test_names_run_out_into_numbers(pick: Callable[[int], int]) -> None:
    total = len(wordlists.THEMES["minimal"][0].split())
    made: list[str] = []
    for _ in range(total + 5):
        made.append(naming.generate_name("minimal", [], among(set(map(key, made))), pick))
    assert len(set(map(key, made))) == total + 5
    assert all(name.isalpha() for name in made[:total])
    assert [name[-1] for name in made[total:]] == ["2", "3", "4", "5", "6"]


def test_all_other_names_taken_still_finds_the_last_free_one() -> None:
    asked: list[str] = []

    def taken(name: str) -> bool:
        asked.append(name)
        return name != "WittyYak"

    assert naming.generate_name("default", [], taken, first) == "WittyYak"
    assert len(set(asked)) == 65 * 65


def test_custom_words_are_paired_with_one_another() -> None:
    assert sorted(every_name("custom", ["red", "Blue", "fox"])) == [
        "BlueFox", "BlueRed", "FoxBlue", "FoxRed", "RedBlue", "RedFox",
    ]  # fmt: skip


def test_one_custom_word_stands_alone() -> None:
    assert every_name("custom", ["heron", "HERON"]) == ["HERON"]


def test_a_custom_name_is_never_reserved() -> None:
    assert naming.generate_name("custom", ["user"], never, first) == "User2"
    assert naming.generate_name("custom", ["sys", "tem"], never, first) == "TemSys"


@pytest.mark.slow
@given(
    words=st.lists(st.from_regex(r"\A[a-z0-9_][a-z.-]{0,18}[a-z]\Z", fullmatch=True), min_size=1, max_size=4),
    rounds=st.integers(1, 20),
    data=st.data(),
)
def test_names_of_any_custom_words_are_valid_and_distinct(words: list[str], rounds: int, data: st.DataObject) -> None:
    made: set[str] = set()
    for _ in range(rounds):
        name = naming.generate_name("custom", words, among(made), lambda n: data.draw(st.integers(0, n - 1)))
        assert check_new_name(name) == name
        assert key(name) not in made
        assert key(name) not in RESERVED
        made.add(key(name))


def test_a_thousand_custom_words_cost_nothing_up_front() -> None:
    words = [f"w{number}" for number in range(1000)]
    assert naming.generate_name("custom", words, never, last) == "W999W998"


@pytest.mark.parametrize(
    ("theme", "custom", "code", "says"),
    [
        ("natur", [], "BAD_THEME", "Did you mean nature? Known themes: default, nature, space, minimal, custom."),
        ("\x1b[31m", [], "BAD_THEME", "Known themes: default, nature, space, minimal, custom."),
        ("custom", [], "BAD_THEME", "Give it a list of words"),
        ("custom", ["two words"], "BAD_NAME", "A name has"),
        ("custom", ["a" * 21], "BAD_NAME", "shorter words"),
        ("custom", [""], "BAD_NAME", "A name has"),
    ],
)
def test_bad_themes_and_words(theme: str, custom: list[str], code: str, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        naming.generate_name(theme, custom, never, first)
    assert caught.value.code == code
    assert says in caught.value.hint
    assert caught.value.message.isprintable()
