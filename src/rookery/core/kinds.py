"""Kinds of workers: Markdown that says what a worker is for, what it may do, and what it is told.

    ---
    name: scout                    front matter: YAML, every key of `Kind` but its body
    description: looks, and tells
    read_only: true
    ---
    the body: what it is told besides, in Markdown

A kind extends the guardrails that hold for every worker; it never replaces them. What it forbids (`read_only`,
`plan_gate`) is enforced by the guard; words in a prompt are not what keeps a worker from writing (H34).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, cast

from rookery.core.record import NamedTuple

from . import errors, names, text

LIMIT = 65_536  # bytes of a file
MATTER_LIMIT = 16_384  # characters of front matter
MARK = "---"
NEVER, ON_CRASH, ALWAYS = "never", "on-crash", "always"
POLICIES = (NEVER, ON_CRASH, ALWAYS)
ASK, READ, EDIT, ALL = "ask", "read", "edit", "all"
PERMISSIONS = (ASK, READ, EDIT, ALL)
BUILT_IN, EXTENSION, USER = "built in", "extension", "user"
REPOSITORY, REGISTERED = "repository", "registered"
LAYERS = (BUILT_IN, EXTENSION, USER, REPOSITORY, REGISTERED)  # a later one is taken before an earlier one
BACKOFF_MOST_MS = 60_000
_RESPAWNS_MOST = 1_000
_YEAR_S = 365 * 86_400
_LISTS = ("decision_rights", "commands")
_YES, _NO = ("true", "yes", "on"), ("false", "no", "off")


class Respawn(NamedTuple):
    policy: str = NEVER
    limit: int = 3  # so often, one after the other
    backoff_s: float = 2.0  # before the first time; each later one waits twice as long


class Kind(NamedTuple):
    name: str
    description: str = ""
    host: str = ""  # the agent program; empty: whoever asks says it, or the settings
    model: str = ""
    read_only: bool = False
    plan_gate: bool = False  # it writes nothing before its plan was agreed to
    worktree: bool = True  # a working tree of its own
    seed: bool = False  # begins with what its parent's session knows, where the program can do that
    can_spawn: bool = False
    max_active: int = 0  # at once in a team; 0: any number
    decision_rights: tuple[str, ...] = ()  # what it may decide by itself
    max_artifacts: int = 0  # 0: any number
    max_duration_s: float = 0  # 0: any time
    permissions: str = EDIT  # what its program does without asking a person
    commands: tuple[str, ...] = ()  # the beginnings of commands that it may run besides
    respawn: Respawn = Respawn()
    on_mail: bool = False  # mail for one that is not there, or over, starts it
    guardrails_append: str = ""
    body: str = ""


class Found(NamedTuple):
    """A kind as it was written: where, in which layer, and its text; or why there is none."""

    name: str
    layer: str
    where: str
    written: str = ""
    problem: str = ""
    accepted: bool = True  # False: a repository's, and the user has not accepted exactly this text
    digest: str = ""  # what an acceptance is bound to


KEYS = tuple(field for field in Kind._fields if field != "body")


# -- reading -----------------------------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """Where a value stands, for whoever has to correct it."""

    where: str
    lines: Mapping[str, int]

    def refuse(self, key: str, why: str, hint: str) -> NoReturn:
        raise refused(self.where, self.lines.get(key, 1), f"{key} {why}", hint)


def refused(where: str, line: int, why: str, hint: str) -> errors.BadInput:
    return errors.BadInput(f"{where}, line {line}: {why}.", hint, code="BAD_KIND", file=where, line=line)


def parse(written: str, where: str, name: str = "") -> Kind:
    """The kind that a text describes. `name` is the one it is known by, of its file: another inside is an error."""
    from . import frontmatter  # it needs a parser of YAML, which most of those who know kinds do not

    front, body = _parts(text.check_text(written, where), where)
    try:
        fields = frontmatter.read(front)
    except frontmatter.NotYaml as error:
        hint = "Lines like `name: scout`; docs/kinds.md shows one."
        raise refused(where, error.line + 1, f"the front matter {error.why}", hint) from None
    place = _Place(where, {key: line + 1 for key, line in fields.lines.items()})
    for key in fields.values:
        if key not in _READERS:
            near = names.did_you_mean(key, _READERS) or f"Known: {', '.join(KEYS)}."
            raise refused(where, place.lines.get(key, 1), f"there is no key {text.quoted(key, 40)}", near)
    found: dict[str, Any] = {key: _READERS[key](value, key, place) for key, value in fields.values.items()}
    found["name"] = _named(found.get("name", ""), name, place)
    found.setdefault("worktree", not found.get("read_only", False))
    found.setdefault("permissions", READ if found.get("read_only", False) else EDIT)
    return Kind(**found, body=body)


def _parts(written: str, where: str) -> tuple[str, str]:
    lines = written.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != MARK:
        raise refused(where, 1, "it has no front matter", "It begins with `---`, lines like `name: scout`, and `---`.")
    end = next((at for at in range(1, len(lines)) if lines[at].rstrip() == MARK), None)
    if end is None:
        raise refused(where, len(lines), "it ends inside its front matter", "A line `---` ends that.")
    front = "\n".join(lines[1:end])
    if len(front) > MATTER_LIMIT:
        raise refused(where, 1, f"its front matter has {len(front):,} characters", f"At most {MATTER_LIMIT:,}.")
    return front, "\n".join(lines[end + 1 :]).strip("\n")


def _named(inside: str, known_as: str, place: _Place) -> str:
    if known_as and inside and names.key(inside) != names.key(known_as):
        place.refuse("name", f"is {inside}, and its file is {known_as}.md", "Give both the same name.")
    return inside or known_as or place.refuse("name", "is missing", "Add a line `name: NAME`.")


def _text(value: Any, key: str, place: _Place, limit: int = 10_000) -> str:
    if not isinstance(value, str):
        place.refuse(key, "is no text", f"As in `{key}: word`.")
    if len(value) > limit:
        place.refuse(key, f"has {len(value):,} characters", f"At most {limit:,}.")
    return value.strip()


def _line(value: Any, key: str, place: _Place) -> str:
    found = _text(value, key, place, 200)
    if text.plain(found, keep_newlines=False) != found:
        place.refuse(key, "has more than one line, or a control character", "Put the rest into the body.")
    return found


def _name(value: Any, key: str, place: _Place) -> str:
    found = _line(value, key, place)
    try:
        return names.check_name(found)
    except errors.BadInput as error:
        place.refuse(key, f"can not be used: {error.message}", error.hint)


def _switch(value: Any, key: str, place: _Place) -> bool:
    word = _line(value, key, place).lower()
    return word in _YES if word in (*_YES, *_NO) else place.refuse(key, f"is {text.quoted(word, 40)}", "true or false.")


def _seed(value: Any, key: str, place: _Place) -> bool:
    word = _line(value, key, place).lower()
    return word == "full" if word in ("full", "none") else _switch(value, key, place)


def _number(value: Any, key: str, place: _Place, most: float = 1_000_000_000) -> float:
    word = _line(value, key, place)
    try:
        found = float(word) if word.isascii() and "_" not in word else -1.0
    except ValueError:
        found = -1.0
    if not 0 <= found <= most:  # NaN is not, either
        place.refuse(key, f"is {text.quoted(word, 40)}", f"A number from 0 to {most:,.0f}.")
    return found


def _count(value: Any, key: str, place: _Place, most: int = 1_000_000) -> int:
    found = _number(value, key, place, most)
    return int(found) if found == int(found) else place.refuse(key, f"is {found}", "A whole number.")


def _span(value: Any, key: str, place: _Place) -> float:
    return _number(value, key, place, _YEAR_S)


def _texts(value: Any, key: str, place: _Place) -> tuple[str, ...]:
    given = cast("Sequence[Any]", value) if isinstance(value, list) else [value]
    return tuple(found for each in given if (found := _text(each, key, place, 2_000)))


def _choice(value: Any, key: str, place: _Place, known: Sequence[str]) -> str:
    word = _line(value, key, place).lower()
    if word in known:
        return word
    near = names.did_you_mean(word, known) or f"One of: {', '.join(known)}."
    place.refuse(key, f"is {text.quoted(word, 40)}", near)


def _commands(value: Any, key: str, place: _Place) -> tuple[str, ...]:
    found = _texts(value, key, place)
    for each in found:
        if not is_plain_command(each):
            place.refuse(key, f"has {text.quoted(each, 40)}", "How one begins, in plain words: `git commit`.")
    return found


def is_plain_command(beginning: str) -> bool:
    """Words that every program takes for these very words: other signs could be a pattern to one of them."""
    plain = beginning.translate({ord(sign): None for sign in " -_./"})
    return plain.isascii() and plain.isalnum() and beginning[0].isalnum()


def _permissions(value: Any, key: str, place: _Place) -> str:
    return _choice(value, key, place, PERMISSIONS)


def _respawn(value: Any, key: str, place: _Place) -> Respawn:
    """A policy alone, or with how often and after how long."""
    if not isinstance(value, Mapping):
        return Respawn(_choice(value, key, place, POLICIES))
    given = cast("Mapping[str, Any]", value)
    for inner in given:
        if inner not in Respawn._fields:
            near = names.did_you_mean(inner, Respawn._fields) or f"Known: {', '.join(Respawn._fields)}."
            place.refuse(f"{key}.{inner}", "is not known", near)
    made = Respawn()
    return Respawn(
        _choice(given.get("policy", ON_CRASH), f"{key}.policy", place, POLICIES),
        _count(given["limit"], f"{key}.limit", place, _RESPAWNS_MOST) if "limit" in given else made.limit,
        _span(given["backoff_s"], f"{key}.backoff_s", place) if "backoff_s" in given else made.backoff_s,
    )


_READERS: Mapping[str, Callable[[Any, str, _Place], Any]] = {
    "name": _name, "description": _line, "host": _line, "model": _line, "read_only": _switch, "plan_gate": _switch,
    "worktree": _switch, "seed": _seed, "can_spawn": _switch, "max_active": _count, "decision_rights": _texts,
    "max_artifacts": _count, "max_duration_s": _span, "permissions": _permissions, "commands": _commands,
    "respawn": _respawn, "on_mail": _switch, "guardrails_append": _text,
}  # fmt: skip


# -- as data -----------------------------------------------------------------------------------------------------------


def as_data(kind: Kind) -> dict[str, Any]:
    """As JSON, to be kept with a worker: what binds it is the kind as it was when it was made."""
    lists = {key: list(getattr(kind, key)) for key in _LISTS}
    return {**kind._asdict(), **lists, "respawn": kind.respawn._asdict()}


def from_data(data: Mapping[str, Any]) -> Kind:
    """What another version wrote may lack a key, or have one that is not known here."""
    known: dict[str, Any] = {"name": "", **{key: data[key] for key in Kind._fields if key in data}}
    known |= {key: tuple(known[key]) for key in _LISTS if key in known}
    if "respawn" in known:
        known["respawn"] = Respawn(**{key: known["respawn"][key] for key in Respawn._fields if key in known["respawn"]})
    return Kind(**known)


# -- rules -------------------------------------------------------------------------------------------------------------


STRICTER: Mapping[str, Callable[[Any, Any], bool]] = {
    # Is this at least as strict as what is below it?
    "read_only": lambda value, below: value or not below,
    "plan_gate": lambda value, below: value or not below,
    "worktree": lambda value, below: value or not below,
    "seed": lambda value, below: below or not value,
    "can_spawn": lambda value, below: below or not value,
    "on_mail": lambda value, below: below or not value,
    "max_active": lambda value, below: _is_lower(value, below),
    "max_artifacts": lambda value, below: _is_lower(value, below),
    "max_duration_s": lambda value, below: _is_lower(value, below),
    "permissions": lambda value, below: PERMISSIONS.index(value) <= PERMISSIONS.index(below),
    "commands": lambda value, below: set(value) <= set(below),
    "decision_rights": lambda value, below: set(value) <= set(below),
    "respawn": lambda value, below: (
        POLICIES.index(value.policy) <= POLICIES.index(below.policy)
        and value.limit <= below.limit and value.backoff_s >= below.backoff_s
    ),
    "host": lambda value, below: value in ("", below),
    "model": lambda value, below: value in ("", below),
}  # fmt: skip
TEXTS = ("description", "guardrails_append", "body")  # free under a name of its own; another's are not replaced


def _is_lower(value: float, below: float) -> bool:
    """0 is no limit."""
    return value == below or (value != 0 and (below == 0 or value < below))


def widened(kind: Kind, below: Kind) -> list[str]:
    """The fields in which a repository's kind allows more than the one below it: the user's or ours of that name, else
    the default kind. What a worker of another's kind is told is such a field as well."""
    replaces = names.key(kind.name) == names.key(below.name)
    found = [key for key, is_within in STRICTER.items() if not is_within(getattr(kind, key), getattr(below, key))]
    if kind.read_only and "worktree" in found:
        found.remove("worktree")  # it writes nowhere, so it needs no tree of its own
    return found + [key for key in TEXTS if replaces and getattr(kind, key) != getattr(below, key)]


def narrowed(kind: Kind, below: Kind) -> Kind:
    """A repository's kind as far as it may go by itself."""
    return kind._replace(**{key: _meet(key, kind, below) for key in widened(kind, below)})


def _meet(key: str, kind: Kind, below: Kind) -> Any:
    """The most that both allow."""
    if key in _LISTS:
        return tuple(each for each in getattr(kind, key) if each in getattr(below, key))
    if key != "respawn":
        return getattr(below, key)
    policy = min(kind.respawn.policy, below.respawn.policy, key=POLICIES.index)
    backoff_s = max(kind.respawn.backoff_s, below.respawn.backoff_s)
    return Respawn(policy, min(kind.respawn.limit, below.respawn.limit), backoff_s)


def loosens(kind: Kind, before: Kind) -> str:
    """What of another kind's bounds this one gives up: "read_only", "plan_gate" or nothing."""
    if before.read_only and not kind.read_only:
        return "read_only"
    return "plan_gate" if before.plan_gate and not (kind.plan_gate or kind.read_only) else ""


def bounded(child: Kind, parent: Kind, *, plan_ok: bool) -> Kind:
    """A worker's child may not do for it what it may not do itself."""
    if parent.read_only:
        return child._replace(read_only=True, permissions=READ)
    return child._replace(plan_gate=True) if parent.plan_gate and not plan_ok else child


def spawn_refusal(kind: Kind, depth: int, most: int) -> errors.NotYours | None:
    """Why a worker of this kind, so far below whoever is no worker, may not ask for another; None if it may."""
    if not kind.can_spawn:
        return errors.NotYours(
            f"A worker of the kind {kind.name} starts no other.",
            "Do it yourself, or `rook ask` whoever started you.",
            code="MAY_NOT_SPAWN",
        )
    if depth + 1 > most:
        return errors.NotYours(
            f"Workers are {depth} deep already; {most} are allowed.",
            "Do it yourself, or `rook ask` whoever started you.",
            code="TOO_DEEP",
        )
    return None


def may_spawn(kind: Kind, depth: int, most: int) -> bool:
    return spawn_refusal(kind, depth, most) is None


def respawn_delay(kind: Kind, crashes: int, *, crashed: bool = True) -> int | None:
    """Milliseconds until it is started again; None if it is not. `crashes`: how often in a row, with this time;
    `crashed`: or did it end by itself, without a report?"""
    rule = kind.respawn
    if rule.policy == NEVER or (rule.policy == ON_CRASH and not crashed) or crashes > rule.limit:
        return None
    return min(round(rule.backoff_s * 1000) << max(crashes - 1, 0), max(BACKOFF_MOST_MS, round(rule.backoff_s * 1000)))


def max_duration_ms(kind: Kind) -> int | None:
    """As long as one run may take; None: any time."""
    return round(kind.max_duration_s * 1000) or None


READ_ONLY = (
    "a worker of the kind {kind} only reads: it writes, commits and reserves nothing. Tell what you would change in "
    "your report, or hand it on: `rook ask`"
)
GATED = (
    "your plan has not been agreed to, and until then you only read. Put it forward: `rook ask --plan`, and wait for "
    "the answer"
)


def write_refusal(kind: Kind, *, plan_ok: bool) -> str:
    """Why a worker may not write anything now, and what to do instead; "" if nothing is against it."""
    if kind.read_only:
        return READ_ONLY.format(kind=kind.name)
    return GATED if kind.plan_gate and not plan_ok else ""
