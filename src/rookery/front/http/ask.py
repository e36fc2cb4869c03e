"""A request, read and checked: who asks, for which team, with what."""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from starlette.requests import Request

from rookery.client.placed import Ground, placed
from rookery.core import errors, names, text
from rookery.core.caller import Caller

from .daemon import Daemon

WAIT_LIMIT_S = 300.0
CALLER_HEADER = "x-rook-caller"  # our own client tells everything it knows about its process
AGENT_HEADER = "x-rook-agent"
KEY_HEADER = "idempotency-key"


class Ask:
    def __init__(self, daemon: Daemon, request: Request, body: dict[str, Any]) -> None:
        self.daemon = daemon
        self.request = request
        self.body = body

    # -- what was given ----------------------------------------------------------------------------------------------

    def path(self, name: str) -> str:
        return self.request.path_params[name]

    def query(self, name: str, otherwise: str = "") -> str:
        return self.request.query_params.get(name, otherwise)

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
        written = self.request.headers.get(KEY_HEADER, "")
        return {"key": written} if written else {}

    # -- who and where -----------------------------------------------------------------------------------------------

    def team(self) -> str:
        team = self.query("teamId") or self.body.get("teamId") or self.daemon.team
        if not isinstance(team, str):
            raise errors.BadInput("teamId is no text.", "Leave it out for the daemon's own team.")
        return self.daemon.serves(team)

    def agent(self) -> str | None:
        agent = self.body.get("agentId") or self.query("agentId") or self.request.headers.get(AGENT_HEADER) or None
        if agent is None:
            return None
        if not isinstance(agent, str):
            raise errors.BadInput("agentId is no text.", names.NAME_CHARS, code="BAD_NAME")
        return not_system(names.check_address(agent))

    def caller(self) -> Caller:
        """With the team's token a valid name that is not known yet is made on first use (seed 002)."""
        told = self.request.headers.get(CALLER_HEADER)
        if told is None:
            return Caller(agent=self.agent(), open_addresses=True)
        return told_caller(told)

    # -- calling -----------------------------------------------------------------------------------------------------

    async def call(self, verb: str, args: dict[str, Any]) -> Any:
        return await self.daemon.call(self.team(), verb, self._placed(verb, args), self.caller())

    def _placed(self, verb: str, args: dict[str, Any]) -> Mapping[str, Any]:
        """Paths are taken from the top of our own team's workspace. Our own client resolved them where it is; of other
        teams the workspace is not known here, and the verb refuses what is not plainly inside."""
        if CALLER_HEADER in self.request.headers or self.team() != self.daemon.team:
            return args
        root = self.daemon.house.places.root
        return placed(verb, args, Ground(root, root))

    async def wait_for(self, verb: str, args: dict[str, Any]) -> Any:
        return await self.daemon.wait_for(self.team(), verb, args, self.caller(), self.wait_s())


def not_system(agent: str) -> str:
    if names.key(agent) == names.SYSTEM:
        raise errors.BadInput("Nobody speaks as the system.", "Give the agent's own name.", code="RESERVED_NAME")
    return agent


def told_caller(told: str) -> Caller:
    try:
        fields = json.loads(told)
        caller = Caller(**fields)
        process = tuple(caller.process) if caller.process else None
        lineage = tuple((int(pid), str(started)) for pid, started in caller.lineage[:200])
        whole = caller._replace(process=process, lineage=lineage)
    except (ValueError, TypeError):
        raise errors.BadInput(f"The header {CALLER_HEADER} is no caller.", "Leave it out.") from None
    _check_caller(whole)
    return whole


def _check_caller(caller: Caller) -> None:
    words = (caller.agent, caller.session, caller.host, caller.boot, caller.cwd, caller.tree)
    if not all(word is None or isinstance(word, str) for word in words) or not isinstance(caller.open_addresses, bool):
        raise errors.BadInput(f"The header {CALLER_HEADER} is no caller.", "Leave it out.")
    if caller.process is not None and (len(caller.process) != 2 or not isinstance(caller.process[0], int)):
        raise errors.BadInput(f"The header {CALLER_HEADER} names no process.", "Leave it out.")
    if caller.agent:
        not_system(caller.agent)
    for word in words:
        text.check_text(word or "", "the caller")


async def read_body(request: Request, limit: int) -> dict[str, Any]:
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > limit:
        _too_large(limit)
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            _too_large(limit)
        parts.append(part)
    return parsed(b"".join(parts))


def _too_large(limit: int) -> NoReturn:
    raise errors.TooLarge(f"A request has at most {limit:,} bytes.", "Put it in a file and name that.")


def parsed(data: bytes) -> dict[str, Any]:
    if not data.strip():
        return {}
    try:
        body = json.loads(data, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise errors.BadInput("The body is no JSON.", "Send a JSON object in UTF-8.", code="BAD_JSON") from None
    if not isinstance(body, dict):
        raise errors.BadInput("The body must be a JSON object.", 'For example {"title": "..."}.', code="BAD_JSON")
    return body


def _no_constant(word: str) -> NoReturn:
    raise ValueError(word)
