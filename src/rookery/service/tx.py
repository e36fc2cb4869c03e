"""What a verb is given: one locked team, its clock, who calls, the settings; and the bell to ring after commit."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from rookery.core import authority, errors, holding, ids, mesh, names, presence, times
from rookery.core.caller import Caller, Grant
from rookery.core.record import NamedTuple
from rookery.store.port import Row, Transaction

from . import caller_tree
from .world import World

# An address that a read was asked about before anything was written to it: its mailbox is empty.
_NOBODY: Row = {"id": 0, "role": "", "is_human": 0, "epoch": 0, "session": None, "created_at": 0, "left_at": None,
                "pid": None, "started": "", "boot": "", "host": "", "cwd": "", "branch": "", "model": "", "program": "",
                "heartbeat_at": None, "activity_at": None, "joined_at": None, "ended_at": None,
                "coordination": "unlimited", "sent": 0}  # fmt: skip

# Of a team that is not there yet.
_NO_TERMS: Row = {"tokens": 0, "cost": 0, "unpriced": 0, "told": 0, "leader": None, "leader_name": None, "strict": None,
                  "max_tokens": None, "max_cost": None, "agent_max_tokens": None, "agent_max_cost": None,
                  "task_max_tokens": None, "task_max_cost": None, "hard_limit": None, "warn_percent": None}  # fmt: skip

_compact = json.JSONEncoder(separators=(",", ":")).encode  # made once: `dumps` makes one per call

_MOVES_CREWS = ("task.", "worker.", "land.", "plan.")
TASK = "task-"  # how the ids of tasks begin

After = Callable[[Mapping[str, int]], None]
T = TypeVar("T")

# Bits of the team's row: what a rule has to look up first.
DEFINED, LIMITED, REACHED, WORKED, LOADED = 1, 2, 4, 8, 16
_LIMITS = ("budget.max_tokens", "budget.max_cost", "budget.agent_max_tokens", "budget.agent_max_cost",
           "budget.task_max_tokens", "budget.task_max_cost")  # fmt: skip


class Attempt(NamedTuple):
    """A refused attempt to be somebody else, or to decide for the user."""

    actor: str
    asked: str
    what: str


class Tx:
    def __init__(self, db: Transaction, caller: Caller, world: World) -> None:
        self._db = db
        self._me: Row | None = None
        self._terms: Row | None = None
        self._tree: caller_tree.Tree | None = None
        self._knows_tree = caller.origin is None
        self._caller = ""  # who really called, as every event carries it
        self.refused: Attempt | None = None  # a refusal that is recorded although everything else is rolled back
        self.caller = caller
        self.world = world
        self.settings = world.settings
        self.quiet = False  # a process that only waits: that it looks is no sign of life
        self.now = db.now
        self.wall = db.wall
        self.rings: set[str] = set()
        self.after: list[After] = []
        self.one = db.one
        self.all = db.all
        self.run = db.run
        self.match = db.match
        self.next_seq = db.next_seq
        self.flags = db.flags

    @property
    def team(self) -> str:
        return self._db.team_name

    # -- the log -----------------------------------------------------------------------------------------------

    def event(
        self, kind: str, actor: str, *, target: str = "", ref: str = "", preview: str = "", seq: int = 0, **data: object
    ) -> int:
        """Append what happened, under the next number (or one taken before); the number it got.

        What happened to a task is told with whom it concerned and how the task stood then: rows change, and whoever
        reads the log later must come to the same answer.
        """
        seq = seq or self.next_seq()
        if self.flags & WORKED and kind.startswith(_MOVES_CREWS):
            self.ring(names.CREWS)
        if ref.startswith(TASK) and "for" not in data:
            data |= self.standing(ref)
        told = _compact(data) if data else "{}"
        self.run(
            "append_event", seq=seq, at=self.wall, type=kind, actor=actor, target=target[:300], ref=ref,
            preview=preview[:200], data=told, caller=self._caller or self._real_caller(),
        )  # fmt: skip
        return seq

    def _real_caller(self) -> str:
        self._caller = _compact(caller_tree.record(self.caller, self.tree))
        return self._caller

    def standing(self, task: str) -> dict[str, Any]:
        """Whom a task concerns (who made it, has it, is to have it, completed it), and its status."""
        rows = self.all("concerned", id=task)
        return {"for": [row["name"] for row in rows], "status": rows[0]["status"]} if rows else {}

    def ring(self, name: str) -> None:
        """Wake whoever waits under this name, once all of this is committed."""
        self.rings.add(name)

    def new_id(self, prefix: str) -> str:
        return ids.short_id(prefix, self.now, self.world.chance.below(1 << ids.CHANCE_BITS))

    def shown(self, at: int) -> str:
        """A ledger time that lies near, as people read it."""
        return times.iso(self.wall + (at - self.now))

    # -- the team's own rules ------------------------------------------------------------------------------------

    def is_limited(self) -> bool:
        """May anything here be spent? Where not, which is usual, no budget costs a verb more than this question."""
        return bool(self.flags & LIMITED) or self.settings.says_any(_LIMITS)

    def raise_flags(self, flags: int) -> None:
        """There is something to look up from now on."""
        if flags & ~self.flags:
            self.run("raise_flags", flags=flags)
            self.flags |= flags

    def terms(self) -> Row:
        """What the team has used and what its stored definition says; looked up once."""
        if self._terms is None:
            self._terms = self.one("team_terms") or _NO_TERMS
        return self._terms

    def forget_terms(self) -> None:
        """They were changed: look again."""
        self._terms = None

    def leader(self) -> str:
        """The leader's name: the stored definition's, else the setting; empty if there is none."""
        stored: str | None = self.terms()["leader_name"] if self.flags & DEFINED else None
        return stored or self.settings["leader"]

    def is_strict(self) -> bool:
        """Is the guard strict: by the stored definition, else by the setting?"""
        stored: int | None = self.terms()["strict"] if self.flags & DEFINED else None
        return self.settings["guard.strict"] if stored is None else bool(stored)

    # -- agents ------------------------------------------------------------------------------------------------

    def find_agent(self, name: str) -> Row | None:
        return self.one("agent_by_key", key=names.key(name))

    def agent(self, name: str) -> Row:
        """The agent of that name; made now if the team's definition or the caller's contract says it may be."""
        row = self.find_agent(names.check_address(name))
        if row is not None:
            return row
        if name == names.PERSON or self.caller.open_addresses or self.world.directory.is_defined(name):
            return self.make_agent(name)
        raise self.unknown(name)

    def make_agent(self, name: str, *, role: str = "", is_human: bool = False) -> Row:
        if not self._db.writable:
            return {**_NOBODY, "name": name, "key": names.key(name)}
        person = name == names.PERSON
        self.run("forget_former_name", key=names.key(name))
        self.one(
            "new_agent", name=name, key=names.key(name), role=role or self.world.directory.role(name),
            is_human=int(is_human or person),
        )  # fmt: skip
        made = self.find_agent(name)
        assert made is not None
        return made

    def unknown(self, name: str) -> errors.UnknownName:
        known = [row["name"] for row in self.all("agent_names")]
        former = self.one("former_name", key=names.key(name))
        near = f"{name} is now {former['name']}." if former else names.did_you_mean(name, known)
        return errors.UnknownName(
            f"No agent named {name} in team {self.team}.",
            near or "`rook who --all` lists the names; `rook join NAME` makes one.",
            code="UNKNOWN_AGENT",
        )

    # -- who calls ---------------------------------------------------------------------------------------------

    def me(self) -> Row:
        """The agent that calls: by its token, by the agent program it runs in, by its handle's session, by name, by the
        shell it runs in; else the user."""
        if self._me is None:
            self._me = (
                self._by_token() or self._by_tree() or self._by_session() or self._by_name() or self._by_process()
                or self._person()
            )  # fmt: skip
        return self._me

    @property
    def tree(self) -> caller_tree.Tree | None:
        """The agent tree that the calling process is in; None outside every one, and for callers without a process."""
        if not self._knows_tree:
            assert self.caller.origin is not None
            self._tree, self._knows_tree = caller_tree.find(self._db, self.world, self.caller.origin), True
        return self._tree

    def narrow(self) -> None:
        """The caller is inside an agent tree: its environment and flags widen nothing."""
        self.world = caller_tree.InsideWorld(self.world, self._db)
        self.settings = self.world.settings

    def name_nobody(self) -> None:
        """The caller looks without the name that it gave."""
        self._me = {**_NOBODY, "name": "", "key": ""}

    def refuse(self, error: errors.NotYours, asked: str = "") -> errors.NotYours:
        """A refusal that is recorded: who tried it, and as whom."""
        grant = self.caller.grant
        actor = self.tree.names[0] if self.tree and self.tree.names else grant.name if grant else ""
        self.refused = Attempt(actor, asked or self.caller.agent or "", error.facts["attempt"])
        return error

    def attempt(self, work: Callable[[], T]) -> T:
        """A part of the verb that may be refused although the verb goes on: a refusal leaves nothing of it behind."""
        me, terms, flags, rings, after = self._me, self._terms, self.flags, set(self.rings), len(self.after)
        try:
            return self._db.savepoint(work)
        except BaseException:
            self._me, self._terms, self.flags, self.rings = me, terms, flags, rings
            del self.after[after:]
            raise

    def as_agent(self, agent: Row, work: Callable[[], T]) -> T:
        """In another's name: what a rule decides is the system's, whoever's report made it do so."""
        before, self._me = self.me(), agent
        try:
            return work()
        finally:
            self._me = before

    def beat(self) -> None:
        """Every verb is a heartbeat."""
        me = self.me()
        if me["session"] and me["ended_at"] is None:
            self.run("beat", session=me["session"])
            self.keep_held()

    def keep_held(self) -> None:
        """What this session holds is renewed by whatever it does: tasks with their paths, reservations, slots.

        Whoever calls by its session was looked up together with whether that is due; mostly it is not.
        """
        me = self.me()
        if not me.get("due", True):
            return
        if self.run("renew_held", agent=me["id"], session=me["session"]):
            self.run("renew_held_paths", agent=me["id"])
        self.run(
            "renew_holds", agent=me["id"], session=me["session"], local=int(self.is_local(me)),
            extensions=holding.EXTENSIONS,
        )  # fmt: skip

    def may_steer(self, agent: Row) -> bool:
        """The user and the leader decide about anyone's task. So does the daemon's own token, which may name any agent:
        what it does without a name is the system's."""
        leader = self.leader()
        if agent["name"] == names.SYSTEM:
            return self.caller.daemon_token
        return agent["name"] == names.PERSON or bool(leader and names.key(leader) == agent["key"])

    def beat_is_due(self) -> bool:
        """After a read: presence is written no more often than the heartbeat asks for."""
        me = self._me
        if self.quiet or (self.caller.grant is not None and self.caller.grant.reads_only):
            return False  # whoever only looks keeps nobody alive
        if me is None or me["session"] is None or me["ended_at"] is not None:
            return False
        return self.now - me["heartbeat_at"] >= self.settings.ms("mesh.heartbeat_s")

    def _by_token(self) -> Row | None:
        """A token decides; the session and the name that are said besides have to agree with it. A reader is nobody:
        it looks as the person does, or as whom it names."""
        grant = self.caller.grant
        if grant is None:
            return self._by_daemon_token() if self.caller.daemon_token and self.tree is None else None
        if grant.is_operator:
            return self._by_session() or self._by_name() or self._person()
        if grant.reads_only:
            return self._by_name() or self._person()
        from rookery.core import tokens  # few callers have one

        self._refuse_other(grant)
        found = self.one("agent_by_id", id=grant.agent)
        mine = self.find_agent(found["name"]) if found else None
        if mine is None:
            raise tokens.unknown()
        self._refuse_fenced(mine)
        return self._by_session() or mine

    def _by_daemon_token(self) -> Row:
        """Any agent that is named, never the user. Without a name it looks as nobody, and what it writes is the
        system's."""
        is_user = names.key(self.caller.agent or "") == names.PERSON
        found = self._by_session() or (None if is_user else self._by_name())
        if found is not None or not self._db.writable:
            return found or {**_NOBODY, "name": "", "key": ""}
        return self.find_agent(names.SYSTEM) or self.make_agent(names.SYSTEM)

    def _refuse_other(self, grant: Grant) -> None:
        from rookery.core import tokens

        name, session = self.caller.agent, self.caller.session
        if name:
            row = self.find_agent(names.check_address(name)) or self.renamed(name)
            if row is None or row["id"] != grant.agent:
                raise tokens.not_you(grant, name)
        row = self.one("agent_by_session", session=session) if session else None
        if row is not None and row["id"] != grant.agent:
            raise tokens.not_you(grant, row["name"])

    def _by_tree(self) -> Row | None:
        """Inside an agent tree the caller is that agent, whatever name is given with the call."""
        tree = self.tree
        if tree is None:
            return None
        asked, mine = self._asked(), self._agents_of(tree)
        if asked is not None:
            if names.key(asked) == names.PERSON or mine:
                row = self.find_agent(names.check_address(asked)) or self.renamed(asked)
                mine = [each for each in mine if row is not None and each["id"] == row["id"]]
                if not mine:
                    raise self.refuse(authority.other_name(next(iter(tree.names), ""), asked), asked)
        elif tree.current > 1:
            raise _which(tree.names[: tree.current])
        if not mine:
            return {**_NOBODY, "name": "", "key": ""}  # it may look; what it writes needs a name (admission)
        if tree.ended in ("taken over", "replaced"):
            raise mesh.fenced(mine[0]["name"], tree.ended)
        return mine[0]

    def _agents_of(self, tree: caller_tree.Tree) -> list[Row]:
        found = (self.find_agent(name) for name in tree.names)
        return [row for row in found if row is not None]

    def _asked(self) -> str | None:
        """The name that a call gives, by a handle's session or in words."""
        row = self._by_session()
        return row["name"] if row else self.caller.agent or None

    def _by_session(self) -> Row | None:
        if self.caller.session is None:
            return None
        row = self.one("agent_by_session", session=self.caller.session)
        if row is None or row["ended_at"] is not None or row["session"] != self.caller.session:
            raise mesh.fenced(row["name"] if row else "this name", row["end_reason"] if row else "")
        return row

    def _by_name(self) -> Row | None:
        name = self.caller.agent
        if not name or names.key(name) == names.PERSON:
            return self._person() if name else None
        row = self.find_agent(names.check_address(name)) or self.renamed(name)
        if row is not None:
            self._refuse_fenced(row)
        if row is None and (self.caller.open_addresses or self.world.directory.is_defined(name)):
            return self.make_agent(name)
        if row is None:
            raise self.unknown(name)
        return row

    def renamed(self, name: str) -> Row | None:
        former = self.one("former_name", key=names.key(name))
        return self.find_agent(former["name"]) if former else None

    def visitor(self) -> Row:
        """The caller as someone of another team: the agent that its process is here too, else nobody at all."""
        try:
            found = self._by_process()
        except errors.RookError:
            found = None  # several agents, or one that was taken over: none that could have a right here
        return found or {**_NOBODY, "name": "", "key": ""}

    def _refuse_fenced(self, agent: Row) -> None:
        """A name said aloud is no way round a takeover: whoever was put out stays out until it joins again."""
        for pid, started in self.caller.lineage:
            bound = self._bound(pid, started)
            mine = [row for row in bound if names.key(row["name"]) == agent["key"]]
            if mine and mine[0]["end_reason"] == "taken over":
                raise mesh.fenced(agent["name"], "taken over")

    def _bound(self, pid: int, started: str) -> list[Row]:
        return self.all("sessions_of_process", pid=pid, started=started, boot=self.caller.boot, host=self.caller.host)

    def is_mine(self, agent: Row) -> bool:
        """Does this very session call, or a process beneath the one it is bound to?"""
        if agent["pid"] is None or self.caller.session == agent["session"]:
            return True
        return (agent["pid"], agent["started"]) in self.caller.lineage

    def _by_process(self) -> Row | None:
        for pid, started in self.caller.lineage:
            bound = self._bound(pid, started)
            current = [row for row in bound if row["ended_at"] is None and row["session"] == row["id"]]
            if len(current) > 1:
                raise _which([row["name"] for row in current])
            if current:
                return self.find_agent(current[0]["name"])
            if bound and bound[0]["end_reason"] in ("taken over", "replaced"):
                raise mesh.fenced(bound[0]["name"], bound[0]["end_reason"])
        return None

    def is_new_here(self) -> bool:
        """No process above the caller has had a session so far, not even one that is over."""
        return bool(self.caller.lineage) and not any(self._bound(*each) for each in self.caller.lineage)

    def _person(self) -> Row:
        row = self.find_agent(names.PERSON)
        return row if row is not None else self.make_agent(names.PERSON)

    # -- presence ----------------------------------------------------------------------------------------------

    def is_local(self, row: Row) -> bool:
        """Is there a process that can be looked at from here?"""
        return row["pid"] is not None and row["boot"] == self.world.boot and row["host"] == self.world.host

    def liveness(self, row: Row) -> presence.Liveness | None:
        """How the newest session of an agent is; None if it never had one."""
        if row["session"] is None:
            return None
        if row["ended_at"] is not None:
            return presence.Liveness.ENDED
        local = self.is_local(row)
        looked = self.world.prober.state(row["pid"], row["started"]) if local else None
        return presence.liveness(
            ended=False,
            local=local,
            process=looked,
            heartbeat_at=row["heartbeat_at"],
            now=self.now,
            lease_ms=self.settings.ms("mesh.lease_s"),
        )


def _which(joined: Sequence[str]) -> errors.BadInput:
    return errors.BadInput(
        f"Several agents were joined from here: {', '.join(sorted(joined))}.",
        "Say which one you are: --as NAME, or set ROOK_AGENT.",
        code="WHO_ARE_YOU",
    )
