"""The settings as they hold: the table of `settings.py`, from which validation, `rook config` and the page are drawn.

Later wins: defaults, the user's file, the repository's file, environment, flags. Nothing is guessed: an unknown key is
an error that names the nearest known one, and a value that does not fit is an error that says where it came from.
The repository's file may narrow and not widen (`core.trust`): what it asks for beyond that counts once it is accepted.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from rookery.core import toml, trust
from rookery.core.errors import BadInput
from rookery.settings import ENTRIES, MONEY, MOST_OF_A_SLOT, SECONDS, SETTINGS, Setting

_BY_NAME = {setting.name: setting for setting in SETTINGS}

PREFIX = "ROOK_"
# Variables that say where things are and who calls. ROOK_TEAM is one of them and a setting too.
RESERVED = frozenset(
    PREFIX + name
    for name in ("HOME", "TEAM", "AGENT", "STORE", "URL", "TOKEN", "TOKEN_FILE", "TERMINAL", "FAULT", "NO_SKIPS")
) | {
    "ROOK_WORKER", "ROOK_RUN", "ROOK_TASK", "ROOK_BRIEF", "ROOK_TREE", "ROOK_BRANCH", "ROOK_LANDING",
}  # what a worker and a check are told  # fmt: skip
_TRUE = ("true", "1", "yes", "on")
_FALSE = ("false", "0", "no", "off")

DEFAULT = "default"
FLAG = "flag"


class Settings(Mapping[str, Any]):
    """Every setting with its value and where that came from. Lists and tables are handed out as copies.

    `requests`: what the repository's file asks for and may not set by itself, accepted or not.
    """

    __slots__ = ("_files", "_given", "_sources", "_values", "requests")

    def __init__(
        self, values: Mapping[str, Any], sources: Mapping[str, str], requests: Sequence[trust.Request] = (),
        given: "Sequence[_Layer]" = (), files: "Sequence[_Layer]" = (),
    ) -> None:  # fmt: skip
        """`values` come from the files, which are kept as they were read; `given` is what environment and flags say."""
        self._files = files
        self._values = dict(values)
        self._sources = dict(sources)
        self._given = (dict(values), dict(sources), given)
        for layer in given:
            _put(layer, self._values, self._sources)
        self.requests = tuple(requests)

    def inside_agent(self, *, own_file: bool = True) -> "Settings":
        """The settings for a caller inside an agent tree: its environment and flags may narrow, never widen. So may a
        user's file that is not the user's own one: variables say where that is looked for."""
        values, sources, given = self._given
        if not own_file:
            values = {setting.name: setting.default for setting in SETTINGS}
            sources = dict.fromkeys(values, DEFAULT)
            for layer in self._files:
                _put(_allowed(layer, values, sources, accepts_nothing)[0], values, sources)
        kept = [_allowed(layer, values, sources, accepts_nothing)[0] for layer in given]
        return Settings(values, sources, self.requests, kept)

    def __getitem__(self, name: str) -> Any:
        return _copy(self._values[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def source(self, name: str) -> str:
        return self._sources[name]

    def ms(self, name: str) -> int:
        """A setting in seconds as the milliseconds that everything inside counts in."""
        if _BY_NAME[name].unit != SECONDS:
            raise ValueError(f"{name} is not a time")
        return round(self._values[name] * 1000)

    def micros(self, name: str) -> int:
        """An amount of money in the whole micro-units that everything inside counts in."""
        if _BY_NAME[name].unit != MONEY:
            raise ValueError(f"{name} is no money")
        return round(self._values[name] * 1_000_000)

    def says_any(self, names: Sequence[str]) -> bool:
        """Is any of these more than empty, off or 0? Quick: asked on every send."""
        return any(self._values[name] for name in names)


Accepts = Callable[[str], bool]  # did the user accept the content with this digest?


def accepts_nothing(_digest: str) -> bool:
    return False


def load(
    *,
    environ: Mapping[str, str],
    user_file: str | None,
    repo_file: str | None,
    flags: Mapping[str, Any] = {},
    accepts: Accepts = accepts_nothing,
) -> Settings:
    values = {setting.name: setting.default for setting in SETTINGS}
    sources = dict.fromkeys(values, DEFAULT)
    requests: list[trust.Request] = []
    files: list[_Layer] = []
    if user_file:
        files.append(_of_user(user_file))
        _put(files[-1], values, sources)
    if repo_file:
        files.append(_from_file(repo_file))
        layer, requests = _allowed(files[-1], values, sources, accepts)
        _put(layer, values, sources)
    return Settings(values, sources, requests, (_from_environment(environ), _from_flags(flags)), files)


def _put(layer: "_Layer", values: dict[str, Any], sources: dict[str, str]) -> None:
    for name, (value, source) in layer.items():
        if _BY_NAME[name].kind == "table" and sources[name] != DEFAULT:
            # `groups.a` is a key of its own, as `mesh.stuck_s` is: a later file adds to a table entry by entry.
            value, source = values[name] | value, f"{sources[name]}, {source}"
        values[name], sources[name] = value, source


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.upper().replace(".", "_")


_Layer = dict[str, tuple[Any, str]]  # by name: the value, checked, and its source


def _of_user(path: str) -> _Layer:
    layer = _from_file(path)
    if "team" in layer:
        _refuse_team(path)
    return layer


# --- what a repository may say ----------------------------------------------------------------------------------------


def _allowed(
    layer: _Layer, values: Mapping[str, Any], sources: Mapping[str, str], accepts: Accepts
) -> tuple[_Layer, list[trust.Request]]:
    """What of a repository's file counts: what only narrows, and what the user accepted; and what it asks for."""
    counts: _Layer = {}
    requests: list[trust.Request] = []
    for name, (value, source) in layer.items():
        setting = _BY_NAME[name]
        parts: dict[str, Any] = {}
        for key, part in _parts(setting, value):
            below, is_set = _below(setting, key, values[name], sources[name])
            if not trust.is_within(setting.repository, part, below, below_is_set=is_set):
                digest = trust.digest(key, part)
                requests.append(trust.Request(source, key, trust.shown(part), setting.help, digest, accepts(digest)))
                if not requests[-1].accepted:
                    continue
            parts[key] = part
        if setting.kind != "table" and parts:
            counts[name] = parts[name], source
        elif parts:
            counts[name] = {key.removeprefix(f"{name}."): part for key, part in parts.items()}, source
    return counts, requests


def _parts(setting: Setting, value: Any) -> Iterator[tuple[str, Any]]:
    """A table is judged entry by entry."""
    if setting.kind != "table":
        yield setting.name, value
    else:
        yield from ((f"{setting.name}.{entry}", part) for entry, part in value.items())


def _below(setting: Setting, key: str, value: Any, source: str) -> tuple[Any, bool]:
    """What a part is compared with, and whether the user's own file says it."""
    if setting.kind != "table":
        return value, source != DEFAULT
    entries = {f"{setting.name}.{entry}".casefold(): part for entry, part in value.items()}
    entry = entries.get(key.casefold())
    return entry, source != DEFAULT if setting.repository == trust.ALONE else entry is not None


def _from_file(path: str) -> _Layer:
    data = _read(path)
    found = {} if data is None else _flat(toml.parse(data, path), path)
    return {name: (_checked(_BY_NAME[name], value, path), path) for name, value in found.items()}


def _from_environment(environ: Mapping[str, str]) -> _Layer:
    by_variable = {variable(setting.name): setting for setting in SETTINGS}
    layer: _Layer = {}
    for key in environ:
        if not key.startswith(PREFIX):
            continue
        setting = by_variable.get(key)
        if setting is None:
            if key not in RESERVED:
                _refuse_variable(key, [*by_variable, *RESERVED])
        elif text := environ[key]:  # an empty variable counts as not set, as everywhere in Rookery
            layer[setting.name] = _from_text(setting, text, f"environment {key}")
    return layer


def _from_flags(flags: Mapping[str, Any]) -> _Layer:
    layer: _Layer = {}
    for name, value in flags.items():
        setting = _BY_NAME.get(name) or _refuse_key(name, FLAG)
        if isinstance(value, str):
            layer[name] = _from_text(setting, value, FLAG)
        elif value is not None:  # None is a flag that was not given
            layer[name] = _checked(setting, value, FLAG), FLAG
    return layer


def _from_text(setting: Setting, text: str, source: str) -> tuple[Any, str]:
    return _checked(setting, _parsed(setting, text, source), source), source


# --- files ------------------------------------------------------------------------------------------------------------


def _read(path: str) -> bytes | None:
    if not os.path.lexists(path):
        return None
    if not os.path.isfile(path):  # a folder; or a pipe, which would make the reader wait for ever
        toml.refuse(path, "is not a file")
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        toml.refuse(path, f"cannot be read: {error.strerror}")


def _flat(tree: Mapping[str, Any], path: str, above: str = "") -> dict[str, Any]:
    """`{"mesh": {"stuck_s": 5}}` as `{"mesh.stuck_s": 5}`; an unknown key is refused."""
    found: dict[str, Any] = {}
    for key, value in tree.items():
        name = above + key
        if name in _BY_NAME:
            found[name] = value
        elif isinstance(value, dict) and (value or any(known.startswith(name + ".") for known in _BY_NAME)):
            found |= _flat(value, path, name + ".")
        else:
            _refuse_key(name, path)
    return found


# --- values -----------------------------------------------------------------------------------------------------------


def _parsed(setting: Setting, text: str, source: str) -> Any:
    """A value written as text, in a variable or after a flag. What does not parse is left for `_checked` to refuse."""
    text = text.strip() if setting.kind != "str" else text
    if setting.kind == "bool":
        word = text.lower()
        return True if word in _TRUE else False if word in _FALSE else text
    if setting.kind == "list":
        return [part for part in map(str.strip, text.split(",")) if part]
    if setting.kind == "table":
        raise _bad(setting, text, source, "It is a table: write it in rookery.toml.")
    for number in {"int": (int,), "float": (int, float)}.get(setting.kind, ()):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _checked(setting: Setting, value: Any, source: str) -> Any:
    if not _is_kind(setting.kind, value) or not _in_range(setting, value):
        raise _bad(setting, value, source)
    if setting.choices and value not in setting.choices:
        raise _bad(setting, value, source, f"Did you mean {_nearest(value, setting.choices)}?")
    if setting.kind == "table":
        for name, entry in value.items():
            _check_entry(setting, name, entry, source)
    return _copy(value)


def _is_kind(kind: str, value: Any) -> bool:
    if kind in ("int", "float") and isinstance(value, bool):
        return False
    if kind == "str":
        return isinstance(value, str) and "\0" not in value  # no path, name or row can hold it
    if kind == "list":
        return isinstance(value, list | tuple) and all(_is_kind("str", item) for item in value)
    if kind == "float":
        # Infinity and NaN are TOML numbers too, and no comparison with a limit would stop the latter.
        return isinstance(value, int) or (isinstance(value, float) and abs(value) < float("inf"))
    if kind == "count":
        return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_OF_A_SLOT
    if kind == "price":
        return _is_kind("float", value) and 0 <= value <= 1e9
    return isinstance(value, {"int": int, "bool": bool, "table": Mapping}[kind])


def _in_range(setting: Setting, value: Any) -> bool:
    low, high = setting.low, setting.high
    return (low is None or value >= low) and (high is None or value <= high)


def _check_entry(setting: Setting, name: str, entry: Any, source: str) -> None:
    shape = ENTRIES[setting.name]
    where = f"{setting.name}.{name}"
    if isinstance(shape, str):
        if not _is_kind(shape, entry):
            raise _bad_entry(where, entry, source, _KINDS[shape])
        return
    if not isinstance(entry, Mapping):
        raise _bad_entry(where, entry, source, f"a table with {', '.join(shape)}")
    for key, value in entry.items():
        if key not in shape:
            _refuse_key(f"{where}.{key}", source, [f"{where}.{known}" for known in shape])
        if not _is_kind(shape[key], value):
            raise _bad_entry(f"{where}.{key}", value, source, _KINDS[shape[key]])


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(item) for item in value]
    return value


# --- refusals ---------------------------------------------------------------------------------------------------------

_KINDS = {
    "str": "a string",
    "int": "a whole number",
    "count": f"a whole number from 1 to {MOST_OF_A_SLOT}",
    "float": "a number",
    "bool": "true or false",
    "list": "a list of strings",
    "table": "a table",
    "price": "an amount for a million tokens, not negative",
}


def accepts(setting: Setting) -> str:
    """What a setting takes, in words: "a whole number from 1 to 10000"."""
    if setting.choices:
        return f"one of {', '.join(setting.choices)}"
    if setting.low is None or setting.high is None:
        return _KINDS[setting.kind]
    return f"{_KINDS[setting.kind]} from {_number(setting.low)} to {_number(setting.high)}"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


def _shown(value: Any) -> str:
    """A refused value on one line of ASCII, not too long; it may be anything TOML can say."""
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _where(source: str) -> str:
    return f"in {source}" if os.sep in source else f"from {source}"


def _bad(setting: Setting, value: Any, source: str, hint: str = "") -> BadInput:
    if not hint:
        default = _shown(setting.default) if setting.default != "" else "empty"
        hint = f"Correct it there, or leave it out for the default: {default}."
    return _bad_entry(setting.name, value, source, accepts(setting), hint)


def _bad_entry(name: str, value: Any, source: str, accepted: str, hint: str = "Correct it there.") -> BadInput:
    return BadInput(
        f"{name} is {_shown(value)} {_where(source)}; it takes {accepted}.",
        hint,
        code="BAD_SETTING",
        setting=name,
        source=source,
    )


def _nearest(word: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    # Comparing costs the product of both lengths, and a key may be as long as its file.
    return get_close_matches(word[:100].lower(), known, 1, 0.0)[0]


def _refuse_key(name: str, source: str, known: Sequence[str] = ()) -> NoReturn:
    seeds = {setting.seed.lower(): setting.name for setting in SETTINGS if setting.seed}
    inside = [key for key in _BY_NAME if key.startswith(name + ".")]  # a section given as if it were a setting
    near = seeds.get(name.lower()) or _nearest(name, known or inside or list(_BY_NAME))
    raise BadInput(
        f"There is no setting {_shown(name)} ({source}). The nearest is {near}.",
        "Correct or remove it; docs/settings.md lists them all.",
        code="UNKNOWN_SETTING",
        setting=name,
        source=source,
        nearest=near,
    )


def _refuse_variable(key: str, known: Sequence[str]) -> NoReturn:
    near = _nearest(key.removeprefix(PREFIX), [name.removeprefix(PREFIX).lower() for name in known])
    near = PREFIX + near.upper()
    raise BadInput(
        f"There is no setting for the environment variable {_shown(key)[1:-1]}. The nearest is {near}.",
        f"Unset it, or set {near}; docs/settings.md lists them all.",
        code="UNKNOWN_SETTING",
        setting=key,
        source=f"environment {key}",
        nearest=near,
    )


def _refuse_team(path: str) -> NoReturn:
    # It would make one team of all repositories, and finding the team never looks at this file.
    raise BadInput(
        f"team is set in {path}; a team belongs to a repository.",
        "Write it in the repository's rookery.toml, or set ROOK_TEAM.",
        code="BAD_SETTING",
        setting="team",
        source=path,
    )


# --- reference --------------------------------------------------------------------------------------------------------

_INTRODUCTION = """\
# Settings

<!-- Written from the table in src/rookery/config.py by `python -m rookery.config`; do not edit. -->

Later wins: defaults, `~/.config/rookery/config.toml`, `rookery.toml` in the repository, environment, flags.
`rook config` shows each value and where it came from. In a file the name is a dotted key (`mesh.stuck_s = 600`) or a
key in its section:

```toml
team = "atlas"

[mesh]
stuck_s = 600

[groups]
reviewers = ["SwiftRaven", "ops/checker"]
```

In the environment it is `ROOK_` and the name in capitals, with `_` for the dot: `ROOK_MESH_STUCK_S=600`. Lists are
separated by commas; switches are true, 1, yes, on or false, 0, no, off; an empty variable counts as not set. Tables are
written in files, and a later file adds to them entry by entry. `team` is not taken from the user's file, for it belongs
to a repository.

The last column says what a repository's `rookery.toml` may set by itself ([trust](trust.md)): *free* values count;
*narrow* ones count if they are at least as strict as the value below them (the rule says in which direction). All
others count once you accepted them with `rook trust`. *claim*: a team that is new or the repository's own.

| setting | default | accepts | what it does | in a repository |
|---|---|---|---|---|
"""


def reference_markdown() -> str:
    """docs/settings.md."""
    rows = [f"| `{s.name}` | {_default(s)} | {accepts(s)} | {s.help} | {_rule(s)} |\n" for s in SETTINGS]
    seeds = [f"| `{s.seed}` | `{s.name}` |\n" for s in SETTINGS if s.seed]
    heading = "\n## Coming from pi-messenger\n\n| its option | the setting |\n|---|---|\n"
    return _INTRODUCTION + "".join(rows) + heading + "".join(seeds)


def _rule(setting: Setting) -> str:
    """`narrow: lower`, `trust`."""
    kind, _, direction = setting.repository.partition(" ")
    words = direction.removeprefix("order ")
    if direction.startswith("order "):
        words = " < ".join(words.split())
    return f"{kind}: {words}" if words else kind


def _default(setting: Setting) -> str:
    import json

    return f"`{json.dumps(setting.default)}` {setting.unit}".rstrip()


if __name__ == "__main__":
    print(reference_markdown(), end="")
