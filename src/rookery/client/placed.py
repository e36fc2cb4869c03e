"""A client that stands somewhere: paths among the arguments are resolved where the caller is, before the verb (H24).

A verb knows no disk, and the daemon that runs it may be far from the caller's. So whoever stands at the workspace gives
every path its one spelling; which arguments are paths, the table of verbs says. What lies outside is refused where it
would be taken, and left as a full path where it is only asked about: the verb answers that it is outside.
"""

import os
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from rookery.core import errors
from rookery.core.caller import Caller
from rookery.runtime import resolve
from rookery.service import verbs
from rookery.wake.port import Listener

from .port import Client

PATHS, PATTERNS, DOCUMENT = "paths", "patterns", "document"


class Ground(NamedTuple):
    cwd: str
    workspace: str

    def path(self, written: str) -> str:
        try:
            return resolve.logical(written, self.cwd, self.workspace)
        except errors.BadInput as error:
            if error.code != resolve.OUTSIDE:
                raise
            return os.path.join(self.cwd, written)

    def pattern(self, written: str) -> str:
        return resolve.pattern(written, self.cwd, self.workspace)

    def document(self, written: str) -> str:
        """A file, inside or outside, or an address on the net."""
        return self.path(written) if written.strip() and "://" not in written else written


def placed(verb: str, args: Mapping[str, Any], ground: Ground) -> Mapping[str, Any]:
    """The arguments with their paths resolved; what has the wrong type is left for the verb's own check to refuse."""
    found: dict[str, Any] = {}
    for name, kind in _kinds(verbs.find(verb).load()):
        value = args.get(name)
        if kind == DOCUMENT and isinstance(value, str):
            found[name] = ground.document(value)
        elif kind != DOCUMENT and verbs.fits(value, list[str]):
            found[name] = [ground.path(each) if kind == PATHS else ground.pattern(each) for each in args[name]]
    return {**args, **found} if found else args


@cache
def _kinds(function: Callable[..., Any]) -> tuple[tuple[str, str], ...]:
    return tuple((p.name, p.arg.kind) for p in verbs.parameters(function) if p.arg.kind in (PATHS, PATTERNS, DOCUMENT))


class PlacedClient:
    def __init__(self, inner: Client, ground: Ground) -> None:
        self.team = inner.team
        self._inner = inner
        self._ground = ground

    def call(self, verb: str, args: Mapping[str, Any], caller: Caller) -> Any:
        return self._inner.call(verb, placed(verb, args, self._ground), caller)

    def listen(self, name: str) -> Listener:
        return self._inner.listen(name)

    def close(self) -> None:
        self._inner.close()
