"""A plan as people and agents write it: a Markdown checklist.

    # Goal: replace the tokenizer
    - [ ] Lexer (id: lexer; files: src/lexer/)
    - [ ] Parser {#parser} after: lexer
          priority: high
          Any other indented text describes the task.
    - [ ] Documentation            a parent is a milestone: it depends on its children and completes with them
        after: parser              what a parent comes after, its children come after too
        - [x] Tutorial             done already
        - [ ] Reference

`after:` names ids, positions ("3", "3.1") or titles. Notes stand on the item, in parentheses or at its end, or on
indented lines of their own. Text outside the list, code blocks and comments are never read as tasks; what looks like a
task and is none (`- [] Title`) is reported, because a task that vanishes silently is the worst outcome.
"""

import re
from collections.abc import Iterator

from rookery.core.plans import PlanTask, Problem, pieces, yes_or_no
from rookery.core.record import NamedTuple
from rookery.core.text import one_line

# An item at least this many columns further right than another is its child; one column is a slip of the hand.
_NEST = 2

_MARKER = r"(?:[-*+]|(?P<number>\d{1,9})[.)])"
_ITEM = re.compile(_MARKER + r"[ \t]+\[(?P<box>[ xX])\](?![(:])[ \t]*(?P<text>.*)")
_BROKEN = re.compile(_MARKER + r"\s*\[[\sxX~/>!?*-]{0,3}\](?![(\[:])")
_FENCE = re.compile(r"`{3,}(?=[^`]*$)|~{3,}")
_KEY = re.compile(r"\{#([^{}\s]+)\}")
_PARENTHESES = re.compile(r"\(([^()]*)\)")

_WORDS = {
    "id": "id",
    "after": "after",
    "deps": "after",
    "depends on": "after",
    "dependencies": "after",
    "files": "resources",
    "resources": "resources",
    "kind": "kind",
    "priority": "priority",
    "review": "review",
}
# `after:`, and `**After:**` as models like to write it.
_NOTE = re.compile(
    r"(?:^|(?<=[\s;,|]))[*_]{0,2}(?P<word>"
    + "|".join(_WORDS).replace(" ", "[ _-]")
    + r")[*_]{0,2}[ \t]*:[*_]{0,2}[ \t]*",
    re.IGNORECASE,
)


class _Note(NamedTuple):
    word: str
    value: str


class _Item:
    """One line with a box, what stands beneath it, and where it stands. The root of the list is one too."""

    def __init__(self, line: int, indent: int, parent: "_Item | None" = None) -> None:
        self.line = line
        self.indent = indent
        self.parent = parent
        self.path: tuple[int, ...] = ()
        self.label = ""  # its number as a page shows it, which starts again with every list
        self.title = ""
        self.checked = False
        self.notes: list[_Note] = []
        self.body: list[str] = []
        self.children: list[_Item] = []
        self.last_number: int | None = None  # what the page shows for its last child, while that list goes on

    @property
    def position(self) -> str:
        return ".".join(map(str, self.path))

    @property
    def where(self) -> str:
        return f"line {self.line}"

    def note(self, word: str) -> str:
        return next((note.value for note in reversed(self.notes) if note.word == word), "")

    @property
    def key(self) -> str:
        return self.note("id") or self.position

    def adopt(self, child: "_Item", number: str | None) -> None:
        self.children.append(child)
        child.path = (*self.path, len(self.children))
        if number is None:
            self.last_number = None
        else:
            self.last_number = int(number) if self.last_number is None else self.last_number + 1
        shown = str(self.last_number or child.path[-1])
        child.label = f"{self.label}.{shown}" if self.label else shown


class _Block(NamedTuple):
    """A code block or comment that has begun; nothing inside it is read."""

    ending: str
    line: int


def read(text: str) -> tuple[list[PlanTask], list[Problem]]:
    reader = _Reader()
    for number, line in enumerate(_lines(text), 1):
        reader.feed(number, line)
    reader.close()
    return _Tasks(reader.items, reader.problems).all(), reader.problems


def goal(text: str) -> str:
    """`# Goal: text`, the paragraph under a heading `Goal`, or the first heading of the first level; else nothing."""
    first = ""
    lines = _outside(text)
    for line in lines:
        level, title = _heading(line)
        word, _, rest = title.partition(":")
        if word.strip().casefold() == "goal":
            return rest.strip() or _paragraph(lines)
        if level == 1 and not first:
            first = title
    return first


class _Reader:
    """Lines in, items out. `stack` holds the items that the next line may belong to, outermost first."""

    def __init__(self) -> None:
        self.items: list[_Item] = []
        self.problems: list[Problem] = []
        self.stack: list[_Item] = [_Item(0, -_NEST)]
        self.block: _Block | None = None

    def feed(self, number: int, line: str) -> None:
        text = line.strip()
        indent = _indent(line)
        if self.block and self._in_block(line, indent):
            return
        if not text:
            self.stack[-1].body.append("")
        elif found := _ITEM.fullmatch(text):
            self._item(number, indent, found)
        elif _BROKEN.match(text):
            self.problems.append(
                Problem(
                    f"line {number}",
                    f"{one_line(text, 40)!r} looks like a task, but its box is not one.",
                    "Write `- [ ] Title` for a task that is open, `- [x] Title` for one that is done.",
                )
            )
        else:
            self._text(number, indent, line)

    def close(self) -> None:
        if self.block:
            self.problems.append(
                Problem(
                    f"line {self.block.line}",
                    "A code block or comment begins here and does not end, so nothing after it was read.",
                    f"End it with a line {self.block.ending!r}.",
                )
            )

    def _in_block(self, line: str, indent: int) -> bool:
        """Whether the line still belongs to the block. A block in an item ends with the item at the latest."""
        assert self.block
        text = line.strip()
        owner = self.stack[-1]
        if text and owner.parent and indent <= owner.indent:
            self.block = None
            return False
        if self.block.ending == "-->":
            if self.block.ending in text:
                self.block = None
            return True
        owner.body.append(line)
        if text.startswith(self.block.ending) and not text.strip(self.block.ending[0]):
            self.block = None
        return True

    def _item(self, number: int, indent: int, found: re.Match[str]) -> None:
        while indent < self.stack[-1].indent + _NEST:
            self.stack.pop()
        parent = self.stack[-1]
        item = _Item(number, indent, parent)
        item.checked = found["box"] != " "
        item.title, item.notes = _split(found["text"])
        parent.adopt(item, found["number"])
        self.items.append(item)
        self.stack.append(item)

    def _text(self, number: int, indent: int, line: str) -> None:
        while self.stack[-1].parent and self.stack[-1].indent >= indent:
            self.stack.pop()
        owner = self.stack[-1]
        owner.last_number = None
        text = line.strip()
        if text.startswith("<!--"):
            if "-->" not in text:
                self.block = _Block("-->", number)
            return
        if fence := _FENCE.match(text):
            self.block = _Block(fence[0], number)
        notes = _notes(re.sub(r"^[-*+][ \t]+", "", text))
        if notes:
            owner.notes += notes
        else:
            owner.body.append(line)


class _Tasks:
    """Items to tasks: the words after `after:` become keys."""

    def __init__(self, items: list[_Item], problems: list[Problem]) -> None:
        self.items = items
        self.problems = problems
        self.ids: dict[str, list[_Item]] = {}
        self.keys = {item.key: item for item in reversed(items)}
        self.places: dict[str, list[_Item]] = {}
        self.titles: dict[str, list[_Item]] = {}
        for item in items:
            if item.note("id"):
                self.ids.setdefault(item.key, []).append(item)
            for place in {item.position, item.label}:
                self.places.setdefault(place, []).append(item)
            self.titles.setdefault(_bare(item.title), []).append(item)

    def all(self) -> list[PlanTask]:
        named = {id(item): list(self._named(item)) for item in self.items}
        done: dict[int, bool] = {}
        for item in reversed(self.items):  # children stand after their parent
            done[id(item)] = item.checked and all(done[id(child)] for child in item.children)
        return [self._task(item, named, done[id(item)]) for item in self.items]

    def _task(self, item: _Item, named: dict[int, list[str]], done: bool) -> PlanTask:
        deps = named[id(item)] + [child.key for child in item.children]
        if not item.children:
            deps += [dep for dep in self._inherited(item, named) if dep != item.key]
        return PlanTask(
            key=item.key,
            title=item.title,
            description=_dedented(item.body),
            deps=tuple(dict.fromkeys(deps)),
            resources=tuple(dict.fromkeys(self._resources(item))),
            kind=item.note("kind"),
            priority=item.note("priority").lower() or "normal",
            milestone=bool(item.children),
            review=self._review(item),
            done=done,
            line=item.line,
        )

    def _named(self, item: _Item) -> Iterator[str]:
        for note in item.notes:
            if note.word != "after":
                continue
            # A title may contain a comma.
            whole = self._meant(note.value)
            for name in [note.value] if whole else pieces(note.value):
                found = whole or self._meant(name)
                if len(found) > 1:
                    self.problems.append(_ambiguous(item, name, found))
                else:
                    yield found[0].key if found else name

    def _meant(self, name: str) -> list[_Item]:
        """The items that a name may mean. Two of one id are one here: that they share it is another problem."""
        bare = name.removeprefix("#")
        if found := self.ids.get(bare):
            return found[:1]
        return self.places.get(bare) or self.titles.get(_bare(name), [])

    def _inherited(self, item: _Item, named: dict[int, list[str]]) -> Iterator[str]:
        """What the parents come after, except what lies inside the parent itself."""
        parent = item.parent
        while parent and parent.parent:
            for dep in named[id(parent)]:
                other = self.keys.get(dep)
                if not other or other.path[: len(parent.path)] != parent.path:
                    yield dep
            parent = parent.parent

    def _resources(self, item: _Item) -> Iterator[str]:
        for note in item.notes:
            if note.word == "resources":
                yield from pieces(note.value)

    def _review(self, item: _Item) -> bool | None:
        word = item.note("review")
        wish = yes_or_no(word)
        if word and wish is None:
            self.problems.append(
                Problem(item.where, f"`review: {one_line(word, 40)}` is neither yes nor no.", "Write `review: yes`.")
            )
        return wish


def _ambiguous(item: _Item, name: str, found: list[_Item]) -> Problem:
    choices = ", ".join(f"{other.key} (line {other.line})" for other in found[:5])
    return Problem(
        item.where,
        f"`after: {one_line(name, 60)}` may mean {len(found)} tasks: {choices}{', ...' if len(found) > 5 else ''}.",
        "Give the one you mean an id, `(id: name)`, and write `after: name`.",
    )


def _split(text: str) -> tuple[str, list[_Note]]:
    """The title, and the notes that stand on the same line."""
    notes: list[_Note] = []

    def take(found: re.Match[str]) -> str:
        inner = _notes(found[1].strip())
        notes.extend(inner)
        return "" if inner else found[0]

    keys = [_Note("id", key) for key in _KEY.findall(text)]
    title, tail = _tail(_PARENTHESES.sub(take, _KEY.sub("", text)))
    title = re.sub(r"[ \t]{2,}", " ", title)
    if title.startswith("**") and title.find("**", 2) == len(title) - 2:
        title = title[2:-2]
    return title, keys + notes + tail


def _tail(title: str) -> tuple[str, list[_Note]]:
    """Notes at the end without parentheses. `Code review: the parser` is a title, so each value must look the part."""
    starts = [found.start() for found in _NOTE.finditer(title)]
    notes = _notes(title[starts[0] :]) if starts else []
    kept = len(notes)
    while kept and _plausible(notes[kept - 1]):
        kept -= 1
    if kept == len(notes):
        return title.strip(" \t"), []
    return title[: starts[kept]].rstrip(" \t;,|-–—").lstrip(" \t"), notes[kept:]


def _plausible(note: _Note) -> bool:
    match note.word:
        case "after":
            return bool(note.value)
        case "resources":
            return bool(note.value) and not any(" " in piece for piece in pieces(note.value))
        case "review":
            return yes_or_no(note.value) is not None
        case "id":
            return False  # `look it up by id: 5`; an id wants its parentheses
        case _:
            return bool(note.value) and not re.search(r"\s", note.value)


def _notes(text: str) -> list[_Note]:
    """All notes of a text that begins with one, else none."""
    found = list(_NOTE.finditer(text))
    if not found or found[0].start():
        return []
    ends = [note.start() for note in found[1:]] + [len(text)]
    return [
        _Note(_WORDS[re.sub("[_-]", " ", note["word"].lower())], _value(text[note.end() : end]))
        for note, end in zip(found, ends, strict=True)
    ]


def _value(text: str) -> str:
    value = text.strip(" \t;,|")
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == "`" and value.count("`") == 2 else value


def _bare(title: str) -> str:
    """A title as it is compared: without emphasis, case and spacing."""
    return " ".join(title.translate(dict.fromkeys(map(ord, '*_`"'))).casefold().split())


def _dedented(body: list[str]) -> str:
    import textwrap

    return textwrap.dedent("\n".join(line.rstrip() for line in body)).strip("\n")


def _lines(text: str) -> list[str]:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _indent(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(4))


def _heading(line: str) -> tuple[int, str]:
    """Level and text of a heading; level 0 for any other line."""
    stripped = line.strip()
    title = stripped.lstrip("#")
    level = len(stripped) - len(title)
    if _indent(line) > 3 or not 1 <= level <= 6 or title[:1] not in ("", " ", "\t"):
        return 0, ""
    title = title.strip()
    bare = title.rstrip("#")
    return level, bare.rstrip() if bare[-1:] in ("", " ", "\t") else title


def _outside(text: str) -> Iterator[str]:
    """The lines that stand in no code block."""
    ending = ""
    for line in _lines(text):
        stripped = line.strip()
        fence = _FENCE.match(stripped)
        if ending:
            if stripped.startswith(ending) and not stripped.strip(ending[0]):
                ending = ""
        elif fence:
            ending = fence[0]
        else:
            yield line


def _paragraph(lines: Iterator[str]) -> str:
    found: list[str] = []
    for line in lines:
        stripped = line.strip()
        if (found and not stripped) or re.match(_MARKER + r"\s|#", stripped):
            break
        if stripped:
            found.append(stripped)
    return " ".join(found)
