"""What `rook init` puts into one file: a part of someone else's, or a whole file of our own. Pure: text in, text out.

Every kind can be put in (again and again, with the same result), looked for, and taken out.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from rookery.core.errors import BadInput

from . import jsontext, marked


class Piece(Protocol):
    @property
    def path(self) -> str: ...

    def put(self, text: str | None) -> str:
        """The file with our part in it; None is a file that is not there. Refused where that can not be done."""
        ...

    def taken_out(self, text: str) -> str | None:
        """The file without our part; None where only a person can do that."""
        ...


class OwnFile(NamedTuple):
    """A file that nobody else writes."""

    path: str
    content: str

    def put(self, text: str | None) -> str:
        return self.content

    def taken_out(self, text: str) -> str | None:
        return None  # whoever changed it wanted something; what is unchanged is removed without asking here


class Block(NamedTuple):
    """Lines between two marks."""

    path: str
    marks: marked.Marks
    body: str
    check: Callable[[str, str], None] | None = None  # of the text without it, and its path

    def put(self, text: str | None) -> str:
        text = text or ""
        if self.check is not None:
            self.check(self.marks.cut(text, self.path), self.path)
        return self.marks.put(text, self.body, self.path)

    def taken_out(self, text: str) -> str | None:
        return self.marks.cut(text, self.path)


class Switch(NamedTuple):
    """`[mesh] auto_join = true`, where nothing is said about it."""

    path: str

    def put(self, text: str | None) -> str:
        text = text or ""
        return (
            text if marked.says(text, self.path, "mesh", "auto_join") is not None else marked.switch_on(text, self.path)
        )

    def taken_out(self, text: str) -> str | None:
        return marked.switch_gone(text)


# -- JSON ------------------------------------------------------------------------------------------------------------


class Hooks(NamedTuple):
    """One entry per event under `hooks`. Others' entries stay where they are, and run too."""

    path: str
    entries: Mapping[str, Mapping[str, Any]]  # by the program's word for the event
    is_ours: Callable[[Mapping[str, Any]], bool]
    grouped: bool = True  # an event has groups with a matcher, and these have the entries
    comments: bool = False
    head: Mapping[str, Any] = {}  # what a file needs besides

    def put(self, text: str | None) -> str:
        text = _begun(text, self.head)
        for key, value in self.head.items():
            text = _with_member(text, self, (), key, value)
        for event, entry in self.entries.items():
            text = self._with_entry(_with_member(text, self, (), "hooks", {}), event, entry)
        return text

    def _with_entry(self, text: str, event: str, entry: Mapping[str, Any]) -> str:
        group = {"hooks": [dict(entry)]} if self.grouped else dict(entry)
        hooks = _at(text, self, ("hooks",), "object")
        if jsontext.member(hooks, event) is None:
            return jsontext.insert(text, hooks, [group], event)
        groups = _at(text, self, ("hooks", event), "array")
        found = [node for node in self._nodes(groups) if self._is_ours(node)]
        if not found:
            return jsontext.insert(text, groups, group)
        if jsontext.plain(found[0]) == dict(entry):
            return text
        return jsontext.replace(text, found[0], dict(entry))

    def _nodes(self, groups: jsontext.Node) -> list[jsontext.Node]:
        if not self.grouped:
            return list(groups.items)
        lists = [jsontext.member(group, "hooks") for group in groups.items if group.kind == "object"]
        return [entry for entries in lists if entries is not None for entry in entries.items]

    def _is_ours(self, node: jsontext.Node) -> bool:
        return node.kind == "object" and self.is_ours(jsontext.plain(node))

    def found(self, text: str) -> dict[str, Mapping[str, Any]]:
        """Our entries that are there, by event."""
        hooks = jsontext.member(jsontext.parse(text, self.path, comments=self.comments), "hooks")
        seen = {each.key: self._nodes(each.node) for each in hooks.members} if hooks is not None else {}
        ours = {event: [node for node in nodes if self._is_ours(node)] for event, nodes in seen.items()}
        return {event: jsontext.plain(nodes[0]) for event, nodes in ours.items() if nodes}

    def has_all(self, text: str) -> bool:
        """Is every entry there exactly as we write it, for every tool?"""
        hooks = jsontext.member(jsontext.parse(text, self.path, comments=self.comments), "hooks")
        for event, entry in self.entries.items():
            groups = jsontext.member(hooks, event) if hooks is not None and hooks.kind == "object" else None
            wanted: Any = {"hooks": [dict(entry)]} if self.grouped else dict(entry)
            if groups is None or groups.kind != "array" or wanted not in map(jsontext.plain, groups.items):
                return False
        return True

    def taken_out(self, text: str) -> str | None:
        left: str | None = text
        while left is not None and (place := self._place(left)) is not None:
            left = jsontext.remove(left, *place)
        return left

    def _place(self, text: str) -> tuple[jsontext.Node, int] | None:
        """Where something of ours stands, or something that only stood around it."""
        root = jsontext.parse(text, self.path, comments=self.comments)
        hooks = jsontext.member(root, "hooks")
        if hooks is None or hooks.kind != "object":
            return None
        for number, event in enumerate(hooks.members):
            if event.key not in self.entries or event.node.kind != "array":
                continue
            if (place := self._place_in(event.node)) is not None:
                return place
            if not event.node.items:
                return hooks, number
        return None

    def _place_in(self, groups: jsontext.Node) -> tuple[jsontext.Node, int] | None:
        for number, group in enumerate(groups.items):
            if not self.grouped:
                if self._is_ours(group):
                    return groups, number
                continue
            entries = jsontext.member(group, "hooks")
            ours = [i for i, node in enumerate(entries.items) if self._is_ours(node)] if entries is not None else []
            if entries is not None and ours:
                return (groups, number) if len(entries.items) == 1 else (entries, ours[0])
        return None


class Server(NamedTuple):
    """One MCP server in a file that lists them."""

    path: str
    within: str  # the member that lists them: mcpServers or mcp
    value: Mapping[str, Any]
    is_ours: Callable[[Mapping[str, Any]], bool]
    comments: bool = False
    head: Mapping[str, Any] = {}
    name: str = "rook"

    def put(self, text: str | None) -> str:
        text = _begun(text, self.head)
        root = _at(text, self, (), "object")
        if jsontext.member(root, self.within) is None:
            return jsontext.insert(text, root, {self.name: dict(self.value)}, self.within)
        servers = _at(text, self, (self.within,), "object")
        there = jsontext.member(servers, self.name)
        if there is None:
            return jsontext.insert(text, servers, dict(self.value), self.name)
        said = jsontext.plain(there)
        if said == dict(self.value) or not self._ours(said):
            return text  # a server of the user's own under our name stays
        return jsontext.replace(text, there, dict(self.value))

    def _ours(self, said: Any) -> bool:
        return isinstance(said, dict) and self.is_ours(said)

    def found(self, text: str) -> bool:
        root = jsontext.parse(text, self.path, comments=self.comments)
        there = jsontext.member(jsontext.member(root, self.within), self.name)
        return there is not None and self._ours(jsontext.plain(there))

    def taken_out(self, text: str) -> str | None:
        if not self.found(text):
            return text
        servers = _at(text, self, (self.within,), "object")
        at = max(i for i, each in enumerate(servers.members) if each.key == self.name)
        return jsontext.remove(text, servers, at)


class InJson(Protocol):
    @property
    def path(self) -> str: ...
    @property
    def comments(self) -> bool: ...


def _begun(text: str | None, head: Mapping[str, Any]) -> str:
    return jsontext.document(head) if text is None or not text.strip("\ufeff \t\r\n") else text


def _at(text: str, piece: InJson, way: Sequence[str], kind: str) -> jsontext.Node:
    node = jsontext.parse(text, piece.path, comments=piece.comments)
    for key in way:
        found = jsontext.member(node, key)
        if found is None:
            raise KeyError(key)
        node = found
    if node.kind != kind:
        what = "list" if kind == "array" else "object"
        raise BadInput(
            f"{piece.path} has something else than a JSON {what} under {'.'.join(way)}.",
            "Correct it; nothing was written.", code="BAD_FILE", path=piece.path,
        )  # fmt: skip
    return node


def _with_member(text: str, piece: InJson, way: Sequence[str], key: str, value: Any) -> str:
    """With that member, as it is or as given."""
    node = _at(text, piece, way, "object")
    return text if jsontext.member(node, key) is not None else jsontext.insert(text, node, value, key)
