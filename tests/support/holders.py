"""Who holds which token: a team with a victim, an agent with a token of its own, and a reader."""

from typing import Any, NamedTuple

from tests.support.doors import Door


class Crew(NamedTuple):
    """A team with a victim who has mail, a task and a session; ada, who has a token; and a reader."""

    person: Door
    ada: Door
    eyes: Door
    task: str
    message: str
    thread: str
    session: str

    def newest(self) -> int:
        """The number of the newest event that is no record of a refused attempt."""
        return max((event["seq"] for event in self.since(0) if event["type"] != "authority.refused"), default=0)

    def since(self, after: int) -> list[dict[str, Any]]:
        return self.person.get("/v1/events", after=after, limit=10_000).body["events"]

    def victim(self) -> tuple[Any, ...]:
        """What is bob's, and must stay as it was."""
        read = self.person.post("/v1/call/read", agentId="bob", id=self.message, peek=True).body
        who = self.person.post("/v1/call/whois", name="bob").body
        task = self.person.get(f"/v1/tasks/{self.task}").body["task"]
        return read["state"], who["session"], who["epoch"], who["role"], task["status"], task["lease"]["holder"]

    def names(self) -> set[str]:
        return {agent["name"] for agent in self.person.get("/v1/agents").body["agents"]}


def made(door: Door, **args: Any) -> Door:
    answer = door.operator.post("/v1/call/token.new", **args)
    assert answer.status == 200, answer
    return door.having(answer.body["token"])


def assembled(door: Door) -> Crew:
    session = door.post("/v1/call/join", name="bob", role="dev").body["session"]
    door.post("/v1/call/join", name="cat")
    task = door.task("bob's", agentId="cat", review=True)
    door.claim(task, "bob", ttlMs=3_600_000)
    message = door.post("/v1/messages", agentId="cat", to=["bob"], subject="for bob", body="secret").body["id"]
    thread = door.post("/v1/threads", agentId="cat", title="t", participants=["bob"], body="x").body["thread"]["id"]
    ada, eyes = made(door, agent="ada"), made(door, read_only=True)
    return Crew(door, ada, eyes, task, message, thread, session)
