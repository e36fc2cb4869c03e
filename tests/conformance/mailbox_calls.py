"""Calls to the mailbox API and the answers that the code of the agent mailbox design (seed 004) gives.

The swarm `dev` has the members architect, critic and implementer, one file each. `@name` is the id of the answer that
was saved under that name, in arguments and in answers. An answer that is a message names the fields that matter; a list
has one entry for each message, a broadcast's in the order of `to_agent`. Enumerations are written as their values or
names, and SET stands for any time.

Where Rookery answers otherwise, `here` is its answer and `because` the entry of docs/mailbox.md that gives the reason.
"""

from dataclasses import dataclass, field
from typing import Any

SET = "any time"
SAME = object()
MEMBERS = ("architect", "critic", "implementer")


@dataclass(frozen=True)
class Raises:
    """An exception: the code of a refusal, or the name of a Python error."""

    code: str


@dataclass(frozen=True)
class Call:
    """One call of a manager. Two methods are the test's own: `saved` looks at the object that an earlier call returned,
    and `reopen` goes on with a new manager of the same folder."""

    method: str
    args: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=lambda: {})
    gives: Any = None
    save: str = ""
    here: Any = SAME
    because: str = ""


@dataclass(frozen=True)
class Case:
    title: str
    calls: tuple[Call, ...]
    members: tuple[str, ...] = MEMBERS


def call(
    method: str, *args: Any, gives: Any, save: str = "", here: Any = SAME, because: str = "", **options: Any
) -> Call:
    return Call(method, args, options, gives, save, here, because)


def send(to: str, *, sender: str = "coo", gives: Any = SAME, **more: Any) -> Call:
    """A message whose answer matters only where it is given."""
    return call("send", sender, to, more.pop("subject", "S"), more.pop("body", "B"),
                gives={} if gives is SAME else gives, **more)  # fmt: skip


def reach(*names: str) -> list[dict[str, Any]]:
    return [{"to_agent": name} for name in names]


def counts(**given: int) -> dict[str, int]:
    return {"urgent": 0, "high": 0, "normal": 0, "low": 0, "total": sum(given.values())} | given


# fmt: off
SENDING = (
    Case("a message has the defaults of a request", (
        call("send", "coo", "critic", "Look", "At it", save="m", gives={
            "id": "@m", "from_agent": "coo", "to_agent": "critic", "swarm_name": None, "type": "request",
            "subject": "Look", "body": "At it", "payload": {}, "priority": 2, "created_at": SET, "expires_at": None,
            "status": "unread", "read_at": None, "completed_at": None, "reply_to": None, "thread_id": None,
            "context": {}, "attachments": [], "tags": [],
        }),
        call("check_mailbox", "critic", gives=[{"id": "@m", "body": "At it"}]),
        call("check_mailbox", "coo", gives=[]),
    )),
    Case("a message keeps what it was given", (
        call("send", "coo", "critic", "Look", "At it", message_type="escalation", priority="URGENT", payload={"n": [1]},
             context={"job_id": None}, swarm_name="dev", expires_at="+1h", attachments=["no/such.md"], tags=["a", "b"],
             save="m", gives={
                 "type": "escalation", "priority": 4, "payload": {"n": [1]}, "context": {"job_id": None},
                 "swarm_name": "dev", "expires_at": SET, "attachments": ["no/such.md"], "tags": ["a", "b"],
                 "thread_id": None,
             }),
        call("check_mailbox", "critic", gives=[{"id": "@m", "payload": {"n": [1]}, "tags": ["a", "b"]}]),
    )),
    Case("system is an address like any other", (
        call("send", "system", "critic", "S", "B", save="m", gives={"from_agent": "system"}),
        call("reply", "@m", "critic", "Yes", gives={"to_agent": "system"}),
    )),
    Case("nobody sends as the user", (
        send("critic", sender="user", gives={"from_agent": "user"}, here=Raises("RESERVED_NAME"), because="user"),
        call("broadcast", "user", "dev", "S", "B", gives=reach(*MEMBERS), here=Raises("RESERVED_NAME"), because="user"),
        send("user", save="m"),
        call("check_mailbox", "user", gives=[{"id": "@m"}]),
        call("reply", "@m", "user", "B", gives={"to_agent": "coo"}, here=Raises("RESERVED_NAME"), because="user"),
    )),
    Case("an address is a name", (
        send("critic", sender="", gives={"from_agent": ""}, here=Raises("BAD_NAME"), because="addresses"),
        send("", gives={"to_agent": ""}, here=Raises("BAD_NAME"), because="addresses"),
        send("two words", gives={"to_agent": "two words"}, here=Raises("BAD_NAME"), because="addresses"),
        send("a/b/c", gives={"to_agent": "a/b/c"}, here=Raises("BAD_NAME"), because="addresses"),
        send("x" * 51, gives={"to_agent": "x" * 51}, here=Raises("BAD_NAME"), because="addresses"),
        call("broadcast", "", "dev", "S", "B", gives=reach(*MEMBERS), here=Raises("BAD_NAME"), because="addresses"),
        send("critic", save="m"),
        call("reply", "@m", "", "B", gives={"from_agent": ""}, here=Raises("BAD_NAME"), because="addresses"),
        call("check_mailbox", "coo", gives=[{"from_agent": ""}], here=[], because="addresses"),
        call("check_mailbox", "user", gives=[]),
    )),
    Case("a name that can not be an address has an empty mailbox", (
        send("user"),
        call("check_mailbox", "", gives=[]),
        call("check_mailbox", "a b", gives=[]),
        call("check_mailbox", "a/b/c", gives=[]),
        call("get_pending_count", "", gives=counts()),
        call("get_pending_count", "a b", gives=counts()),
    )),
    Case("names are compared without case", (
        send("Bob", save="m"),
        send("bob", gives={"to_agent": "bob"}, here={"to_agent": "Bob"}, because="case", save="n"),
        call("check_mailbox", "Bob", gives=[{"id": "@m"}], here=[{"id": "@m"}, {"id": "@n"}], because="case"),
        call("check_mailbox", "BOB", gives=[], here=[{"id": "@m"}, {"id": "@n"}], because="case"),
    )),
    Case("any:ROLE chooses by role", (
        send("any:tester", gives={"to_agent": "any:tester"}, here=Raises("UNKNOWN_NAME"), because="addresses"),
    )),
    Case("a subject is one line", (
        send("critic", subject="", gives={"subject": ""}, here={"subject": "(no subject)"}, because="subject"),
        send("critic", subject="a\n b", gives={"subject": "a\n b"}, here={"subject": "a b"}, because="subject"),
        send("critic", subject="x" * 501, gives={"subject": "x" * 501}, here=Raises("TOO_LARGE"),
             because="subject"),
    )),
    Case("a message has a size", (
        send("critic", body="x" * (1 << 20), gives={}),
        send("critic", body="x" * ((1 << 20) + 1), gives={}, here=Raises("TOO_LARGE"), because="size"),
        send("critic", payload={"x": "x" * (1 << 20)}, gives={}, here=Raises("TOO_LARGE"), because="size"),
    )),
    Case("text and data are what JSON and a terminal can carry", (
        send("critic", body="a\x00b", gives={"body": "a\x00b"}, here=Raises("BAD_TEXT"), because="text"),
        send("critic", body="\ud800", gives={"body": "\ud800"}, here=Raises("BAD_TEXT"), because="text"),
        send("critic", payload={"x": float("inf")}, gives={}, here=Raises("BAD_INPUT"), because="text"),
        send("critic", payload={"x": {1, 2}}, gives=Raises("TypeError"), here=Raises("BAD_INPUT"), because="text"),
    )),
    Case("tags are a set of words", (
        send("critic", tags=["a", "b", "a"], gives={"tags": ["a", "b", "a"]}, here={"tags": ["a", "b"]},
             because="tags"),
        send("critic", tags=[""], gives={"tags": [""]}, here=Raises("BAD_INPUT"), because="tags"),
    )),
    Case("a message is what the ledger said when it was returned", (
        send("critic", save="m"),
        call("read_message", "@m", gives={"status": "read"}),
        call("saved", "@m", gives={"status": "read"}, here={"status": "unread"}, because="snapshot"),
    )),
)

READING = (
    Case("a mailbox is sorted by priority, then by age", (
        send("critic", subject="n1"),
        send("critic", subject="low", priority="LOW"),
        send("critic", subject="urgent", priority="URGENT"),
        send("critic", subject="n2"),
        send("critic", subject="high", priority="HIGH"),
        call("check_mailbox", "critic", gives=[{"subject": each} for each in ("urgent", "high", "n1", "n2", "low")]),
        call("check_mailbox", "critic", min_priority="HIGH", gives=[{"subject": "urgent"}, {"subject": "high"}]),
        call("get_pending_count", "critic", gives=counts(urgent=1, high=1, normal=2, low=1)),
    )),
    Case("a mailbox is filtered by type", (
        send("critic", message_type="handoff", save="h"),
        send("critic", message_type="notification", save="n"),
        send("critic", save="r"),
        call("check_mailbox", "critic", message_types=["handoff", "request"], gives=[{"id": "@h"}, {"id": "@r"}]),
        call("check_mailbox", "critic", message_types=[], gives=[{"id": "@h"}, {"id": "@n"}, {"id": "@r"}]),
        call("check_mailbox", "critic", message_types=["response"], gives=[]),
    )),
    Case("only what is unread counts as pending", (
        send("critic", save="a"), send("critic", save="b"), send("critic", save="c"), send("critic", save="d"),
        call("read_message", "@a", gives={"status": "read", "read_at": SET, "completed_at": None}),
        call("mark_processing", "@b", gives={"status": "processing"}),
        call("mark_completed", "@c", archive=False, gives={"status": "completed", "completed_at": SET}),
        call("check_mailbox", "critic", gives=[{"id": "@d"}]),
        call("get_pending_count", "critic", gives=counts(normal=1)),
        call("check_mailbox", "critic", unread_only=False, gives=[
            {"id": "@a", "status": "read"}, {"id": "@b", "status": "processing"}, {"id": "@c", "status": "completed"},
            {"id": "@d", "status": "unread"},
        ]),
    )),
    Case("both forms of an address are mailboxes of their own", (
        send("critic", save="plain"),
        send("dev/critic", save="full"),
        call("check_mailbox", "critic", gives=[{"id": "@plain", "to_agent": "critic"}]),
        call("check_mailbox", "dev/critic", gives=[{"id": "@full", "to_agent": "dev/critic"}]),
        call("get_pending_count", "dev/critic", gives=counts(normal=1)),
    )),
    Case("an unknown id gives nothing", tuple(
        call(method, id, *more, gives=gives)
        for id in ("MSG-000000000000", "", "../../etc/passwd", "MSG-")
        for method, more, gives in (
            ("read_message", (), None), ("mark_processing", (), None), ("mark_completed", (), None),
            ("reply", ("critic", "What?"), None), ("get_thread", (), []),
        )
    )),
    Case("an address that was never used has an empty mailbox", (
        call("check_mailbox", "nobody", gives=[]),
        call("check_mailbox", "dev/nobody", unread_only=False, gives=[]),
        call("get_pending_count", "nobody", gives=counts()),
    )),
    Case("an expired message is not shown and not taken up", (
        send("critic", expires_at="-1h", save="late"),
        send("critic", expires_at="+1h", save="soon"),
        call("check_mailbox", "critic", gives=[{"id": "@soon"}]),
        call("check_mailbox", "critic", unread_only=False, gives=[{"id": "@soon"}]),
        call("get_pending_count", "critic", gives=counts(normal=1)),
        call("read_message", "@late", gives={"status": "read"}, here={"status": "unread"}, because="expired"),
        call("mark_processing", "@late", gives={"status": "processing"}, here=Raises("MESSAGE_EXPIRED"),
             because="expired"),
        call("mark_completed", "@late", gives={"status": "archived"}, here=Raises("MESSAGE_EXPIRED"),
             because="expired"),
        call("reply", "@late", "critic", "Too late?", gives={"to_agent": "coo", "thread_id": "@late"}),
    )),
)

MARKING = (
    Case("a message is read once", (
        send("critic", save="m"),
        call("read_message", "@m", gives={"status": "read", "read_at": SET}),
        call("read_message", "@m", gives={"status": "read", "read_at": SET}),
        call("mark_processing", "@m", gives={"status": "processing", "read_at": SET, "completed_at": None}),
        call("read_message", "@m", gives={"status": "processing"}),
        call("mark_completed", "@m", gives={"status": "archived", "completed_at": SET}),
        call("read_message", "@m", gives={"status": "archived", "completed_at": SET}),
        call("check_mailbox", "critic", unread_only=False, gives=[{"id": "@m", "status": "archived"}]),
    )),
    Case("whoever works on a message has read it", (
        send("critic", save="m"),
        call("mark_processing", "@m", gives={"read_at": None}, here={"read_at": SET}, because="read time"),
        send("critic", save="n"),
        call("mark_completed", "@n", gives={"read_at": None}, here={"read_at": SET}, because="read time"),
    )),
    Case("a message that is over stays so", (
        send("critic", save="m"),
        call("mark_completed", "@m", archive=False, gives={"status": "completed"}),
        call("mark_processing", "@m", gives={"status": "processing"}, here=Raises("MESSAGE_CLOSED"), because="closed"),
        call("mark_completed", "@m", gives={"status": "archived", "completed_at": SET}),
        call("mark_completed", "@m", gives={"status": "archived", "completed_at": SET}),
        call("mark_completed", "@m", archive=False, gives={"status": "completed"}, here={"status": "archived"},
             because="closed"),
        call("mark_processing", "@m", gives={"status": "processing"}, here=Raises("MESSAGE_CLOSED"), because="closed"),
    )),
    Case("a message survives the manager", (
        send("critic", save="m"), send("critic", save="done"),
        call("reply", "@m", "critic", "Yes", save="r", gives={"thread_id": "@m"}),
        call("mark_completed", "@done", gives={"status": "archived"}),
        call("reopen", gives=None),
        call("check_mailbox", "critic", gives=[{"id": "@m", "status": "unread"}]),
        call("get_thread", "@m", gives=[{"id": "@m"}, {"id": "@r"}]),
        call("read_message", "@done", gives=None, here={"id": "@done", "status": "archived"}, because="archive"),
    )),
)

THREADS = (
    Case("a reply goes back in the thread of the first message", (
        send("critic", priority="URGENT", swarm_name="dev", subject="Plan", save="m"),
        call("reply", "@m", "critic", "Fine", {"eta": 2}, save="r", gives={
            "from_agent": "critic", "to_agent": "coo", "subject": "Re: Plan", "body": "Fine", "type": "response",
            "priority": 4, "swarm_name": "dev", "reply_to": "@m", "thread_id": "@m", "payload": {"eta": 2},
            "status": "unread", "context": {}, "attachments": [], "tags": [], "expires_at": None,
        }),
        call("check_mailbox", "critic", gives=[{"id": "@m", "status": "unread"}]),
        call("check_mailbox", "coo", gives=[{"id": "@r"}]),
        call("get_thread", "@m", gives=[{"id": "@m"}, {"id": "@r"}]),
        call("get_thread", "@r", gives=[{"id": "@r"}]),
    )),
    Case("a reply to a reply", (
        send("critic", subject="Plan", save="m"),
        call("reply", "@m", "critic", "Fine", save="r", gives={}),
        call("reply", "@r", "coo", "Good", save="s", gives={
            "to_agent": "critic", "thread_id": "@m", "reply_to": "@r", "subject": "Re: Re: Plan",
        }, here={"to_agent": "critic", "thread_id": "@m", "reply_to": "@r", "subject": "Re: Plan"}, because="subject"),
        call("get_thread", "@m", gives=[{"id": "@m"}, {"id": "@r"}, {"id": "@s"}]),
    )),
    Case("anyone may answer, its sender too", (
        send("critic", save="m"),
        call("reply", "@m", "implementer", "Me too", gives={"from_agent": "implementer", "to_agent": "coo"}),
        call("reply", "@m", "coo", "And one more thing", gives={"to_agent": "coo"}, here={"to_agent": "critic"},
             because="own message"),
    )),
    Case("an answer that is sent", (
        send("critic", save="m"),
        send("coo", sender="critic", reply_to="@m", gives={"reply_to": "@m", "thread_id": "@m"}, save="r"),
        send("critic", reply_to="@r", gives={"reply_to": "@r", "thread_id": "@m"}),
    )),
    Case("an answer to a message that is not here begins a thread", (
        send("critic", reply_to="MSG-000000000000", save="m",
             gives={"reply_to": "MSG-000000000000", "thread_id": None}),
        call("get_thread", "@m", gives=[{"id": "@m"}]),
        call("get_thread", "MSG-000000000000", gives=[]),
        call("reply", "@m", "critic", "What?", gives={"reply_to": "@m", "thread_id": "@m"}),
        call("broadcast", "coo", "dev", "S", "B", exclude=["architect", "critic"], reply_to="MSG-000000000000",
             gives=[{"reply_to": "MSG-000000000000", "thread_id": None}]),
    )),
    Case("a thread may have any name", (
        send("critic", thread_id="sprint-12", gives={"thread_id": "sprint-12", "reply_to": None}, save="m"),
        send("critic", thread_id="sprint-12", reply_to="@m", gives={"thread_id": "sprint-12", "reply_to": "@m"},
             save="n"),
        call("reply", "@n", "critic", "Yes", save="r", gives={"thread_id": "sprint-12", "reply_to": "@n"}),
        call("get_thread", "sprint-12", gives=[{"id": "@m"}, {"id": "@n"}, {"id": "@r"}]),
        send("critic", thread_id="sprint-13", reply_to="@m", gives={"thread_id": "sprint-13"}),
        send("critic", thread_id="sprint-14", reply_to="MSG-000000000000", gives={"thread_id": "sprint-14"}),
    )),
    Case("the id of a later message names its thread", (
        send("critic", save="m"),
        call("reply", "@m", "critic", "Yes", save="r", gives={}),
        send("critic", thread_id="@m", gives={"thread_id": "@m"}, save="n"),
        send("critic", thread_id="@r", gives={"thread_id": "@r"}, here={"thread_id": "@m"}, because="threads",
             save="o"),
        call("get_thread", "@r", gives=[{"id": "@r"}, {"id": "@o"}], here=[{"id": "@r"}], because="threads"),
    )),
)

HANDOFFS = (
    Case("a handoff tells its context twice", (
        call("handoff", "coo", "critic", "Review it", {
            "work_completed": "Parser", "files_modified": ["a.py"], "files_created": ["b.py"], "current_state": "Green",
            "next_steps": ["Read", "Judge"], "blockers": ["No key"], "job_id": "j", "notes": "Not shown",
        }, "HIGH", "dev", "Be kind", save="m", gives={
            "type": "handoff", "priority": 3, "swarm_name": "dev", "tags": ["handoff"], "attachments": ["a.py", "b.py"],
            "payload": {}, "subject": "Review it",
            "body": "Work handoff from coo to critic.\n\n**Work Completed:** Parser\n\n**Current State:** Green\n\n"
                    "**Next Steps:**\n- Read\n- Judge\n\n**Blockers:**\n- No key\n\n**Notes:**\nBe kind",
            "context": {
                "work_completed": "Parser", "files_modified": ["a.py"], "files_created": ["b.py"],
                "current_state": "Green", "state_file": None, "next_steps": ["Read", "Judge"], "blockers": ["No key"],
                "dependencies": [], "related_escalations": [], "job_id": "j", "notes": "Not shown",
            },
        }),
        call("check_mailbox", "critic", message_types=["handoff"], gives=[{"id": "@m"}]),
    )),
    Case("a handoff needs no more than what was done", (
        call("handoff", "coo", "critic", "Go on", {"work_completed": "Nothing"}, gives={
            "priority": 2, "attachments": [],
            "body": "Work handoff from coo to critic.\n\n**Work Completed:** Nothing\n\n**Current State:** ",
        }),
    )),
)

BROADCASTS = (
    Case("a broadcast gives each member a message of its own", (
        call("broadcast", "coo", "dev", "News", "All", priority="HIGH", payload={"a": 1}, gives=[
            {"to_agent": name, "from_agent": "coo", "swarm_name": "dev", "type": "notification", "priority": 3,
             "payload": {"a": 1}, "tags": ["broadcast", "swarm:dev"], "thread_id": None, "reply_to": None}
            for name in MEMBERS
        ]),
        call("check_mailbox", "critic", gives=[{"subject": "News"}]),
    )),
    Case("a broadcast leaves out its sender and whom it is told to", (
        call("broadcast", "critic", "dev", "S", "B", gives=reach("architect", "implementer")),
        call("broadcast", "coo", "dev", "S", "B", exclude=["critic"], gives=reach("architect", "implementer")),
        call("broadcast", "critic", "dev", "S", "B", exclude=["architect"], gives=reach("implementer")),
        call("broadcast", "coo", "dev", "S", "B", exclude=list(MEMBERS), gives=[]),
    )),
    Case("a member is one recipient, whichever forms of its address are in use", (
        *(send(to) for name in MEMBERS for to in (name, f"dev/{name}")),
        call("broadcast", "coo", "dev", "S", "B", gives=reach(*MEMBERS)),
        call("broadcast", "architect", "dev", "S", "B", gives=reach("critic", "implementer")),
        call("broadcast", "dev/architect", "dev", "S", "B", gives=reach(*MEMBERS),
             here=reach("critic", "implementer"), because="address forms"),
        call("broadcast", "coo", "dev", "S", "B", exclude=["critic"], gives=reach("architect", "implementer")),
        call("broadcast", "coo", "dev", "S", "B", exclude=["dev/critic"], gives=reach(*MEMBERS),
             here=reach("architect", "implementer"), because="address forms"),
        send("broadcast:dev", sender="dev/architect", message_type="escalation"),
        call("check_mailbox", "critic", message_types=["escalation"], gives=[{}]),
        call("check_mailbox", "dev/critic", message_types=["escalation"], gives=[]),
        call("check_mailbox", "dev/architect", message_types=["escalation"], gives=[]),
        call("check_mailbox", "architect", message_types=["escalation"], gives=[{}], here=[], because="address forms"),
    )),
    Case("a member that only the full address is used for gets its broadcasts there", (
        send("dev/critic"),
        call("broadcast", "coo", "dev", "S", "B", gives=reach(*MEMBERS),
             here=reach("architect", "dev/critic", "implementer"), because="address forms"),
        call("broadcast", "dev/critic", "dev", "S", "B", gives=reach(*MEMBERS),
             here=reach("architect", "implementer"), because="address forms"),
        call("broadcast", "critic", "dev", "S", "B", gives=reach("architect", "implementer")),
        call("broadcast", "coo", "dev", "S", "B", exclude=["critic"], gives=reach("architect", "implementer")),
    )),
    Case("an address beside the defined members gets no broadcast", (
        send("dev/stranger"),
        call("broadcast", "coo", "dev", "S", "B", gives=reach(*MEMBERS)),
    )),
    Case("a swarm without a definition has the addresses in use as members", (
        call("broadcast", "coo", "dev", "S", "B", gives=[]),
        send("dev/critic"), send("dev/tester"), send("critic"),
        call("broadcast", "coo", "dev", "S", "B", gives=[], here=reach("dev/critic", "dev/tester"),
             because="undefined swarms"),
        call("broadcast", "critic", "dev", "S", "B", gives=[], here=reach("dev/tester"), because="undefined swarms"),
    ), members=()),
    Case("a swarm that is not there has no members", (
        call("broadcast", "coo", "nobody", "S", "B", gives=[]),
        call("broadcast", "coo", "", "S", "B", gives=[]),
        call("broadcast", "coo", "no such swarm", "S", "B", gives=[]),
        send("broadcast:nobody", gives={"to_agent": "broadcast:nobody"}, here=Raises("NOBODY"),
             because="no recipients"),
        send("broadcast:", gives={"to_agent": "broadcast:"}, here=Raises("BAD_NAME"), because="addresses"),
    )),
    Case("a broadcast takes the options of send", (
        send("critic", save="m"),
        call("broadcast", "coo", "dev", "S", "B", exclude=["architect", "critic"], reply_to="@m", expires_at="+1h",
             attachments=["x"], context={"k": 1}, gives=[
                 {"reply_to": "@m", "thread_id": "@m", "expires_at": SET, "attachments": ["x"], "context": {"k": 1}}
             ]),
        call("broadcast", "coo", "dev", "S", "B", colour="red", gives=Raises("TypeError")),
        call("broadcast", "coo", "dev", "S", "B", tags=["x"], gives=Raises("TypeError")),
    )),
    Case("sending to a swarm makes a copy for each member", (
        send("broadcast:dev", sender="critic", subject="News", tags=["big"], save="m",
             gives={"to_agent": "broadcast:dev", "status": "unread", "swarm_name": None, "tags": ["big"]},
             here={"to_agent": "broadcast:dev", "status": "unread", "swarm_name": "dev", "tags": ["big", "broadcast"]},
             because="copies"),
        call("check_mailbox", "architect", gives=[
            {"to_agent": "architect", "swarm_name": "dev", "tags": ["big", "broadcast"], "thread_id": None},
        ], here=[{"to_agent": "architect", "swarm_name": "dev", "tags": ["big", "broadcast"], "thread_id": "@m"}],
            because="copies"),
        call("check_mailbox", "critic", gives=[]),
        call("check_mailbox", "broadcast:dev", gives=[{"id": "@m"}], here=[], because="copies"),
        call("read_message", "@m", gives={"status": "read"}, here={"status": "unread"}, because="copies"),
        call("mark_processing", "@m", gives={"status": "processing"}, here=Raises("COPIES"), because="copies"),
        call("mark_completed", "@m", gives={"status": "archived"}, here=Raises("COPIES"), because="copies"),
        call("get_thread", "@m", gives=[{"id": "@m"}], here=reach("architect", "implementer"), because="copies"),
    )),
    Case("broadcast:all reaches the team", (
        send("coo", sender="tester"), send("critic", sender="tester"),
        send("broadcast:all", gives={}),
        call("check_mailbox", "critic", gives=[{}], here=[{}, {"to_agent": "critic"}], because="all"),
    )),
)
# fmt: on

CASES = (*SENDING, *READING, *MARKING, *THREADS, *HANDOFFS, *BROADCASTS)
