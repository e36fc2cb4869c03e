"""A request, read and checked: who asks, for which team, with what."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, NoReturn
from urllib.parse import unquote_plus

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from rookery.core import errors, locality, names, text
from rookery.core.caller import UNPROVEN, Caller, Grant, Origin

from .admission import too_slow
from .daemon import Daemon
from .guard import GRANT, ORIGIN

WAIT_LIMIT_S = 300.0
CALLER_HEADER = "x-rook-caller"  # from our own client: its names, and labels of its process that only it interprets
AGENT_HEADER = "x-rook-agent"
KEY_HEADER = "idempotency-key"
PID_LIMIT = 1 << 31


def _no_constant(word: str) -> NoReturn:
    raise ValueError(word)


_decode = json.JSONDecoder(parse_constant=_no_constant).decode  # made once: `loads` makes one per call


class Ask:
    def __init__(self, daemon: Daemon, scope: Scope, params: dict[str, str], body: dict[str, Any]) -> None:
        self.daemon = daemon
        self.scope = scope
        self.params = params
        self.body = body
        self.grant: Grant | None = scope[GRANT]
        self.origin: Origin | None = scope[ORIGIN]
        self._team = ""  # once it is known
        self._headers: dict[bytes, bytes] = dict(scope["headers"])
        self._asked = dict(_parsed_query(scope["query_string"]))  # of a name that is there twice the last one counts

    # -- what was given ----------------------------------------------------------------------------------------------

    def path(self, name: str) -> str:
        return self.params[name]

    def query(self, name: str, otherwise: str = "") -> str:
        return self._asked.get(name, otherwise)

    def queries(self, name: str) -> list[str]:
        """Every value of a name that may be there more than once."""
        return [value for asked, value in _parsed_query(self.scope["query_string"]) if asked == name]

    def header(self, name: str, otherwise: str = "") -> str:
        found = self._headers.get(name.encode())
        return otherwise if found is None else found.decode("latin-1")

    def whole(self, name: str, otherwise: int) -> int:
        written = self.query(name)
        if not written:
            return otherwise
        if not (written.isascii() and written.isdigit() and len(written) <= 15):
            raise errors.BadInput(f"{name} is {text.quoted(written)}; it takes a whole number.", f"{name}={otherwise}")
        return int(written)

    def wait_s(self) -> float:
        written = self.query("wait", "0")
        try:
            seconds = float(written)
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds <= WAIT_LIMIT_S:
            raise errors.BadInput(f"wait is {text.quoted(written)}.", f"Seconds, 0 to {WAIT_LIMIT_S:.0f}.")
        return seconds

    def given(self, *fields: str) -> dict[str, Any]:
        """Those of these fields that the body has and that say something."""
        return {name: self.body[name] for name in fields if self.body.get(name) is not None}

    def need(self, *fields: str) -> None:
        for name in fields:
            if self.body.get(name) in (None, ""):
                raise errors.BadInput(f"Missing: {name}.", f'Give "{name}" in the body.', code="MISSING_FIELD")

    @property
    def key(self) -> dict[str, str]:
        written = self.header(KEY_HEADER)
        return {"key": written} if written else {}

    # -- who and where -----------------------------------------------------------------------------------------------

    def _asked_team(self) -> str:
        own = self.grant.team if self.grant else self.daemon.team
        return self.daemon.serves(self.query("teamId") or self._name("teamId") or own)

    def team(self) -> str:
        self._team = self._team or self._asked_team()
        return self._team

    def agent(self) -> str | None:
        """Who asks; with an agent's token nobody has to say so."""
        return self._said() or (self.grant.name if self.grant else None) or None

    def _said(self) -> str | None:
        """From the body, the query or a header; the first counts, and none of them may be anything but a name."""
        said = (self._name("agentId"), self.query("agentId"), self.header(AGENT_HEADER))
        checked = [not_system(names.check_address(name)) for name in said if name]
        return checked[0] if checked else None

    def _name(self, field: str) -> str:
        name = self.body.get(field)
        if name is not None and not isinstance(name, str):
            raise errors.BadInput(f"{field} is no text.", names.NAME_CHARS, code="BAD_NAME")
        return name or ""

    def caller(self) -> Caller:
        """Who calls. Nothing that the header says about place, host or process is believed (`core.locality`).

        With the team's token a valid name that is not known yet is made on first use (seed 002).
        """
        told = self.header(CALLER_HEADER)
        caller = told_caller(told) if told else Caller(agent=self._said(), open_addresses=True)
        if self.grant is None:
            return locality.mark_remote(caller)._replace(daemon_token=True, origin=self.origin)
        named = self._named(caller.agent)
        return locality.strip_to_name(caller)._replace(agent=named, grant=self.grant, origin=self.origin)

    def _named(self, told: str | None) -> str | None:
        """With an agent's token every name has to be its own, wherever it stands: one that is not is put to the law."""
        if self.grant is None or self.grant.reads_only:
            return told
        headed = [value.decode("latin-1") for name, value in self.scope["headers"] if name == AGENT_HEADER.encode()]
        said = [told, self.body.get("agentId"), *self.queries("agentId"), *headed]
        others = [str(name) for name in said if name and names.key(str(name)) != names.key(self.grant.name)]
        return others[0] if others else None

    # -- calling -----------------------------------------------------------------------------------------------------

    async def call(self, verb: str, args: dict[str, Any]) -> Any:
        return await self.daemon.call(self.team(), verb, self._placed(verb, args), self.caller())

    def _placed(self, verb: str, args: dict[str, Any]) -> Mapping[str, Any]:
        """Our own client resolved paths where it is."""
        return args if self.header(CALLER_HEADER) else self.daemon.placed(self.team(), verb, args)

    async def wait_for(self, verb: str, args: dict[str, Any]) -> Any:
        return await self.daemon.wait_for(self.team(), verb, args, self.caller(), self.wait_s())


def _parsed_query(written: bytes) -> list[tuple[str, str]]:
    if not written:
        return []
    parts = (part.partition("=") for part in written.decode("latin-1").split("&") if part)
    return [(unquote_plus(name), unquote_plus(value)) for name, _, value in parts]


def not_system(agent: str) -> str:
    if names.key(agent) == names.SYSTEM:
        raise errors.BadInput("Nobody speaks as the system.", "Give the agent's own name.", code="RESERVED_NAME")
    return agent


def told_caller(told: str) -> Caller:
    try:
        fields = json.loads(told)
        if any(name in fields for name in UNPROVEN):
            raise ValueError("a caller proves nothing by saying so")
        caller = Caller(**fields)
        process = None if caller.process is None else _process(caller.process)
        lineage = tuple(_process(each) for each in caller.lineage[:200])
    except (ValueError, TypeError, RecursionError):
        raise _no_caller() from None
    whole = caller._replace(process=process, lineage=lineage)
    named = [word for word in (whole.agent, whole.session) if word is not None]
    words = (*named, whole.host, whole.boot, whole.cwd, whole.tree)
    if not all(isinstance(word, str) for word in words) or not isinstance(whole.open_addresses, bool):
        raise _no_caller()
    if whole.agent:
        not_system(whole.agent)
    for word in words:
        text.check_text(word, "the caller")
    return whole


def _process(told: Any) -> tuple[int, str]:
    """A pid and when it started, as any store can hold them."""
    pid, started = told
    if type(pid) is not int or not 0 <= pid <= PID_LIMIT or not isinstance(started, str):
        raise ValueError(told)
    return pid, text.check_text(started, "the caller")


def _no_caller() -> errors.BadInput:
    return errors.BadInput(f"The header {CALLER_HEADER} is no caller.", "Leave it out.")


async def read_body(scope: Scope, receive: Receive, daemon: Daemon) -> dict[str, Any]:
    return parsed(await read_bytes(scope, receive, daemon))


async def read_bytes(scope: Scope, receive: Receive, daemon: Daemon) -> bytes:
    limit = daemon.body_limit
    declared = dict(scope["headers"]).get(b"content-length", b"0")
    if declared.isdigit() and int(declared) > limit:
        _too_large(limit)
    try:
        async with asyncio.timeout(daemon.body_s):
            return await _received(receive, limit)
    except TimeoutError:
        raise too_slow(daemon.body_s, "daemon.body_s") from None


async def _received(receive: Receive, limit: int) -> bytes:
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            _too_large(limit)
        more = message.get("more_body", False)
    return b"".join(parts)


def _too_large(limit: int) -> NoReturn:
    raise errors.TooLarge(f"A request has at most {limit:,} bytes.", "Put it in a file and name that.")


def parsed(data: bytes) -> dict[str, Any]:
    if not data.strip():
        return {}
    try:
        body = _decode(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise errors.BadInput("The body is no JSON.", "Send a JSON object in UTF-8.", code="BAD_JSON") from None
    if not isinstance(body, dict):
        raise errors.BadInput("The body must be a JSON object.", 'For example {"title": "..."}.', code="BAD_JSON")
    return body
