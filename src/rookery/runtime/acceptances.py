"""What the user accepted of repositories: one private file in the home, `trust.json`.

    {"schemaVersion": 1, "repositories": {KEY: {"path": "...", "accepted": {DIGEST: "what it was"}, "told": DIGEST}}}

KEY is the repository's identity. A file that can not be read accepts nothing, and is an error to whoever writes it.
"""

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from rookery.core import errors
from rookery.runtime import files, identity, places

FILE = "trust.json"
LIMIT = 16 << 20
SCHEMA = 1


class Acceptances:
    """Of one repository. Nothing is read before somebody asks."""

    def __init__(self, home: str, folder: str) -> None:
        self._home = home
        self._folder = folder
        self._seen: tuple[int, ...] = ()
        self._known: frozenset[str] = frozenset()

    @property
    def path(self) -> str:
        """The repository, as people know it."""
        return self.repository.path

    @property
    def _file(self) -> str:
        return os.path.join(self._home, FILE)

    @cached_property
    def repository(self) -> identity.Identity:
        return identity.find(self._folder)

    def _digests(self) -> frozenset[str]:
        """Read again when the file changed: a resident process learns of it too."""
        look = _look(self._file)
        if look != self._seen:
            self._seen, self._known = look, self._load() if look else frozenset()
        return self._known

    def _load(self) -> frozenset[str]:
        try:
            return frozenset(self._entry(self._read())["accepted"])
        except errors.StoreUnusable:
            return frozenset()

    def accepts(self, digest: str) -> bool:
        return digest in self._digests()

    def accept(self, accepted: Mapping[str, str]) -> None:
        """These contents, by digest with a line about each; what was accepted before stays."""
        self.repository = identity.establish(self.repository)
        self._write(lambda entry: entry["accepted"].update(accepted))

    def count(self) -> int:
        return len(self._digests())

    def revoke(self) -> None:
        self._write(lambda entry: entry["accepted"].clear())

    def tell_once(self, digests: Iterable[str]) -> bool:
        """Is this, of what is not in force, new to the user? From now on it is not."""
        import hashlib

        told = hashlib.sha256("".join(sorted(digests)).encode()).hexdigest()
        try:
            if self._entry(self._read())["told"] == told:
                return False
            self._write(lambda entry: entry.update(told=told))
        except (errors.Unreachable, OSError):
            pass  # a home that can not be written: then it is said again
        return True

    def _read(self) -> dict[str, Any]:
        import json

        if not os.path.lexists(self._file):
            return {"schemaVersion": SCHEMA, "repositories": {}}
        try:
            found = json.loads(files.read_limited(self._file, LIMIT))
            known: Any = found["repositories"]
            sound = found["schemaVersion"] == SCHEMA and all(_is_entry(each) for each in known.values())
        except (errors.BadInput, ValueError, KeyError, TypeError, AttributeError):
            sound, found = False, {}
        if not sound:
            raise errors.StoreUnusable(
                f"{self._file} can not be read as a record of trust.",
                f"Look at it; `rm {self._file}` forgets all of it.", path=self._file,
            )  # fmt: skip
        return found

    def _entry(self, found: dict[str, Any]) -> dict[str, Any]:
        """By id; what was accepted before the repository had one is filed under its path."""
        known = found["repositories"]
        return known.get(self.repository.key) or {"path": self.repository.path, "accepted": {}, "told": ""}

    def _write(self, change: Any) -> None:
        import json

        places.prepare_home(self._home)
        found = self._read()
        entry = self._entry(found)
        change(entry)
        found["repositories"][self.repository.key] = entry | {"path": self.repository.path}
        files.write_atomic(self._file, json.dumps(found, indent=1).encode(), 0o600)
        self._seen = ()


def _is_entry(entry: Any) -> bool:
    return isinstance(entry["path"], str) and isinstance(entry["accepted"], dict) and isinstance(entry["told"], str)


def _look(path: str) -> tuple[int, ...]:
    try:
        seen = os.stat(path)
    except OSError:
        return ()
    return seen.st_ino, seen.st_mtime_ns, seen.st_size
