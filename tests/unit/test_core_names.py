"""Names: what is one, what is not, and what the refusal says."""

import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import names
from rookery.core.errors import BadInput

RULE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,49}", re.ASCII)
valid = st.from_regex(r"\A[A-Za-z0-9_][A-Za-z0-9_.-]{0,48}[A-Za-z0-9_-]\Z", fullmatch=True)
hostile = st.text(
    st.sampled_from([*"aZ9_.-/: \\", "\0", "\x1b", "\n", "\x7f", "\x85", "\u202e", "\u0430", "\uff21", "\ud800"]),
    max_size=60,
)


def refusal(check: Callable[[str], object], text: str) -> BadInput:
    with pytest.raises(BadInput) as caught:
        check(text)
    return caught.value


@pytest.mark.parametrize("name", ["a", "_", "7", "SwiftRaven", "a.b-c_d", "x" * 50, "a..b", "a-"])
def test_names_that_are_fine(name: str) -> None:
    assert names.check_name(name) == name


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "is empty"),
        ("x" * 51, "is 51 characters long; the limit is 50"),
        ("x" * 300, "is 300 characters long"),
        ("a\0b", "contains a NUL character"),
        ("a\n", "contains the control character U+000A"),
        ("\x1b[31mred", "contains the control character U+001B"),
        ("a\x7f", "contains the control character U+007F"),
        ("a\x9b1m", "contains the control character U+009B"),
        ("..", "consists of dots"),
        (".", "consists of dots"),
        ("." * 60, "consists of dots"),
        ("a/b", "contains a slash"),
        ("../etc", "contains a slash"),
        ("a b", "contains a space"),
        ("a\\b", "contains '\\\\'"),
        ("a:b", "contains ':'"),
        (".hidden", "begins with '.'"),
        ("-rf", "begins with '-'"),
        ("a.", "ends with a dot"),
        ("Sw\u0456ft", "contains U+0456 CYRILLIC SMALL LETTER BYELORUSSIAN-UKRAINIAN I, which is not ASCII"),
        ("a\u200b", "contains U+200B ZERO WIDTH SPACE"),
        ("a\ud800", "contains U+D800, which is not ASCII"),
    ],
)
def test_the_refusal_says_what_is_wrong(name: str, says: str) -> None:
    error = refusal(names.check_name, name)
    assert error.code == "BAD_NAME"
    assert says in error.message
    assert error.hint


@pytest.mark.parametrize(
    ("name", "meant"), [("\uff33wift", "Swift"), ("\u212aite", "Kite"), ("\ufb01nch", "finch"), ("x\u00b2", "x2")]
)
def test_a_look_alike_is_refused_with_its_plain_spelling(name: str, meant: str) -> None:
    assert refusal(names.check_name, name).hint == f"Did you mean the plain '{meant}'?"


def test_no_plain_spelling_is_suggested_that_is_not_a_name() -> None:
    assert refusal(names.check_name, "\u2024\u2024").hint == names.NAME_CHARS  # one dot leaders: NFKC makes them ".."
    assert refusal(names.check_name, "caf\u00e9").hint == names.NAME_CHARS


@given(st.one_of(st.text(max_size=60), hostile, valid))
def test_a_name_is_what_the_rule_says(text: str) -> None:
    if RULE.fullmatch(text) and not text.endswith("."):
        assert names.check_name(text) == text
    else:
        assert refusal(names.check_name, text).code == "BAD_NAME"


CHECKS = [names.check_name, names.check_team, names.check_address, names.check_new_name, names.parse_target]


@pytest.mark.parametrize("check", CHECKS)
@given(text=st.one_of(st.text(max_size=400), hostile))
def test_a_refusal_is_short_and_repeats_no_raw_characters(check: Callable[[str], object], text: str) -> None:
    error = refusal(check, text + "\x1b")  # the last character makes sure that there is one
    shown = error.message + error.hint
    assert shown.isascii()
    assert shown.isprintable()
    assert len(error.message) < 250


@pytest.mark.parametrize("address", ["architect", "swarm_dev/architect", "a/b.c"])
def test_addresses(address: str) -> None:
    assert names.check_address(address) == address


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("a/b/c", "has 2 slashes; it may have one"),
        ("../../etc/passwd", "has 3 slashes"),
        ("//", "has 2 slashes"),
        ("/a", "The group before the slash is empty"),
        ("a/", "The name after the slash is empty"),
        ("../a", "The group before the slash '..' consists of dots"),
        ("a/..", "The name after the slash '..' consists of dots"),
        ("a/b\0", "The name after the slash 'b\\x00' contains a NUL"),
    ],
)
def test_addresses_that_are_refused(address: str, says: str) -> None:
    error = refusal(names.check_address, address)
    assert error.code == "BAD_NAME"
    assert says in error.message


@given(valid, valid)
def test_any_two_names_make_an_address(group: str, name: str) -> None:
    assert names.check_address(f"{group}/{name}") == f"{group}/{name}"


@pytest.mark.parametrize("name", ["user", "USER", "System", "ops/user", "system/a"])
def test_reserved_names_cannot_be_taken(name: str) -> None:
    assert names.check_address(name) == name  # but they can be written to
    assert refusal(names.check_new_name, name).code == "RESERVED_NAME"


def test_a_new_name_is_an_address() -> None:
    assert names.check_new_name("ops/users") == "ops/users"
    assert refusal(names.check_new_name, "a/b/c").code == "BAD_NAME"


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("architect", ("agent", "architect")),
        ("dev/architect", ("agent", "dev/architect")),
        ("broadcast:dev", ("broadcast", "dev")),
        ("any:reviewer", ("any", "reviewer")),
        ("any", ("agent", "any")),
    ],
)
def test_targets(text: str, target: tuple[str, str]) -> None:
    assert names.parse_target(text) == target


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("broadcast:", "The group to broadcast to is empty"),
        ("any:", "The role after 'any:' is empty"),
        ("broadcast:a/b", "contains a slash"),
        ("any:any:x", "contains ':'"),
        ("all:x", "is of no known kind"),
        ("Broadcast:x", "is of no known kind"),
        (":x", "is of no known kind"),
    ],
)
def test_targets_that_are_refused(text: str, says: str) -> None:
    assert says in refusal(names.parse_target, text).message


def test_teams_have_their_own_code() -> None:
    assert names.check_team("rookery-2") == "rookery-2"
    error = refusal(names.check_team, "a/b")
    assert (error.code, error.message) == ("BAD_TEAM", "The team name 'a/b' contains a slash.")


@given(valid)
def test_case_makes_no_difference_to_the_key(name: str) -> None:
    assert names.key(name.upper()) == names.key(name.lower()) == names.key(name)


def test_nearest_is_case_insensitive_and_best_first() -> None:
    known = ["SwiftRover", "SwiftRaven", "CalmOtter"]
    assert names.nearest("swiftravn", known) == ["SwiftRaven", "SwiftRover"]
    assert names.nearest("swiftravn", known, count=1) == ["SwiftRaven"]
    assert names.nearest("zzz", known) == []
    assert names.nearest("swiftraven", known, count=0) == []


def test_nearest_finds_the_full_address_of_a_bare_name() -> None:
    assert names.nearest("architect", ["dev/architect", "ops/architect"]) == ["dev/architect", "ops/architect"]


@given(st.text(max_size=300), st.lists(valid, max_size=8), st.integers(-1, 5))
def test_nearest_names_are_known_and_few(name: str, known: list[str], count: int) -> None:
    found = names.nearest(name, known, count)
    assert set(found) <= set(known)
    assert len(found) == len(set(found)) <= max(count, 0)


def test_did_you_mean() -> None:
    assert names.did_you_mean("SwiftRav", ["SwiftRaven"]) == "Did you mean SwiftRaven?"
    assert names.did_you_mean("SwiftRave", ["SwiftRaven", "SwiftRover"]) == "Did you mean SwiftRaven or SwiftRover?"
    assert names.did_you_mean("ant1", ["ant2", "ant3", "ant4"]).count(",") == 1
    assert names.did_you_mean("zzz", ["SwiftRaven"]) == ""


def test_importing_these_modules_loads_nothing_heavy() -> None:
    script = f"""
import sys
sys.path[:0] = {sys.path!r}
from rookery.core import digest, ids, names, naming, presence, text, times
heavy = {{"difflib", "unicodedata", "datetime", "dataclasses", "pathlib", "rookery.core.wordlists"}}
print(sorted(heavy & set(sys.modules)))
"""
    ran = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_a_member_is_known_by_its_name_within_the_group() -> None:
    assert {names.member("dev", each) for each in ("ada", "Ada", "dev/ada", "DEV/Ada")} == {"ada"}
    assert names.member("dev", "ops/ada") == "ops/ada"
    assert names.member("", "ada") == "ada"
