"""A message written as a file (seed 001): where its parts are, what its fields mean, and whom its addresses may mean.

    ---                            front matter: YAML
    to: research-807055/interviewer
    from: core/core
    type: task
    msg-id: abc123
    ---
    the body: Markdown
    ---                            rear matter, if the file ends with it and it speaks of one of REAR
    spawn:
      mesh: research
      reason: analyze competitor strategy
    ---

Everything is taken from what stands inside, nothing from the file's name. Parsed values come in as a YAML loader that
resolves nothing gives them: text, lists and mappings of text.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from rookery.core.record import NamedTuple

from . import errors, extras, names, text

MARK = "---"
REAR = ("spawn", "entity_refs", "report")
SPAWN = ("mesh", "kind", "reason", "context", "lens", "priority")
MATTER_LIMIT = 16_384  # characters of front or rear matter: nobody writes more by hand, and parsing it takes time
WORD_LIMIT = 200
ID_LIMIT = 150  # an idempotency key is made of it
RECIPIENTS = 100
REFERENCES = 100
NOT_WHOLE, NO_FRONT = "NOT_WHOLE", "NO_FRONT_MATTER"
_YES, _NO = ("true", "yes", "on"), ("false", "no", "off", "")
_HINT = "It begins with `---`, lines like `to: NAME`, and `---`; docs/maildrop.md shows one."


class Matter(NamedTuple):
    front: str
    body: str
    rear: str


class Letter(NamedTuple):
    """What a file says, as the verb that takes it in wants it."""

    sender: str
    args: dict[str, Any]


# -- the parts of a file ---------------------------------------------------------------------------------------------


def split(written: str) -> Matter:
    """The parts, or a refusal: NOT_WHOLE where more may be coming, NO_FRONT_MATTER where that would not help."""
    lines = written.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    first = next((at for at, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise errors.BadInput("It is empty.", _HINT, code=NOT_WHOLE)
    if lines[first].rstrip() != MARK:
        cut = MARK.startswith(lines[first]) and first == len(lines) - 1
        raise errors.BadInput("It has no front matter.", _HINT, code=NOT_WHOLE if cut else NO_FRONT)
    end = next((at for at in range(first + 1, len(lines)) if lines[at].rstrip() == MARK), None)
    if end is None:
        raise errors.BadInput("It ends inside its front matter.", "A line `---` ends that.", code=NOT_WHOLE)
    body, rear = _without_rear(lines[end + 1 :])
    front = "\n".join(lines[first + 1 : end])
    for part in (front, rear):
        if len(part) > MATTER_LIMIT:
            raise errors.TooLarge(f"Front or rear matter has {len(part):,} characters.", f"At most {MATTER_LIMIT:,}.")
    return Matter(front, "\n".join(body).strip("\n"), rear)


def _without_rear(lines: Sequence[str]) -> tuple[Sequence[str], str]:
    """Rules are Markdown too: what stands between the last two is rear matter only if it speaks of one of REAR."""
    last = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].strip()), 0)
    if not lines or lines[last].rstrip() != MARK:
        return lines, ""
    begin = next((at for at in range(last - 1, -1, -1) if lines[at].rstrip() == MARK), None)
    inside = lines[begin + 1 : last] if begin is not None else ()
    if not any(line.startswith(f"{word}:") for line in inside for word in REAR):
        return lines, ""
    return lines[:begin], "\n".join(inside)


# -- what the fields mean --------------------------------------------------------------------------------------------


def letter(front: Mapping[str, Any], body: str, rear: Mapping[str, Any], *, rounds_max: int) -> Letter:
    sender = _word(front, "from") or _missing("from")
    # What is kept of it counts for the size of a message; what nobody knows a meaning for is kept all the same.
    known = {name: value for name, value in _FIELDS.items() if name in front}
    args: dict[str, Any] = {
        "sender": sender, "to": _words(front, "to", RECIPIENTS) or _missing("to"), "body": body,
        "subject": _word(front, "subject", 500) or _first_line(body) or _missing("subject"),
        **{arg: read(front, name) for name, (arg, read) in known.items()},
    }  # fmt: skip
    if rounds := _rounds(front, rounds_max):
        args["rounds"] = rounds
    others = {name: front[name] for name in front if name not in _KNOWN}
    if others:
        args["payload"] = others
    return Letter(sender, args | _rear(rear))


def rear_matter(rear: Mapping[str, Any], refs: Sequence[str]) -> dict[str, Any]:
    """The same from another door: checked as what stands in a file."""
    return _rear({**rear, **({"entity_refs": list(refs)} if refs else {})})


def _rear(rear: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in rear:
        if name not in REAR:
            hint = names.did_you_mean(name, REAR) or f"One of: {', '.join(REAR)}."
            raise errors.BadInput(f"Rear matter has no {text.quoted(name, 40)}.", hint)
    if "spawn" in rear:
        found["spawn"] = spawn_request(rear["spawn"])
    if "entity_refs" in rear:
        found["entity_refs"] = _words(rear, "entity_refs", REFERENCES)
    return found


def spawn_request(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise errors.BadInput("spawn is no mapping.", f"With: {', '.join(SPAWN)}.")
    asked = cast("Mapping[str, Any]", given)
    for name in asked:
        if name not in SPAWN:
            hint = names.did_you_mean(name, SPAWN) or f"With: {', '.join(SPAWN)}."
            raise errors.BadInput(f"spawn has no {text.quoted(name, 40)}.", hint)
    if not (_word(asked, "mesh") or _word(asked, "kind")):
        raise errors.BadInput("spawn does not say what.", "Give it a mesh or a kind.")
    said = {name: _word(asked, name, 10_000 if name == "context" else 500) for name in asked if name != "lens"}
    return said | ({"lens": _words(asked, "lens", extras.LENSES)} if "lens" in asked else {})


def _rounds(front: Mapping[str, Any], most: int) -> int:
    said = _word(front, "self-modify").lower()
    if said in _NO:
        return 0
    if said in _YES:
        return most
    if not (said.isascii() and said.isdigit() and len(said) <= 6):
        raise errors.BadInput(f"self-modify is {text.quoted(said, 40)}.", "How many rounds, or true or false.")
    return int(said)


def _switch(front: Mapping[str, Any], name: str) -> bool:
    said = _word(front, name).lower()
    if said in _YES or said in _NO:
        return said in _YES
    raise errors.BadInput(f"{name} is {text.quoted(said, 40)}.", "true or false.")


def _word(given: Mapping[str, Any], name: str, limit: int = WORD_LIMIT) -> str:
    value = given.get(name, "")
    if not isinstance(value, str):
        raise errors.BadInput(f"{name} is no text.", f"As in `{name}: word`.")
    value = text.check_text(value.strip(), name)
    if len(value) > limit:
        raise errors.TooLarge(f"{name} has {len(value):,} characters; {limit:,} are allowed.", "Shorten it.")
    return value


def _words(given: Mapping[str, Any], name: str, most: int) -> list[str]:
    """A list, or one line with commas."""
    value = given.get(name, "")
    parts: list[Any] = value.split(",") if isinstance(value, str) else value
    if not isinstance(value, str | list):
        raise errors.BadInput(f"{name} is neither text nor a list.", f"As in `{name}: one, two`.")
    found = [word for part in parts if (word := _word({name: part}, name))]
    if len(found) > most:
        raise errors.TooLarge(f"{name} names {len(found)}; {most} are allowed.", "Name fewer.")
    return found


def _id(front: Mapping[str, Any], name: str) -> str:
    return _word(front, name, ID_LIMIT)


def _lenses(front: Mapping[str, Any], name: str) -> list[str]:
    return _words(front, name, extras.LENSES)


def _first_line(body: str) -> str:
    """Of the body, as a subject: a heading without its marks."""
    line = next((line for line in body.split("\n") if line.strip()), "")
    return text.one_line(line.lstrip("# "), 120)


def _missing(name: str) -> Any:
    hint = "Its first line would do." if name == "subject" else f"Add a line `{name}: NAME`."
    raise errors.BadInput(f"{name} is missing.", hint)


# A field of the front matter, the verb's word for it, and how it is read.
_FIELDS: Mapping[str, tuple[str, Callable[[Mapping[str, Any], str], Any]]] = {
    "type": ("type", _word), "status": ("status", _word), "priority": ("priority", _word), "msg-id": ("msg_id", _id),
    "timestamp": ("written_at", _word), "reply-to": ("reply_to", _word), "lens": ("lens", _lenses),
    "clear-before": ("clear_before", _switch),
}  # fmt: skip
_KNOWN = frozenset((*_FIELDS, "from", "to", "subject", "self-modify"))


# -- whom an address means -------------------------------------------------------------------------------------------


def addresses(word: str) -> list[str]:
    """Names that TX's addresses may stand for, the most particular first: `core`, `mesh/agent`, `mesh-id-agent`."""
    mesh, slash, agent = word.partition("/")
    if slash:
        found = [word, f"{_without_id(mesh)}/{agent}", *([mesh] if mesh == agent else [])]
    else:
        found = [word, f"{word}/{word}"]
        parts = word.split("-")
        for at in range(1, len(parts) - 1):
            if _is_id(parts[at]):
                mesh, agent = "-".join(parts[:at]), "-".join(parts[at + 1 :])
                found += [f"{mesh}-{parts[at]}/{agent}", f"{mesh}/{agent}"]
    return list(dict.fromkeys(found))


def _without_id(mesh: str) -> str:
    name, dash, last = mesh.rpartition("-")
    return name if dash and _is_id(last) else mesh


def _is_id(part: str) -> bool:
    """What TX puts between: at least four characters, a digit among them."""
    return len(part) >= 4 and part.isalnum() and any(c.isdigit() for c in part)
