"""The little project of `rook demo`: what is there before the crew starts, its plan, and what each task adds.

It is real code: the check before each landing runs its tests, and the end of the demo runs the program that was made.
"""

from collections.abc import Mapping

from rookery.core.record import NamedTuple

MEASURES = "textstat/measures.py"  # the file that two tasks want at once

PLAN = """\
# A program that tells about a text

- [ ] Split a text into words (id: split)
- [ ] A text to try it on (id: sample)
- [ ] Read a file, or standard input (id: source)
- [ ] Count words and sentences (id: count; after: split)
- [ ] Average length of a word (id: length; after: split)
- [ ] The most common words (id: common; after: split)
- [ ] Reading time (id: reading; after: count)
- [ ] The command, and how to use it (id: command; after: sample, source, length, common, reading)
"""

BEFORE: Mapping[str, str] = {
    ".gitignore": "__pycache__/\n",
    "README.md": "# textstat\n\nTells about a text. Nothing works yet.\n",
    "plan.md": PLAN,
    "textstat/__init__.py": '"""Tells about a text."""\n',
    MEASURES: '''\
"""Every measure by its name: a function of the text, which answers what is printed."""

import importlib

MEASURES = {
    # how much it is

    # how it is written

}


def measured(text):
    found = {}
    for name, place in MEASURES.items():
        module, function = place.split(":")
        found[name] = getattr(importlib.import_module(module), function)(text)
    return found
''',
    "tests/__init__.py": "",
    "tests/test_measures.py": """\
import unittest

from textstat.measures import measured


class MeasuresTest(unittest.TestCase):
    def test_each_measure_can_be_had_of_any_text(self):
        for text in ("", "Rooks nest in crowds.", "One. Two! Three?"):
            for name, value in measured(text).items():
                self.assertTrue(str(value), name)
""",
}


class Work(NamedTuple):
    """What a task adds: whole files, and lines of the shared one below one of its comments."""

    files: Mapping[str, str]
    below: str = ""
    lines: str = ""
    summary: str = ""


def _test(module: str, names: str, body: str) -> str:
    head = f"import unittest\n\nfrom textstat.{module} import {names}\n\n\n"
    return f"{head}class {module.strip('_').title()}Test(unittest.TestCase):\n{body}"


SPLIT = Work(
    {
        "textstat/split.py": '''\
import re

WORD = re.compile(r"[^\\W\\d_]+(?:['’-][^\\W\\d_]+)*")
END = re.compile(r"[.!?]+(?:\\s|$)")


def words(text):
    return WORD.findall(text)


def sentences(text):
    return [part for part in END.split(text) if part.strip()]
''',
        "tests/test_split.py": _test("split", "sentences, words", '''\
    def test_words_keep_their_apostrophes(self):
        self.assertEqual(words("Don't count 42 well-known_rooks!"), ["Don't", "count", "well-known", "rooks"])

    def test_nothing_has_no_sentences(self):
        self.assertEqual(sentences(" \\n"), [])
'''),
    },
    summary="Words and sentences are found by two expressions; tests cover apostrophes, numbers and empty texts.",
)  # fmt: skip

SAMPLE = Work(
    {
        "samples/rooks.txt": """\
Rooks nest in crowds. A rookery may hold a thousand nests, and every rook knows its own. They feed together, they warn
one another, and the young ones learn from the old. One rook alone is a thief. A hundred rooks are a city!

How do they agree on anything? They talk. All day long, they talk.
"""
    },
    summary="A text of two paragraphs about rooks, with a question, an exclamation and repeated words to count.",
)

SOURCE = Work(
    {
        "textstat/source.py": '''\
import sys


def read(path="-"):
    """The text of a file; of standard input for "-"."""
    if path == "-":
        return sys.stdin.read()
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
''',
        "tests/test_source.py": _test("source", "read", '''\
    def test_a_file_is_read_whole(self):
        with open(__file__, encoding="utf-8") as file:
            self.assertEqual(read(__file__), file.read())
'''),
    },
    summary="A file or standard input is read as text, and bytes that are no text do not stop it.",
)  # fmt: skip

COUNT = Work(
    {
        "textstat/count.py": '''\
from textstat import split


def words(text):
    return len(split.words(text))


def sentences(text):
    return len(split.sentences(text))
''',
        "tests/test_count.py": _test("count", "sentences, words", '''\
    def test_what_is_there_is_counted(self):
        self.assertEqual((words("One rook. Two rooks!"), sentences("One rook. Two rooks!")), (4, 2))
'''),
    },
    "    # how much it is\n",
    '    "words": "textstat.count:words",\n    "sentences": "textstat.count:sentences",\n',
    "Words and sentences are counted and stand among the measures; the test counts both.",
)  # fmt: skip

LENGTH = Work(
    {
        "textstat/length.py": '''\
from textstat import split


def average(text):
    found = split.words(text)
    return f"{sum(map(len, found)) / len(found):.1f} letters" if found else "no words"
''',
        "tests/test_length.py": _test("length", "average", '''\
    def test_the_average_is_of_the_words_alone(self):
        self.assertEqual(average("A rook, 1234567!"), "2.5 letters")

    def test_a_text_without_words_has_none(self):
        self.assertEqual(average("..."), "no words")
'''),
    },
    "    # how it is written\n",
    '    "a word has": "textstat.length:average",\n',
    "The average length of a word is among the measures, and a text without words is no division by zero.",
)  # fmt: skip


def common(*, one_word: bool) -> Work:
    """As the person decided: whether "The" and "the" are one word."""
    fold = ".casefold()" if one_word else ""
    expected = "the, rook" if one_word else "The, the, rook"
    return Work(
        {
            "textstat/common.py": f'''\
from collections import Counter

from textstat import split


def most_common(text, count=3):
    found = Counter(word{fold} for word in split.words(text) if len(word) > 1)
    return ", ".join(word for word, _ in found.most_common(count)) or "none"
''',
            "tests/test_common.py": _test("common", "most_common", f'''\
    def test_the_most_common_come_first(self):
        self.assertEqual(most_common("The the rook"), "{expected}")
'''),
        },
        summary="The most common words are found, with upper and lower case as it was decided; a test holds that.",
    )  # fmt: skip


# The first try: neither a test, nor right for a short text. The second has both.
READING_FIRST = Work(
    {
        "textstat/reading.py": """\
from textstat import count

WORDS_A_MINUTE = 200


def minutes(text):
    return f"{count.words(text) // WORDS_A_MINUTE} min"
"""
    },
    summary="Reading time is counted at two hundred words a minute, which is what most people manage.",
)
READING = Work(
    {
        "textstat/reading.py": '''\
from textstat import count

WORDS_A_MINUTE = 200


def minutes(text):
    """Rounded up: what can be read at all takes a minute."""
    return f"{-(-count.words(text) // WORDS_A_MINUTE)} min"
''',
        "tests/test_reading.py": _test("reading", "minutes", '''\
    def test_a_short_text_takes_a_minute_and_none_takes_none(self):
        self.assertEqual((minutes("One rook."), minutes(""), minutes("rook " * 201)), ("1 min", "0 min", "2 min"))
'''),
    },
    summary="As the review asked: a test, which showed that short texts took no time; they are rounded up now.",
)  # fmt: skip

COMMAND = Work(
    {
        "textstat/__main__.py": '''\
"""python -m textstat [FILE]"""

import sys

from textstat.common import most_common
from textstat.measures import measured
from textstat.reading import minutes
from textstat.source import read


def report(text):
    rows = {**measured(text), "most common": most_common(text), "to read": minutes(text)}
    return "\\n".join(f"{name:<12} {value}" for name, value in rows.items())


if __name__ == "__main__":
    print(report(read(*sys.argv[1:2])))
''',
        "tests/test_main.py": _test("__main__", "report", '''\
    def test_the_report_has_a_line_for_each(self):
        with open("samples/rooks.txt", encoding="utf-8") as file:
            lines = report(file.read()).splitlines()
        self.assertEqual(len(lines), 5)
'''),
        "README.md": """\
# textstat

Tells about a text: `python -m textstat FILE`, or a text on standard input. Try `samples/rooks.txt`.

`python -m unittest` runs its tests.
""",
    },
    summary="The command prints every measure of a file or of standard input; README tells how, a test runs it.",
)  # fmt: skip

CHECK = ("-m", "unittest", "discover", "-q", "-t", ".", "-s", "tests")
