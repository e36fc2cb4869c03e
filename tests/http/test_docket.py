"""The docket over HTTP: a bot or a build server looks, and decides about exactly what it looked at."""

from typing import Any

from tests.support.doors import Door


def blocked(door: Door, title: str = "Parse the header") -> str:
    """A task that somebody blocked: what is asked about it."""
    door.post("/v1/call/join", name="ada", agentId="ada")
    id = door.task(title)
    door.post(f"/v1/tasks/{id}/claim", agentId="ada")
    assert door.post(f"/v1/tasks/{id}/block", agentId="ada", reason="There is no grammar for it.").status == 200
    items: list[dict[str, Any]] = door.get("/v1/docket").body["items"]
    return next(each["subject"] for each in items if each["ref"] == id)


def test_a_bot_looks_and_decides(door: Door):
    subject = blocked(door)
    card = door.get("/v1/cards", subject=subject).body
    assert (card["matter"], card["state"]) == ("task", "open")
    assert [each["action"] for each in card["actions"]] == ["retry", "dismiss", "reject"]
    made = door.operator.post("/v1/verdicts", subject=subject, action="retry", text="Use RFC 5322.")
    assert (made.status, made.body["effect"]["reset"]) == (200, [card["ref"]])
    assert door.get("/v1/docket").body["items"] == []
    (logged,) = door.get("/v1/decisions").body["decisions"]
    assert (logged["verb"], logged["subject"], logged["said"]) == ("retry", subject, "Use RFC 5322.")
    again = door.operator.post("/v1/verdicts", subject=subject, action="retry", text="Use RFC 5322.")
    assert (again.status, again.body["replayed"]) == (200, True)


def test_what_moved_is_refused_with_409_and_nothing_is_done(door: Door):
    subject = blocked(door)
    door.operator.post("/v1/verdicts", subject=subject, action="dismiss")
    answer = door.operator.post("/v1/verdicts", subject=subject, action="reject", text="not wanted")
    assert (answer.status, answer.code) == (409, "STALE_CARD")
    assert len(door.get("/v1/decisions").body["decisions"]) == 1


def test_an_agent_decides_only_what_it_was_asked(door: Door):
    subject = blocked(door)
    token = door.operator.post("/v1/call/token.new", agent="eve").body["token"]
    reader = door.operator.post("/v1/call/token.new", read_only=True).body["token"]
    assert door.having(token).post("/v1/verdicts", subject=subject, action="dismiss").status == 403
    assert door.having(reader).post("/v1/verdicts", subject=subject, action="dismiss").code == "READ_ONLY_TOKEN"
    assert door.having(token).post("/v1/call/rule.add", name="mine", checks="green").status == 403
    assert door.having(token).get("/v1/docket").body["items"] == []
    assert [each["subject"] for each in door.having(reader).get("/v1/docket", all="1").body["items"]] == [subject]


def test_bad_input_is_told(door: Door):
    assert door.get("/v1/cards", subject="w9/1").status == 404
    assert door.get("/v1/cards").status == 404
    assert door.operator.post("/v1/verdicts", subject="w9/1").status == 422
    assert door.operator.post("/v1/verdicts", subject="w9/1", action="explode").status == 422
