"""The smaller rules of `core.shell`, each by itself; whole commands are in tests/shell."""

import pytest

from rookery.core import patterns
from rookery.core.shell import Reach, edits, holes, options, reading, words
from rookery.runtime.shell import writes

# --- what the caller knows --------------------------------------------------------------------------------------------


def told(command: str, cwd: str = "/w", **more: object) -> list[str]:
    return [write.path + "/" * (write.reach is Reach.BENEATH) for write in writes(command, cwd, **more).writes]  # type: ignore[arg-type]


def test_what_is_a_folder_narrows_the_answer() -> None:
    def is_folder(path: str) -> bool:
        return path == "/w/d"

    assert told("mv a d") == ["/w/a/", "/w/d/", "/w/d/a/"]
    assert told("mv a d", is_folder=is_folder) == ["/w/a/", "/w/d/a/"]
    assert told("cd d; touch x", is_folder=is_folder) == ["/w/d/x"]
    assert told("cd e; touch x", is_folder=is_folder) == ["/w/e/x", "/w/x"]


@pytest.mark.parametrize("first", ["rm -r d", "mv d e", "rm -r *", "cd ..; rm -r w; cd w", "unheard_of"])
def test_a_folder_that_may_be_gone_is_none(first: str) -> None:
    assert "/w/x" in told(f"{first}; cd d; touch x; cd /w; touch x", is_folder=lambda path: True)
    assert "/w/d/" in told(f"{first}; cp -r a /w/d", is_folder=lambda path: True)


def test_home_is_told_or_not() -> None:
    assert told("touch ~/x $HOME/y", home="/home/u") == ["/home/u/x", "/home/u/y"]
    assert {each.reason for each in writes("touch ~/x", "/w").opaque} == {reading.ARGUMENTS_UNKNOWN, reading.EXPANSION}


def test_modes_count_or_not() -> None:
    assert told("chmod -R +x d; chown me f") == ["/w/d/", "/w/f"]
    assert told("chmod -R +x d; chown me f", modes=False) == []
    assert writes("chmod +x d", "/w", modes=False).opaque == ()


def test_a_relative_folder_stays_relative() -> None:
    assert told("touch x", cwd="") == ["x"]
    assert told("cd d && touch x && cd ../.. && touch y", cwd="") == ["../y", "d/x"]
    assert told("cd d/../.. && touch ../x", cwd="/a/b") == ["/a/../x"]


def test_the_result_says_what_was_written() -> None:
    (write,) = writes("cd src && rm *.py", "/w").writes
    assert write == reading.Write("/w/src/*.py", "*.py", Reach.FILE, pattern=True)
    (opaque,) = writes("make all", "/w").opaque
    assert opaque == reading.Opaque(reading.INTERPRETER, "make all")


@pytest.mark.parametrize(
    "command", ["rm a*/b?", "rm **/x", "rm -r a***b", "touch 'x*'/?", 'touch "a\\\\b"/*', "rm [a]/*"]
)
def test_a_pattern_is_one_of_ours(command: str) -> None:
    for write in writes(command, "/w").writes:
        if write.pattern:
            assert patterns.parse(write.path.lstrip("/")).text


def test_no_parent_follows_a_wildcard() -> None:
    assert {each.reason for each in writes("rm */../x", "/w").opaque} == {reading.WILD_PARENT}
    assert told("rm ../*/x") == ["/w/../*/x"]


# --- patches ----------------------------------------------------------------------------------------------------------


def test_the_paths_of_a_patch() -> None:
    text = (
        "*** Begin Patch\n*** Add File: a b.py\n+*** Delete File: no\n*** Update File: c\n*** Move to: d\n*** End Patch"
    )
    assert edits.patched(text) == ["a b.py", "c", "d"]
    assert edits.patched("*** Add File: a") is None
    assert edits.patched("") is None


def test_the_paths_of_a_diff() -> None:
    text = "--- a/x/y\t2020\n+++ b/x/z\n--- /dev/null\n+++ b/new\nrename from q\n"
    assert edits.diff_paths(text, 1) == ["x/y", "x/z", "new", "q"]
    assert edits.diff_paths("--- a/x\n", None) == ["a/x", "x"]


# --- sed --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "files"),
    [
        ("s/a/b/", []), ("1,5p", []), ("$d", []), ("/a/,/b/d", []), ("s|a|b|gp;2q", []), ("y/abc/xyz/", []),
        ("/a/!d", []), ("2~3p", []), (r"\,a,d", []), ("s/a\\/b/c/", []), ("/w/d", []), ("a\\\ntext w x", []),
        ("s/a/b/w out", ["out"]), ("w out", ["out"]), ("/a/w out\np", ["out"]), ("s/a/b/gw x y", ["x y"]),
        ("/a/{w one\n}", ["one"]), (":l;s/a/b/;tl", []), ("# w no\np", []), ("N;P;D", []), ("10q5", []), ("r in", []),
        ("e date", None), ("s/a/b/e", None), ("s/a/b", None), ("x y", None), ("/a", None), ("v", None), ("k", None),
    ],
)  # fmt: skip
def test_what_a_sed_script_writes(script: str, files: list[str] | None) -> None:
    assert edits.sed_writes(script) == files


# --- options ----------------------------------------------------------------------------------------------------------


def test_options() -> None:
    got = options.given("t,target: r,R b,backup? long:", ["-rtdir", "x", "--target=e", "--back", "-bz", "--", "-r"])
    assert got.found == {"r": [""], "t": ["dir", "e"], "b": ["", "z"]}
    assert (got.operands, got.strange) == (["x", "-r"], [])
    assert options.given("a", ["-b", "--c", "x"]).strange == ["-b", "--c"]
    assert options.given("a", ["x", "-a"], permute=False).operands == ["x", "-a"]
    assert options.given("w l", ["-w", "x"], single_dash=True).has("w")
    assert options.given("a", [holes.UNKNOWN, "x" + holes.UNKNOWN, "x" + holes.SPLIT]).strange == [
        holes.UNKNOWN,
        "x" + holes.SPLIT,
    ]


@pytest.mark.parametrize("name", ["x", "xy"])
def test_an_abbreviation_that_means_two_is_strange(name: str) -> None:
    assert options.given("xyz xyq", [f"--{name}"]).strange == [f"--{name}"]


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "text"),
    [("a\\nb", "a\nb"), ("\\x41\\102", "AB"), ("\\u00e9", "é"), ("\\'\\\\", "'\\"), ("\\q", "\\q"), ("end\\", "end\\")],
)
def test_ansi_quotes(raw: str, text: str) -> None:
    assert words.ansi(raw) == text


@pytest.mark.parametrize("raw", ["\\xff", "\\0", "\\ud800", "\\U00110000", "\\ca"])
def test_ansi_quotes_that_are_not_told(raw: str) -> None:
    assert not holes.is_told(words.ansi(raw))


@pytest.mark.parametrize(
    ("value", "operator", "operand", "expected"),
    [
        ("a.js", "%", ".js", "a"), ("a.js", "%", ".py", "a.js"), ("a.b.js", "%", ".*", "a.b"),
        ("d/e.f/g", "%", "/*", "d/e.f"),
        ("d/e", "##", "*/", "e"), ("x", ":-", "y", "x"), (holes.MANY + ".js", "%", ".js", holes.MANY),
    ],
)  # fmt: skip
def test_trimmed(value: str, operator: str, operand: str, expected: str) -> None:
    assert words.trimmed(value, operator, operand) == expected


@pytest.mark.parametrize(
    ("value", "operator", "operand"),
    [(holes.MANY, "%", ".js"), (holes.MANY, "%", ".*"), ("", ":-", "y"), ("a", "/", "b"), ("a", "%", "*")],
)
def test_trimmed_where_it_is_not_told(value: str, operator: str, operand: str) -> None:
    assert words.trimmed(value, operator, operand) == holes.UNKNOWN


@pytest.mark.parametrize(
    ("base", "field", "expected"),
    [
        ("/w", "a", "/w/a"), ("/w", "..", "/"), ("/w", "../..", "/"), ("/w/a", "../b/./c", "/w/b/c"),
        ("/w", "/x/..", "/"), ("", "a", "a"), ("", "..", ".."), ("a", "..", "."), ("..", "..", "../.."),
        ("/", "a", "/a"),
    ],
)  # fmt: skip
def test_where_cd_leads(base: str, field: str, expected: str) -> None:
    assert reading.moved(base, field) == expected
