"""A program's output, cut into what a terminal acts on: texts, controls, sequences, each whole and of bounded length.

What is too long, broken or cut off by another is left out as a whole, as terminals do: never shown as text by its tail.
"""

import codecs
import re
from collections.abc import Generator, Iterator
from typing import NamedTuple

TEXT, CONTROL, CSI, ESCAPE, STRING = "text", "control", "csi", "escape", "string"
STRING_LIMIT = 2048  # characters that are kept of one; of a longer one, nothing
SEQUENCE_LIMIT = 256

_TEXT = re.compile(r"[^\x00-\x1f\x7f-\x9f]+")
_CSI = re.compile(r"\x1b\[([<-?]?)([0-9:;]*+)([ -/]*+)([@-~])")
_ANY_CSI = re.compile(r"\x1b\[[ -?]*+[@-~]?")  # broken or not, up to where it ends
_ESCAPE = re.compile(r"\x1b([ -/]*+)([0-OQ-WYZ\\`-~])")
_OPENING = re.compile(r"\x1b([\]PX^_])")
_UNFINISHED = re.compile(r"\x1b(?:\[[ -?]*+|[ -/]*+)\Z")
_IN_STRING = re.compile(r"[^\x07\x18\x1a\x1b\x9c]*+")
_IN_CSI = re.compile(r"[ -?]*+[@-~]?")


class Token(NamedTuple):
    kind: str
    text: str  # as it came
    prefix: str = ""  # of a sequence: `?`, `>` ...
    numbers: str = ""
    between: str = ""
    final: str = ""


class Sifter:
    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._rest = ""
        self._string: list[str] | None = None  # of the string that is open, its parts
        self._length = 0
        self._skips = False  # what is left of a sequence that is too long

    def feed(self, data: bytes) -> Iterator[Token]:
        text = self._rest + self._decode(data)
        self._rest = ""
        at = 0
        while at < len(text):
            if self._string is not None:
                at = yield from self._in_string(text, at, self._string)
            elif self._skips:
                at = self._skip(text, at)
            elif found := _TEXT.match(text, at):
                yield Token(TEXT, found.group())
                at = found.end()
            elif text[at] == "\x1b":
                at = yield from self._sequence(text, at)
            else:
                if text[at] < " ":
                    yield Token(CONTROL, text[at])
                at += 1

    def _sequence(self, text: str, at: int) -> Generator[Token, None, int]:
        if found := _CSI.match(text, at):
            if found.end() - at <= SEQUENCE_LIMIT:
                yield Token(CSI, found.group(), *found.groups())
            return found.end()
        if found := _OPENING.match(text, at):
            self._string, self._length = [found[1]], 0
            return found.end()
        if found := _ESCAPE.match(text, at):
            if found.end() - at <= SEQUENCE_LIMIT:
                yield Token(ESCAPE, found.group(), between=found[1], final=found[2])
            return found.end()
        if _UNFINISHED.match(text, at):
            self._rest = text[at:] if len(text) - at <= SEQUENCE_LIMIT else ""
            self._skips = not self._rest
            return len(text)
        found = _ANY_CSI.match(text, at)
        return found.end() if found else at + 1

    def _skip(self, text: str, at: int) -> int:
        found = _IN_CSI.match(text, at)
        assert found
        self._skips = found.end() == len(text) and not "@" <= text[-1] <= "~"
        return found.end()

    def _in_string(self, text: str, at: int, parts: list[str]) -> Generator[Token, None, int]:
        found = _IN_STRING.match(text, at)
        assert found
        end = found.end()
        self._length += end - at
        if self._length <= STRING_LIMIT:
            parts.append(found.group())
        else:
            del parts[1:]
        if text[end : end + 2] == "\x1b":  # what follows tells whether this ends it
            self._rest = "\x1b"
            return len(text)
        if end < len(text):
            self._string = None
            closed = text[end] in "\x07\x9c" or text[end : end + 2] == "\x1b\\"
            if closed and self._length <= STRING_LIMIT:
                body = "".join(parts[1:])
                yield Token(STRING, body, prefix=parts[0])
            end += 2 if text[end : end + 2] == "\x1b\\" else 0 if text[end] == "\x1b" else 1
        return end
