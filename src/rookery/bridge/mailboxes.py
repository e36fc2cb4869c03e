"""Seed 004's files: `<folder>/<agent>/inbox/MSG-*.json` and `archive/`, one file per delivery, written and read.

An export can be repeated into the same folder: a file is replaced, or moves to the archive with its message. An import
takes in everything or nothing, and passes over what is here already. What stands in a file counts, not where it lies.
"""

import json
import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import Any

from rookery.client.port import Client
from rookery.core import errors, names, text
from rookery.core.caller import Caller
from rookery.runtime import files, trees
from rookery.service.exchange import Problem, unreadable
from rookery.service.verbs import fits

from .message import Message, MessagePriority, MessageStatus, MessageType, milliseconds, of_card

INBOX, ARCHIVE = "inbox", "archive"
PREFIX, SUFFIX = "MSG-", ".json"
FILE_LIMIT = 64 << 20

# What a file says; what has a default may be left out or null.
_SHAPE: Mapping[str, Any] = {
    "id": str, "from_agent": str, "to_agent": str, "swarm_name": str | None, "type": str, "subject": str, "body": str,
    "payload": dict[str, Any], "priority": int, "created_at": str, "expires_at": str | None, "status": str,
    "read_at": str | None, "completed_at": str | None, "reply_to": str | None, "thread_id": str | None,
    "context": dict[str, Any], "attachments": list[str], "tags": list[str],
}  # fmt: skip
_DEFAULTS: Mapping[str, Any] = {
    "swarm_name": None, "payload": {}, "expires_at": None, "status": "unread", "read_at": None, "completed_at": None,
    "reply_to": None, "thread_id": None, "context": {}, "attachments": [], "tags": [],
}  # fmt: skip
_CHOICES = (("type", MessageType), ("priority", MessagePriority), ("status", MessageStatus))


# -- out ---------------------------------------------------------------------------------------------------------


def export(client: Client, caller: Caller, folder: str) -> dict[str, Any]:
    """Write every delivery of the team; how many, and where they lie."""
    counts = {INBOX: 0, ARCHIVE: 0}
    agents: set[str] = set()
    messages = _messages(client, caller)
    first = next(messages, None)  # a refusal leaves no folder behind
    trees.make_folder(folder, parents=True)
    for message in chain([first] if first else [], messages):
        box = os.path.join(folder, folder_name(message.to_agent))
        if message.to_agent not in agents:
            for path in (box, os.path.join(box, INBOX), os.path.join(box, ARCHIVE)):
                trees.make_folder(path)
            agents.add(message.to_agent)
        here, other = (ARCHIVE, INBOX) if message.status is MessageStatus.ARCHIVED else (INBOX, ARCHIVE)
        files.write_atomic(os.path.join(box, here, message.id + SUFFIX), _written(message))
        trees.remove_file(os.path.join(box, other, message.id + SUFFIX))
        counts[here] += 1
    return {"exported": sum(counts.values()), **counts, "agents": len(agents)}


def folder_name(agent: str) -> str:
    """`group/name` becomes `group_name`. A name begins with a letter, a digit or `_`, so it leads nowhere else."""
    return names.check_address(agent).replace("/", "_")


def _messages(client: Client, caller: Caller) -> Iterator[Message]:
    after = None
    while True:
        page = client.call("export_mail", {"after": after}, caller)
        for letter in page["letters"]:
            yield of_card(letter, letter["recipient"])
        after = page["after"]
        if after is None:
            return


def _written(message: Message) -> bytes:
    return json.dumps(message.to_dict(), indent=2).encode() + b"\n"


# -- in ----------------------------------------------------------------------------------------------------------


def load(client: Client, caller: Caller, folder: str) -> dict[str, Any]:
    """Take in every file of the tree, or none; how many were taken and how many were here already."""
    letters: list[dict[str, Any]] = []
    sources: list[str] = []
    problems: list[Problem] = []
    total = 0
    for path, problem in _found(folder):
        total += 1
        where = text.one_line(os.path.relpath(path, folder), 200)
        try:
            if problem:
                raise errors.BadInput(problem)
            letters.append(_letter(_read(path)))
            sources.append(where)
        except errors.BadInput as error:
            problems.append(Problem(where, error.message))
    if problems:
        raise unreadable(problems, total)
    return client.call("import_mail", {"letters": letters, "sources": sources}, caller)


def _found(folder: str) -> Iterator[tuple[str, str]]:
    """Every message file, and what is wrong with it as a file. Nothing is followed out of the folder."""
    for box in trees.entries(folder):
        if box.kind == "symlink":
            yield box.path, "It is a symlink."
        elif box.kind == "folder":
            for shelf in trees.entries(box.path):
                if shelf.name in (INBOX, ARCHIVE):
                    yield from _shelved(shelf)


def _shelved(shelf: trees.Entry) -> Iterator[tuple[str, str]]:
    if shelf.kind != "folder":
        yield shelf.path, f"It is a {shelf.kind}, not a folder." if shelf.kind != "other" else "It is not a folder."
        return
    for entry in trees.entries(shelf.path):
        if entry.name.startswith(PREFIX) and entry.name.endswith(SUFFIX):
            yield entry.path, "" if entry.kind == "file" else f"It is a {entry.kind}, not a file."


def _read(path: str) -> Any:
    try:
        found = json.loads(files.read_limited(path, FILE_LIMIT).decode(), parse_constant=_refuse_constant)
        text.check_characters(json.dumps(found, ensure_ascii=False), "it")
        return found
    except errors.TooLarge:
        raise errors.BadInput(f"It has more than {FILE_LIMIT:,} bytes.") from None
    except (ValueError, RecursionError) as error:  # JSONDecodeError and UnicodeDecodeError are ValueErrors
        raise errors.BadInput(f"It is not JSON: {error}.") from None


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is no number")


def _letter(data: Any) -> dict[str, Any]:
    """What `import_mail` takes, from what stands in a file. Only the form is judged here; the rest is the verb's."""
    if not isinstance(data, dict):
        raise errors.BadInput("It is not a JSON object.")
    given = {**_DEFAULTS, **{name: value for name, value in data.items() if value is not None}}
    for name, kind in _SHAPE.items():
        if name not in given:
            raise errors.BadInput(f"{name} is missing.")
        if not fits(given[name], kind):
            raise errors.BadInput(f"{name} has the wrong type: {type(given[name]).__name__}.")
    for name, choice in _CHOICES:
        if given[name] not in {each.value for each in choice}:
            raise errors.BadInput(f"There is no {name} {text.quoted(str(given[name]), 40)}.")
    return {
        "id": given["id"], "from": given["from_agent"], "to": given["to_agent"], "group": given["swarm_name"],
        "thread": given["thread_id"], "state": given["status"], "at": _moment(given, "created_at"),
        **{name: _moment(given, name) for name in ("expires_at", "read_at", "completed_at")},
        **{name: given[name] for name in ("type", "priority", "subject", "body", "payload", "context", "attachments",
                                          "tags", "reply_to")},
    }  # fmt: skip


def _moment(given: Mapping[str, Any], name: str) -> int | None:
    if given[name] is None:
        return None
    try:
        return milliseconds(datetime.fromisoformat(given[name]))
    except ValueError:
        raise errors.BadInput(f"{name} is no time: {text.quoted(given[name], 40)}.") from None
