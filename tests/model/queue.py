"""Reservations, slots and the line for them as a person would explain them, in plain values: the model."""

from dataclasses import dataclass, field, replace

EXTENSIONS = 6
PLACE_MS = 10_000

# What each pattern covers in a small world. The verbs are never asked.
COVERS = {
    "a/": {"a/x", "a/y", "a/z"},
    "a/x": {"a/x"},
    "a/y": {"a/y"},
    "b": {"b"},
    ".": {"a/x", "a/y", "a/z", "b", "c"},
}
CAPACITY = {"one": 1, "two": 2}


class No(Exception):
    """A refusal, by its code."""


@dataclass(frozen=True)
class Thing:
    """One path or slot, held or waited for."""

    request: str
    what: str
    agent: str
    session: int
    mode: str
    ttl: int
    until: int
    renewed: int
    turn: int = 0  # 0: it is held

    @property
    def is_slot(self) -> bool:
        return self.what in CAPACITY

    @property
    def waiting(self) -> bool:
        return self.turn > 0


@dataclass
class Line:
    now: int = 0
    things: list[Thing] = field(default_factory=list[Thing])
    sessions: dict[str, int] = field(default_factory=dict[str, int])  # of each agent, the one it has; 0 when it left
    processes: dict[int, str] = field(default_factory=dict[int, str])
    lapsed: int = 0
    turns: int = 0
    requests: int = 0

    def copy(self) -> "Line":
        return replace(self, things=list(self.things), sessions=dict(self.sessions), processes=dict(self.processes))

    # -- looking -----------------------------------------------------------------------------------------------------

    def keeper(self, thing: Thing) -> str:
        return self.processes.get(thing.session, "ended")

    def is_live(self, thing: Thing) -> bool:
        keeper = self.keeper(thing)
        if keeper in ("dead", "ended"):
            return False
        if thing.until > self.now or thing.waiting:
            return thing.until > self.now
        return keeper == "running" and self.now < thing.renewed + EXTENSIONS * thing.ttl

    def live(self) -> list[Thing]:
        return [thing for thing in self.things if self.is_live(thing)]

    def ends(self, thing: Thing) -> int:
        """When it ends if nothing more is heard: what is over and goes on is given another while."""
        if thing.waiting or thing.until > self.now:
            return thing.until
        return min(self.now + thing.ttl, thing.renewed + EXTENSIONS * thing.ttl)

    def near(self, what: str) -> list[Thing]:
        if what in CAPACITY:
            return [thing for thing in self.things if thing.what == what]
        return [thing for thing in self.things if not thing.is_slot and COVERS[what] & COVERS[thing.what]]

    def in_the_way(self, agent: str, wants: list[str], mode: str, turn: int) -> list[Thing]:
        return [thing for want in wants for thing in self._in_the_way_of(agent, want, mode, turn)]

    def _in_the_way_of(self, agent: str, want: str, mode: str, turn: int) -> list[Thing]:
        near = [thing for thing in self.near(want) if self.is_live(thing) and (not thing.waiting or thing.turn < turn)]
        if want in CAPACITY:
            return near if len(near) >= CAPACITY[want] else []
        covered = any(
            thing.agent == agent
            and not thing.waiting
            and COVERS[want] <= COVERS[thing.what]
            and thing.mode in ("exclusive", mode)
            for thing in near
        )
        return [
            thing
            for thing in near
            if thing.agent != agent and "exclusive" in (mode, thing.mode) and not (thing.waiting and covered)
        ]

    def circle(self, agent: str, others: list[Thing]) -> bool:
        todo, seen = list(others), set[str]()
        while todo:
            thing = todo.pop()
            if thing.agent in seen or CAPACITY.get(thing.what, 1) > 1:
                continue
            seen.add(thing.agent)
            for request in {each.request for each in self.live() if each.agent == thing.agent and each.waiting}:
                rows = [each for each in self.things if each.request == request]
                further = self.in_the_way(thing.agent, [each.what for each in rows], rows[0].mode, rows[0].turn)
                if any(each.agent == agent for each in further):
                    return True
                todo += further
        return False

    # -- changing ----------------------------------------------------------------------------------------------------

    def change(self, old: Thing, new: Thing | None) -> None:
        at = self.things.index(old)
        self.things[at : at + 1] = [] if new is None else [new]

    def beat(self, agent: str) -> None:
        """Whatever a session does renews what it holds, once half its time is over."""
        for thing in list(self.things):
            mine = thing.agent == agent and thing.session == self.sessions.get(agent) != 0 and not thing.waiting
            lasting = thing.until > self.now or self.now < thing.renewed + EXTENSIONS * thing.ttl
            if mine and lasting and thing.until < self.now + thing.ttl // 2:
                self.change(thing, replace(thing, until=self.now + thing.ttl, renewed=self.now))

    def settle(self, things: list[Thing]) -> None:
        for thing in things:
            if thing not in self.things:
                continue
            if not self.is_live(thing):
                self.change(thing, None)
                self.lapsed += not thing.waiting
            elif thing.until <= self.now:
                limit = thing.renewed + EXTENSIONS * thing.ttl
                self.change(thing, replace(thing, until=min(self.now + thing.ttl, limit)))

    def ask(self, agent: str, wants: list[str], mode: str, ttl: int, wait: bool) -> str:
        """The request: held, waiting, or refused. Whatever the dead were given would be free at once."""
        if self.processes.get(self.sessions[agent]) == "dead":
            raise No("NOT_JOINED")
        self.beat(agent)
        for want in wants:
            self.settle([thing for thing in self.near(want) if thing.is_slot or thing.agent != agent])
        others = self.in_the_way(agent, wants, mode, self.turns + 1)
        if others and not wait:
            raise No("RESERVED")
        if others and self.circle(agent, others):
            raise No("CIRCLE")
        self.requests += 1
        self.turns += bool(others)
        request = f"r{self.requests}"
        until = self.now + (PLACE_MS if others else ttl)
        new = Thing(request, "", agent, self.sessions[agent], mode, ttl, until, self.now, self.turns if others else 0)
        for want in wants:
            if others or not self._again(agent, want, mode, ttl):
                self.things.append(replace(new, what=want))
        return request

    def _again(self, agent: str, want: str, mode: str, ttl: int) -> bool:
        """Asking twice is not having it twice; what was waited for twice is had twice, and goes on together."""
        found = False
        for thing in list(self.things):
            same = (thing.agent, thing.what, thing.mode, thing.session, thing.waiting)
            if same == (agent, want, mode, self.sessions[agent], False) and not thing.is_slot and self.is_live(thing):
                self.change(thing, replace(thing, ttl=ttl, until=self.now + ttl, renewed=self.now))
                found = True
        return found

    def take(self, agent: str, request: str) -> str:
        rows = [thing for thing in self.things if thing.request == request and thing.agent == agent]
        if not rows:
            raise No("PLACE_LOST")
        if not rows[0].waiting:
            return "held"
        if not self.is_live(rows[0]):
            raise No("PLACE_LOST")
        for row in rows:
            self.settle([thing for thing in self.near(row.what) if thing.agent != agent])
        others = self.in_the_way(agent, [row.what for row in rows], rows[0].mode, rows[0].turn)
        self.beat(agent)
        for row in rows:
            if others:
                self.change(row, replace(row, until=self.now + PLACE_MS))
            else:
                self.change(row, replace(row, turn=0, until=self.now + row.ttl, renewed=self.now))
        return "waiting" if others else "held"

    def release(self, agent: str, request: str) -> None:
        self.things = [thing for thing in self.things if (thing.agent, thing.request) != (agent, request)]
        self.beat(agent)

    def release_all(self, agent: str) -> None:
        self.things = [thing for thing in self.things if thing.agent != agent or thing.is_slot]
        self.beat(agent)

    # -- agents ------------------------------------------------------------------------------------------------------

    def join(self, agent: str, session: int) -> None:
        self._end(agent, told=True)
        self.sessions[agent] = session
        self.processes[session] = "running"

    def leave(self, agent: str) -> None:
        self._end(agent, told=False)
        self.sessions[agent] = 0

    def _end(self, agent: str, *, told: bool) -> None:
        session = self.sessions.get(agent, 0)
        self.processes.pop(session, None)
        gone = [thing for thing in self.things if thing.session == session]
        self.lapsed += sum(not thing.waiting for thing in gone) if told else 0
        self.things = [thing for thing in self.things if thing not in gone]

    def sweep(self) -> None:
        self.settle(list(self.things))
