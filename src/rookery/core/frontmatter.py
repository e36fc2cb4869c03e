"""YAML that stands at the head of a text: read so that nothing but text comes of it, and each key with its line.

No tag, alias or type makes anything else of what stands there: `no` is a word and 0123 four digits.
"""

from collections.abc import Mapping
from typing import Any, cast

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode

from rookery.core.record import NamedTuple

from . import text


class NotYaml(Exception):
    """Why it can not be read, and on which line of it, from 1; 0 where that is not told."""

    def __init__(self, why: str, line: int = 0) -> None:
        super().__init__(why)
        self.why = why
        self.line = line


class Fields(NamedTuple):
    values: dict[str, Any]  # text, lists and mappings of text
    lines: Mapping[str, int]  # of each key, from 1; of a key inside another, as in "respawn.limit"


class _Loader(yaml.BaseLoader):
    """Text, lists and mappings, each key once, and no aliases: a few lines of those stand for gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if cast("Any", self).check_event(yaml.events.AliasEvent):
            raise yaml.MarkedYAMLError(
                problem="it has an alias", problem_mark=cast("Any", self).peek_event().start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            word = str(key.value)
            if word in seen:
                said = f"{text.quoted(word, 40)} stands there twice"
                raise yaml.MarkedYAMLError(problem=said, problem_mark=key.start_mark)
            seen.add(word)
        return super().construct_mapping(node, deep)


def read(written: str) -> Fields:
    try:
        loader: Any = _Loader(written)
        try:
            node: Node | None = loader.get_single_node()
            value: Any = None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        said = " ".join(filter(None, (error.context, error.problem)))
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise NotYaml(f"is no YAML: {text.one_line(said, 160)}", line) from None
    except yaml.reader.ReaderError as error:
        line = written.count("\n", 0, error.position) + 1
        raise NotYaml("is no YAML: it has a control character", line) from None
    except (yaml.YAMLError, ValueError, RecursionError, TypeError) as error:
        told = text.one_line(str(error), 160) or "it is nested too deep"
        raise NotYaml(f"is no YAML: {told}") from None
    if value is None or value == "":
        return Fields({}, {})
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in cast("dict[Any, Any]", value)):
        raise NotYaml("is no mapping", 1)
    return Fields(cast("dict[str, Any]", value), _lines(node))


def _lines(node: Node | None, above: str = "") -> dict[str, int]:
    found: dict[str, int] = {}
    for key, value in node.value if isinstance(node, MappingNode) else ():
        if isinstance(key, ScalarNode):
            name = f"{above}{key.value}"
            found[name] = key.start_mark.line + 1
            found |= _lines(value, f"{name}.") if not above else {}
    return found
