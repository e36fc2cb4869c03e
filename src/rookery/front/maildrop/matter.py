"""What a file says. Its YAML is the text that stands there: no tag, alias or type makes anything else of it."""

from typing import Any, cast

import yaml
from yaml.nodes import MappingNode

from rookery.core import drop, errors, reports, text


class _Loader(yaml.BaseLoader):
    """Text, lists and mappings (`no` is a word and 0123 four digits), each key once, and no aliases: a few lines of
    those stand for gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError("it has an alias")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            word = str(key.value)
            if word in seen:
                raise yaml.YAMLError(f"{text.quoted(word, 40)} stands there twice")
            seen.add(word)
        return super().construct_mapping(node, deep)


def parsed(written: str, what: str) -> dict[str, Any]:
    try:
        loader = _Loader(written)
        try:
            value = loader.get_single_data()
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, RecursionError, TypeError) as error:
        told = text.one_line(str(error), 200) or "it is nested too deep"
        raise _bad(what, f"is no YAML: {told}") from None
    if value is None or value == "":
        return {}
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise _bad(what, "is no mapping")
    return cast("dict[str, Any]", value)


def _bad(what: str, why: str) -> errors.BadInput:
    return errors.BadInput(f"Its {what} matter {why}.", "Lines like `to: NAME`.", code="BAD_YAML")


def letter(data: bytes, rounds_max: int) -> drop.Letter:
    """What the bytes of a file say, or why they say nothing."""
    try:
        written = data.decode()
    except UnicodeDecodeError as error:
        # The last bytes may be the half of a character whose other half is still to come.
        cut = error.reason == "unexpected end of data"
        code = drop.NOT_WHOLE if cut else "NOT_UTF8"
        raise errors.BadInput(f"It is not UTF-8: byte {error.start}.", "Write it as UTF-8.", code=code) from None
    if "\0" in written:
        raise errors.BadInput("It contains a NUL character.", "Write text.", code="NOT_UTF8")
    parts = drop.split(written)
    front, rear = parsed(parts.front, "front"), parsed(parts.rear, "rear")
    return reports.letter(front, parts.body, rear) or drop.letter(front, parts.body, rear, rounds_max=rounds_max)
