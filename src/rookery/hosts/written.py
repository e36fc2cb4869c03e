"""A profile that someone wrote down: an agent program is added by a TOML file, without Python.

The file says where an event has what, what the tools are called and how an answer is written. It is only data: nothing
in it is run, and what it gets wrong is told with the nearest word that would be right. docs/hosts-your-own.md has one.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from rookery.core import errors, names, toml
from rookery.core.hooks import Deed, Moment

from . import spoken
from .profile import COMPLAINT, TEXT, Fields, Forms, Profile, Tool

if TYPE_CHECKING:
    from rookery.core.screen import Gate, Patterns

KEYS = ("title", "context_limit", "speaks_at", "events", "fields", "tools", "forms", "screen")
TOOL_KEYS = ("deed", "paths", "command", "patch")
LOW, HIGH = 400, 100_000
Word = TypeVar("Word", bound=StrEnum)


def check_name(name: str) -> str:
    """It becomes part of a path."""
    return names.check_name(name)


def parse(data: bytes, path: str, name: str) -> Profile:
    return _Reading(path).profile(toml.parse(data, path), name)


def screen(data: bytes, path: str, name: str) -> "Patterns | None":
    """How to read the program's terminal, if the file says so. Hooks have no need of it, so it is read by itself."""
    said = toml.parse(data, path)
    return _ScreenReading(path).patterns(said["screen"], name) if "screen" in said else None


class _Reading:
    def __init__(self, path: str) -> None:
        self._path = path

    def profile(self, said: Mapping[str, Any], name: str) -> Profile:
        self._known(said, KEYS, "")
        limit = self._of(said.get("context_limit", 4_000), int, "context_limit", "a number")
        if not LOW <= limit <= HIGH:
            self._refuse(f"context_limit is {limit}", f"It is {LOW} to {HIGH} characters.")
        events = self._table(said, "events")
        self._table(said, "screen")
        return Profile(
            name=name,
            title=self._of(said.get("title", name), str, "title", "a text"),
            events={each: self._word(Moment, events[each], f"events.{each}") for each in events}
            or {moment.value: moment for moment in Moment},
            tools=self._tools(self._table(said, "tools")),
            forms=self._forms(said),
            fields=self._fields(self._table(said, "fields")),
            context_limit=limit,
            speaks_at=self._moments(said),
        )

    def _moments(self, said: Mapping[str, Any]) -> frozenset[Moment]:
        listed = said.get("speaks_at", ["start", "prompt", "after"])
        words = self._of(listed, list, "speaks_at", "a list of moments")
        return frozenset(self._word(Moment, word, "speaks_at") for word in cast("list[Any]", words))

    def _fields(self, said: Mapping[str, Any]) -> Fields:
        self._known(said, Fields._fields, "fields.")
        places = {key: self._of(value, str, f"fields.{key}", "a name") for key, value in said.items()}
        return spoken.FIELDS._replace(**places)

    def _tools(self, said: Mapping[str, Any]) -> dict[str, Tool]:
        return {name: self._tool(name, self._table(said, name, "tools.")) for name in said}

    def _tool(self, name: str, said: Mapping[str, Any]) -> Tool:
        where = f"tools.{name}."
        self._known(said, TOOL_KEYS, where)
        deed = self._word(Deed, said.get("deed", ""), f"{where}deed")
        paths = self._of(said.get("paths", []), list, f"{where}paths", "a list of names")
        fields = tuple(self._of(each, str, f"{where}paths", "a list of names") for each in cast("list[Any]", paths))
        command, patch = (self._of(said.get(key, ""), str, where + key, "a name") for key in ("command", "patch"))
        if deed is Deed.SHELL and not command:
            self._refuse(f"tools.{name} runs a shell and does not say where its command is", f"Add {where}command.")
        if deed is Deed.EDIT and not fields and not patch:
            self._refuse(f"tools.{name} edits and does not say where its files are", f"Add {where}paths, or patch.")
        return Tool(deed, fields, command, patch)

    def _forms(self, said: Mapping[str, Any]) -> Forms:
        if "forms" not in said:
            return spoken.FORMS
        forms = self._table(said, "forms")
        self._known(forms, Forms._fields, "forms.")
        for key, form in forms.items():
            if TEXT not in str(form) and (key, form) != ("wake", COMPLAINT):
                self._refuse(f"forms.{key} has no place for what is said", f'Put "{TEXT}" where the text goes.')
        if "deny" not in forms:
            self._refuse("forms has no deny", "Without it no tool can be refused.")
        return Forms(**forms)

    # -- what is wrong -------------------------------------------------------------------------------------------------

    def _known(self, said: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
        for key in said:
            if key not in keys:
                near = names.did_you_mean(key, keys) or f"Known: {', '.join(keys)}."
                self._refuse(f"there is no key {where}{key}", near)

    def _table(self, said: Mapping[str, Any], key: str, where: str = "") -> Mapping[str, Any]:
        return cast("Mapping[str, Any]", self._of(said.get(key, {}), dict, where + key, "a table"))

    def _of(self, value: Any, kind: Callable[..., Any], where: str, what: str) -> Any:
        if not isinstance(value, cast("type", kind)) or isinstance(value, bool):
            self._refuse(f"{where} is {ascii(value)[:40]}", f"It takes {what}.")
        return value

    def _word(self, words: type[Word], value: Any, where: str) -> Word:
        try:
            return words(value)
        except ValueError:
            known = [word.value for word in words]
            near = names.did_you_mean(str(value), known) or f"One of: {', '.join(known)}."
            self._refuse(f"{where} is {ascii(value)[:40]}", near)

    def _refuse(self, why: str, hint: str) -> NoReturn:
        raise errors.BadInput(f"{self._path}: {why}.", hint, code="BAD_PROFILE", path=self._path)


class _ScreenReading(_Reading):
    """The table `screen`: patterns that compile, keys that there are."""

    PATTERNS = ("prompt", "above", "below", "indent", "dialog", "folded")
    LISTS = ("placeholders", "starting", "busy", "restless")
    PRESSES = ("interrupt", "submit")
    TEXTS = ("reference", "clear")
    KEYS = (*PATTERNS, *LISTS, *PRESSES, *TEXTS, "gates", "margin", "multiline")

    def patterns(self, said: Any, name: str) -> "Patterns":
        from rookery.core.screen import Patterns

        table = cast("Mapping[str, Any]", self._of(said, dict, "screen", "a table"))
        self._known(table, self.KEYS, "screen.")
        if "prompt" not in table:
            self._refuse("screen has no prompt", "It says how the input line begins; without it nothing is typed.")
        found: dict[str, Any] = {
            key: self._pattern(table[key], f"screen.{key}") for key in self.PATTERNS if key in table
        }
        for key in (*self.LISTS, *self.PRESSES):
            if key in table:
                read = self._key if key in self.PRESSES else self._pattern
                listed = cast("list[Any]", self._of(table[key], list, f"screen.{key}", "a list"))
                found[key] = tuple(read(each, f"screen.{key}") for each in listed)
        found |= {key: self._of(table[key], str, f"screen.{key}", "a text") for key in self.TEXTS if key in table}
        gates = self._table(table, "gates", "screen.")
        found["gates"] = {gate: self._gate(gates[gate], f"screen.gates.{gate}") for gate in gates}
        found["margin"] = self._of(table.get("margin", 0), int, "screen.margin", "a number")
        return Patterns(name=name, multiline=self._switch(table.get("multiline", True)), **found)

    def _gate(self, said: Any, where: str) -> "Gate":
        from rookery.core.screen import Gate

        if isinstance(said, str):
            return Gate(self._pattern(said, where))
        table = cast("Mapping[str, Any]", self._of(said, dict, where, "a pattern, or a table with shows and answer"))
        self._known(table, Gate._fields, f"{where}.")
        keys = cast("list[Any]", self._of(table.get("answer", []), list, f"{where}.answer", "a list of keys"))
        answer = tuple(self._key(key, f"{where}.answer") for key in keys)
        return Gate(self._pattern(table.get("shows"), f"{where}.shows"), answer)

    def _pattern(self, value: Any, where: str) -> str:
        import re

        pattern = self._of(value, str, where, "a regular expression")
        try:
            re.compile(pattern)
        except re.error as error:
            self._refuse(f"{where} is no regular expression: {error}", "Write it as Python's re takes it.")
        return pattern

    def _key(self, value: Any, where: str) -> str:
        from rookery.core.ports import KEYS as PRESSED

        if value not in PRESSED:
            self._refuse(f"{where} names a key {ascii(value)[:40]}", f"There are: {', '.join(PRESSED)}.")
        return value

    def _switch(self, value: Any) -> bool:
        if not isinstance(value, bool):
            self._refuse(f"screen.multiline is {ascii(value)[:40]}", "It takes true or false.")
        return value
