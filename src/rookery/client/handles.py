"""Handles for Python programs: a team, an agent in it, its messages and receipts. Written once above `call`."""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields
from time import monotonic
from typing import Any

from rookery.core.caller import Caller

from . import reporting, waiting
from .holds import Hold, obtain
from .leases import Lease, keep
from .port import Client


@dataclass(frozen=True)
class Recipient:
    name: str
    state: str
    how: str
    chosen: str = ""


@dataclass(frozen=True)
class Receipt:
    """What `send` answers: committed, and what is known about each recipient."""

    id: str
    status: str
    thread: str
    seq: int
    recipients: tuple[Recipient, ...]
    replayed: bool = False

    @classmethod
    def of(cls, result: dict[str, Any]) -> "Receipt":
        known = tuple(Recipient(**each) for each in result["recipients"])
        return cls(
            result["id"], result["status"], result["thread"], result["seq"], known, result.get("replayed", False)
        )


@dataclass(frozen=True)
class Message:
    """A message as it stood when it was read.

    `agent`, the handle that read it, is no field: `asdict` leaves it out, a copy keeps it, and a pickle drops it.
    """

    id: str
    sender: str
    to: str
    type: str
    priority: str
    subject: str
    body: str
    state: str
    thread: str
    created_at: str
    seq: int = 0
    reply_to: str | None = None
    expires_at: str | None = None
    asks: bool = False
    group: str | None = None
    tags: tuple[str, ...] = ()
    attachments: tuple[str, ...] = ()
    payload: dict[str, Any] = field(default_factory=lambda: {})
    context: dict[str, Any] = field(default_factory=lambda: {})
    first_contact: dict[str, Any] | None = None

    @property
    def agent(self) -> "Agent | None":
        return self.__dict__.get("_agent")

    def _read_by(self, agent: "Agent | None") -> "Message":
        object.__setattr__(self, "_agent", agent)
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __copy__(self) -> "Message":
        return Message(**self.__getstate__())._read_by(self.agent)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Message":
        return Message(**deepcopy(self.__getstate__(), memo))._read_by(self.agent)

    @classmethod
    def of(cls, card: dict[str, Any], agent: "Agent") -> "Message":
        same = ("id", "to", "type", "priority", "subject", "body", "thread", "created_at", "seq", "reply_to",
                "expires_at", "asks", "group", "payload", "context")  # fmt: skip
        return cls(
            sender=card["from"], state=card.get("state", ""), tags=tuple(card["tags"]),
            attachments=tuple(card["attachments"]), first_contact=card.get("first_contact"),
            **{key: card[key] for key in same},
        )._read_by(agent)  # fmt: skip

    def read(self) -> "Message":
        return self._owner().read(self.id)

    def ack(self, state: str = "completed", reason: str = "") -> None:
        self._owner().ack(self.id, state=state, reason=reason)

    def reply(self, body: str, **more: Any) -> Receipt:
        return self._owner().reply(self.id, body, **more)

    def _owner(self) -> "Agent":
        if self.agent is None:
            raise ValueError("This message has no agent (it was unpickled or made by hand): call agent.ack(id).")
        return self.agent


class Agent:
    """Speaks as one agent. Made by `team.join` (with a session that can be fenced) or `team.agent` (without)."""

    def __init__(self, team: "Team", name: str, caller: Caller, joined: dict[str, Any] | None = None) -> None:
        self.team = team
        self.name = name
        self.joined = joined or {}
        self._caller = caller

    def __repr__(self) -> str:
        return f"<Agent {self.name} of {self.team.name}>"

    def call(self, verb: str, **args: Any) -> Any:
        """Any verb of the table, as this agent."""
        return self.team.client.call(verb, args, self._caller)

    def send(self, to: str | Sequence[str], subject: str, body: str = "", **more: Any) -> Receipt:
        names = [to] if isinstance(to, str) else list(to)
        return Receipt.of(self.call("send", to=names, subject=subject, body=body, **more))

    def broadcast(self, subject: str, body: str = "", **more: Any) -> Receipt:
        return Receipt.of(self.call("broadcast", subject=subject, body=body, **more))

    def handoff(self, to: str | Sequence[str], subject: str, **more: Any) -> Receipt:
        names = [to] if isinstance(to, str) else list(to)
        return Receipt.of(self.call("handoff", to=names, subject=subject, **more))

    def escalate(self, title: str, body: str = "", **more: Any) -> dict[str, Any]:
        return self.call("escalate", title=title, body=body, **more)

    # -- what a worker says of its work ------------------------------------------------------------------------------

    def progress(self, steps: Sequence[Any] | None = None, note: str = "") -> dict[str, Any]:
        """The steps, all of them, as `doing: the parser`; nothing is decided by it."""
        return self.report("progress", steps=None if steps is None else list(steps), note=note)

    def ask(self, question: str, *, wait: float | None = None, **more: Any) -> dict[str, Any]:
        """Put a question before whoever decides. With `wait` seconds: until it is answered, if that takes no longer."""
        asked = self.report("ask", question=question, **more)
        if wait is None:
            return asked
        return reporting.answered(self.team.client, self._caller, asked["id"], timeout_s=wait, poll_s=self.team.poll_s)

    def answer(self, id: str, said: str = "", **more: Any) -> dict[str, Any]:
        return self.call("answer", id=id, said=said, **more)

    def done(self, outcome: str, summary: str, **more: Any) -> dict[str, Any]:
        """The result of a worker: `evidence`, `commits`, `tests` show it."""
        return self.report("done", outcome=outcome, summary=summary, **more)

    def fail(self, reason: str) -> dict[str, Any]:
        return self.report("fail", reason=reason)

    def report(self, verb: str, **args: Any) -> dict[str, Any]:
        """Any of these, waiting where it is still being written down that the worker runs."""
        args = {"run": self.team.run, **args}
        return reporting.report(self.team.client, self._caller, verb, args, poll_s=self.team.poll_s)

    # -- mail --------------------------------------------------------------------------------------------------------

    def inbox(self, **filters: Any) -> list[Message]:
        found = self.call("inbox", whole=True, **filters)
        return [Message.of(card, self) for card in found["messages"]]

    def read(self, id: str) -> Message:
        return Message.of(self.call("read", id=id), self)

    def ack(self, id: str, *more: str, state: str = "completed", reason: str = "") -> None:
        self.call("ack", ids=[id, *more], state=state, reason=reason)

    def reply(self, id: str, body: str, **more: Any) -> Receipt:
        return Receipt.of(self.call("reply", id=id, body=body, **more))

    def archive(self, *ids: str) -> None:
        self.call("archive", ids=list(ids))

    def pending(self) -> dict[str, Any]:
        return self.call("pending")

    def search(self, query: str, **more: Any) -> list[dict[str, Any]]:
        return self.call("search", query=[query], **more)["messages"]

    def wait(self, timeout: float | None = None, **filters: Any) -> list[Message]:
        """Block until mail is there (or the time is over); woken by the bell."""
        asked = {"whole": True, **filters}
        found = waiting.mail(
            self.team.client, self._caller, self.name, asked, timeout_s=timeout, poll_s=self.team.poll_s
        )
        return [Message.of(card, self) for card in found["messages"]] if found else []

    def status(self, note: str | None = None, task: str | None = None) -> dict[str, Any]:
        return self.call("status", note=note, task=task)

    def claim(self, id: str, *, ttl_ms: int | None = None) -> Lease:
        """Hold a task. As a block it is renewed while the block runs, and given back if left unfinished."""
        return self._leased({"id": id}, ttl_ms)

    def claim_next(self, *, ttl_ms: int | None = None, **filters: Any) -> Lease | None:
        """The best ready task, or None when nothing is ready."""
        return self._leased({"next": True, **filters}, ttl_ms)

    def _leased(self, args: dict[str, Any], ttl_ms: int | None) -> Any:
        asked_at = monotonic()
        claimed = self.call("task.claim", **args, ttl_ms=ttl_ms)
        if claimed["taskId"] is None:
            return None
        lease = Lease(self.team.client, self._caller, claimed, claimed["ttlMs"], asked_at)
        return keep(lease, self.team.another)

    def reserve(
        self,
        *paths: str,
        shared: bool = False,
        reason: str = "",
        ttl_ms: int | None = None,
        wait: float | None = None,
    ) -> Hold:
        """Keep paths for yourself (or shared). As a block it is renewed while the block runs, and given back after it;
        `wait` is how many seconds to stand in line where others hold them."""
        args = {"paths": list(paths), "shared": shared, "reason": reason, "ttl_ms": ttl_ms}
        return self._hold("reserve", args, wait)

    def slot(self, name: str, *, reason: str = "", ttl_ms: int | None = None, wait: float | None = None) -> Hold:
        """One of a limited thing, as a block or until it is released."""
        return self._hold("slot.take", {"name": name, "reason": reason, "ttl_ms": ttl_ms}, wait)

    def _hold(self, verb: str, args: dict[str, Any], wait: float | None) -> Hold:
        caller = self._caller._replace(process=self.team.process)
        granted = obtain(self.team.client, caller, verb, {**args, "bound": True}, wait_s=wait, poll_s=self.team.poll_s)
        return keep(Hold(self.team.client, caller, granted), self.team.another)

    def rename(self, name: str) -> None:
        self.name = self.call("rename", name=name)["name"]

    def leave(self) -> None:
        self.call("leave")


class Team:
    """A team's ledger, from this process."""

    def __init__(
        self,
        client: Client,
        caller: Caller,
        *,
        another: Callable[[], Client],
        process: tuple[int, str] | None = None,
        poll_s: float = 1.0,
        branch: str = "",
        run: str = "",
    ) -> None:
        self._branch = branch
        self.run = run  # of a worker's program: what it says counts while this is the newest
        self.client = client
        self.another = another  # a client of its own, for the thread that renews leases
        self.name = client.team
        self.poll_s = poll_s
        self._caller = caller
        self.process = process

    def __repr__(self) -> str:
        return f"<Team {self.name}>"

    def __enter__(self) -> "Team":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def join(self, name: str = "", *, takeover: bool = False, **more: Any) -> Agent:
        """Take a name. A second live holder is refused unless `takeover`; whoever is put out gets SessionFenced."""
        caller = self._caller._replace(process=self.process)
        args = {"name": name, "takeover": takeover, "branch": self._branch, **more}
        joined = self.client.call("join", args, caller)
        mine = self._caller._replace(agent=joined["name"], session=joined["session"])
        return Agent(self, joined["name"], mine, joined)

    def agent(self, name: str) -> Agent:
        """A handle to an agent without joining as it."""
        return Agent(self, name, self._caller._replace(agent=name))

    def call(self, verb: str, **args: Any) -> Any:
        """Any verb of the table, as the person."""
        return self.client.call(verb, args, self._caller)

    def add_task(self, title: str, **more: Any) -> dict[str, Any]:
        return self.call("task.add", title=title, **more)

    def tasks(self, **filters: Any) -> list[dict[str, Any]]:
        return self.call("task.list", **filters)["tasks"]

    def who(self, **filters: Any) -> list[dict[str, Any]]:
        return self.call("who", **filters)["agents"]

    def feed(self, **filters: Any) -> list[dict[str, Any]]:
        return self.call("feed", **filters)["events"]

    def follow(self, after: int = 0) -> Iterator[dict[str, Any]]:
        return waiting.follow(self.client, self._caller, after, poll_s=self.poll_s)

    def close(self) -> None:
        self.client.close()
