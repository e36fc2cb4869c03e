"""Our part of a text that is someone else's: between two marks, or one line with a mark."""

from typing import Any

from rookery.core import toml
from rookery.core.errors import BadInput

SWITCH = "auto_join = true  # rook init: agents join when their sessions start"


class Marks(tuple[str, str]):
    """Two lines that stand around what is ours."""

    __slots__ = ()

    def put(self, text: str, body: str, path: str) -> str:
        """The text with our part in its place, or at the end if it has none yet."""
        newline = "\r\n" if "\r\n" in text or text.endswith("\r") else "\n"  # our own would make one of it
        block = newline.join([self[0], *body.strip("\n").split("\n"), self[1]])
        if (span := self._span(text, path)) is not None:
            return text[: span[0]] + block + text[span[1] :]
        gap = "" if not text or text.endswith(("\n\n", "\r\n\r\n")) else newline
        gap = gap if not text or text.endswith("\n") else newline + gap
        return f"{text}{gap}{block}{newline}"

    def body(self, text: str, path: str) -> str | None:
        span = self._span(text, path)
        if span is None:
            return None
        return text[span[0] + len(self[0]) : span[1] - len(self[1])].replace("\r\n", "\n").strip("\n")

    def cut(self, text: str, path: str) -> str:
        """The text without our part and the line that was left free before it."""
        span = self._span(text, path)
        if span is None:
            return text
        head, tail = text[: span[0]], text[span[1] :]
        tail = tail.removeprefix("\r").removeprefix("\n")
        for newline in ("\r\n", "\n"):
            if head.endswith(newline * 2):
                head = head.removesuffix(newline)
                break
        return head + tail

    def _span(self, text: str, path: str) -> tuple[int, int] | None:
        start, end = text.find(self[0]), text.find(self[1])
        if start < 0 and end < 0:
            return None
        alone = text.count(self[0]) == 1 == text.count(self[1])
        if not alone or end < start:
            raise BadInput(
                f"{path} does not have the lines {self[0]!r} and {self[1]!r} once each, in this order.",
                "Remove what is left of Rookery's part; nothing was written.", code="BAD_FILE", path=path,
            )  # fmt: skip
        return start, end + len(self[1])


PAGE = Marks(("<!-- rookery:begin -->", "<!-- rookery:end -->"))
TOML = Marks(("# rookery:begin", "# rookery:end"))


# -- one switch in a file of settings --------------------------------------------------------------------------------


def says(text: str, path: str, *keys: str) -> Any:
    """What a TOML file says there; None if nothing."""
    found: Any = toml.parse(text.encode(), path)
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def switch_on(text: str, path: str) -> str:
    """`auto_join = true` under [mesh], in a file that says nothing about it. The rest stays as it is."""
    newline = "\r\n" if "\r\n" in text else "\n"
    mesh = says(text, path, "mesh")
    if mesh is None:
        gap = "" if not text else newline if text.endswith("\n") else newline * 2
        return _checked(f"{text}{gap}[mesh]{newline}{SWITCH}{newline}", path)
    lines = text.splitlines(keepends=True)
    heads = [i for i, line in enumerate(lines) if "".join(line.partition("#")[0].split()) == "[mesh]"]
    if heads:
        at = heads[0] + 1
        if not lines[at - 1].endswith("\n"):
            lines[at - 1] += newline
        return _checked("".join([*lines[:at], SWITCH + newline, *lines[at:]]), path)
    return _checked(f"mesh.{SWITCH}{newline}{text}", path)


def _checked(text: str, path: str) -> str:
    try:
        if says(text, path, "mesh", "auto_join") is True:
            return text
    except BadInput:
        pass
    raise BadInput(
        f"{path} has a table mesh that can not be added to.",
        "Write `auto_join = true` into it yourself, then run `rook init` again.", code="BAD_FILE", path=path,
    )  # fmt: skip


def switch_gone(text: str) -> str:
    """Without our line; the heading goes too if we made it and nothing is under it."""
    kept = [line for line in text.splitlines(keepends=True) if line.strip() not in (SWITCH, f"mesh.{SWITCH}")]
    return "".join(kept)
