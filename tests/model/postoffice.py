"""Mail as a few lists and rules: what the real thing is compared with. Written from the words of the design, not from
the code: no store, no SQL, nothing imported from Rookery.
"""

from dataclasses import dataclass, field

PRIORITIES = ("low", "normal", "high", "urgent")
HOUR, DAY = 3_600_000, 86_400_000

# From which states a word leads where; a step that was taken already changes nothing.
STEPS = {
    "processing": ({"unread", "read", "failed"}, "mail.processing", "processing"),
    "completed": ({"unread", "read", "processing", "failed"}, "mail.completed", "acknowledged"),
    "failed": ({"unread", "read", "processing"}, "mail.failed", "failed"),
    "archived": ({"read", "completed", "failed", "expired"}, "mail.archived", "archived"),
}


class No(Exception):
    """A refusal, by its code."""


@dataclass
class Copy:
    """A message in one mailbox."""

    state: str = "unread"
    first_contact: bool = False
    answered: bool = False
    archived_at: int | None = None
    receipts: list[str] = field(default_factory=lambda: ["accepted"])


@dataclass
class Letter:
    id: str
    number: int  # place in the order of sending
    sender: str
    subject: str
    priority: str
    type: str
    thread: str
    at: int  # wall
    event: int
    reply_to: str | None = None
    tags: tuple[str, ...] = ()
    expires_at: int | None = None
    copies: dict[str, Copy] = field(default_factory=dict)

    def state(self, who: str, now: int) -> str:
        state = self.copies[who].state
        lapsed = self.expires_at is not None and self.expires_at <= now
        return "expired" if lapsed and state in ("unread", "read") else state


@dataclass
class PostOffice:
    archive_days: int
    event_days: int
    events_kept: int
    now: int = 0
    wall: int = 0
    agents: list[str] = field(default_factory=list)  # in the order in which they came to be
    left: set[str] = field(default_factory=set)
    letters: dict[str, Letter] = field(default_factory=dict)
    events: dict[int, tuple[str, str, str]] = field(default_factory=dict)  # number: type, actor, ref
    event_walls: dict[int, int] = field(default_factory=dict)
    seq: int = 0
    horizon: int = 0
    sent: int = 0
    swept_at: int = -HOUR

    # -- writing -----------------------------------------------------------------------------------------------------

    def tell(self, type: str, actor: str, ref: str = "") -> int:
        self.seq += 1
        self.events[self.seq] = (type, actor, ref)
        self.event_walls[self.seq] = self.wall
        return self.seq

    def join(self, name: str) -> None:
        committed = self.seq
        if name not in self.agents:
            self.agents.append(name)
        self.left.discard(name)
        self.tell("join", name)
        if self.now - self.swept_at >= HOUR:
            self.sweep(committed)

    def leave(self, name: str) -> None:
        self.left.add(name)
        self.tell("leave", name)

    def post(
        self, id: str, sender: str, to: list[str], subject: str, *, priority: str, type: str,
        thread: str = "", reply_to: str | None = None, tags: tuple[str, ...] = (), expires_at: int | None = None,
    ) -> Letter:  # fmt: skip
        self.sent += 1
        event = self.tell("message", sender, id)
        letter = Letter(
            id, self.sent, sender, subject, priority, type, thread or id, self.wall, event, reply_to, tags, expires_at
        )
        for name in dict.fromkeys(to):
            met = any(name in other.copies and other.sender == sender for other in self.letters.values())
            letter.copies[name] = Copy(first_contact=not met)
        self.letters[id] = letter
        return letter

    def everyone_but(self, sender: str, excluded: set[str]) -> list[str]:
        found = [name for name in self.agents if name not in self.left | {sender} | excluded and name != "user"]
        if not found:
            raise No("NOBODY")
        return found

    def find(self, id: str) -> Letter:
        if id not in self.letters:
            raise No("UNKNOWN_MESSAGE")
        return self.letters[id]

    def mine(self, who: str, id: str) -> Letter:
        letter = self.find(id)
        if who not in letter.copies:
            raise No("NOT_YOURS")
        return letter

    def read(self, who: str, id: str) -> Letter:
        letter = self.find(id)
        if who not in letter.copies and who != letter.sender:
            raise No("NOT_YOURS")
        if who in letter.copies and letter.state(who, self.now) == "unread":
            letter.copies[who].state = "read"
            letter.copies[who].receipts.append("seen")
            self.tell("mail.read", who, id)
        return letter

    def step(self, who: str, id: str, word: str) -> str:
        letter = self.mine(who, id)
        sources, event, stage = STEPS[word]
        state, copy = letter.state(who, self.now), letter.copies[who]
        if state == word:
            return state
        if state not in sources:
            raise No(refusal(state, word))
        copy.state = word
        copy.receipts.append(stage)
        if word == "archived":
            copy.archived_at = self.now
        self.tell(event, who, id)
        return word

    def answered(self, who: str, original: Letter, everyone: bool) -> list[str]:
        if not everyone:
            return list(original.copies) if original.sender == who else [original.sender]
        people = [name for name in self.people(original.thread) if name != who]
        return people or [original.sender]

    def note_answer(self, who: str, original: Letter) -> None:
        copy = original.copies.get(who)
        if copy is None:
            return
        if original.state(who, self.now) == "unread":
            copy.state = "read"
            copy.receipts.append("seen")
            self.tell("mail.read", who, original.id)
        if not copy.answered:
            copy.answered = True
            copy.receipts.append("answered")

    # -- upkeep ------------------------------------------------------------------------------------------------------

    def sweep(self, committed: int | None = None) -> dict[str, int]:
        """The newest events are kept, counted from the last committed one: those of this very call come on top."""
        newest = self.seq if committed is None else committed
        self.swept_at = self.now
        done = {"expired": self.expire(), "stuck": 0, "removed": self.remove_archived()}
        done["events"] = self.remove_events(newest)
        if any(done.values()):
            self.tell("swept", "system")
        return done

    def expire(self) -> int:
        """Written down in any order: the events are compared as a set."""
        lapsed = [
            (letter, who)
            for letter in self.letters.values()
            for who, copy in letter.copies.items()
            if letter.state(who, self.now) == "expired" and copy.state != "expired"
        ]
        for letter, who in lapsed:
            letter.copies[who].state = "expired"
            letter.copies[who].receipts.append("expired")
            self.tell("mail.expired", "system", letter.id)
        return len(lapsed)

    def remove_archived(self) -> int:
        before = self.now - self.archive_days * DAY

        def over(letter: Letter) -> bool:
            return all(c.archived_at is not None and c.archived_at < before for c in letter.copies.values())

        going = [
            letter.id
            for letter in self.letters.values()
            if all(over(other) for other in self.letters.values() if other.thread == letter.thread)
        ]
        for id in going:
            del self.letters[id]
        return len(going)

    def remove_events(self, newest: int) -> int:
        old = [
            number
            for number in self.events
            if self.horizon < number <= newest - self.events_kept
            and self.event_walls[number] < self.wall - self.event_days * DAY
        ]
        if not old:
            return 0
        going = [
            number
            for number in self.events
            if self.horizon < number <= max(old) and self.events[number][2] not in self.letters
        ]
        for number in going:
            del self.events[number]
        self.horizon = max(old)
        return len(going)

    # -- looking -----------------------------------------------------------------------------------------------------

    def inbox(
        self, who: str, *, states: set[str], types: set[str] | None = None, least: str = "low", tag: str = "",
        sender: str = "", since: int = 0, after: int = 0,
    ) -> list[str]:  # fmt: skip
        found = [
            letter
            for letter in self.letters.values()
            if who in letter.copies
            and letter.state(who, self.now) in states
            and (not types or letter.type in types)
            and PRIORITIES.index(letter.priority) >= PRIORITIES.index(least)
            and (not tag or tag in letter.tags)
            and (not sender or letter.sender == sender)
            and letter.at >= since
            and letter.event > after
        ]
        return [x.id for x in sorted(found, key=lambda x: (-PRIORITIES.index(x.priority), x.number))]

    def pending(self, who: str) -> dict[str, int]:
        waiting = [self.letters[id].priority for id in self.inbox(who, states={"unread"})]
        return {name: waiting.count(name) for name in PRIORITIES} | {"total": len(waiting)}

    def thread(self, root: str) -> list[str]:
        return [x.id for x in sorted(self.letters.values(), key=lambda x: x.number) if x.thread == root]

    def people(self, root: str) -> list[str]:
        taking_part: set[str] = set()
        for letter in self.letters.values():
            if letter.thread == root:
                taking_part |= {letter.sender, *letter.copies}
        return [name for name in self.agents if name in taking_part]


def refusal(state: str, word: str) -> str:
    if state == "expired":
        return "MESSAGE_EXPIRED"
    if word == "archived" and state in ("unread", "processing"):
        return "NOT_ARCHIVABLE"
    return "MESSAGE_CLOSED"
