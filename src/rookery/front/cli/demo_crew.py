"""The three agents of `rook demo`, each a process of its own that knows only its name and the public API."""

import sys
from collections.abc import Callable

import rookery

PATIENCE_S = 30.0


def _next(me: rookery.Agent, **filters: str) -> rookery.Message:
    """The next message, read; the process sleeps until the bell rings."""
    waiting = me.wait(PATIENCE_S, **filters)
    if not waiting:
        raise SystemExit(f"{me.name} waited {PATIENCE_S:.0f} s for mail that did not come")
    return waiting[0].read()


def architect(me: rookery.Agent) -> None:
    me.status("designing the header format", task="header format")
    me.handoff(
        "implementer", "Parse the header", priority="high", template="implement",
        work_completed="The format is in docs/header.md", next_steps=["Write the parser", "Have it reviewed"],
        files_modified=["docs/header.md"],
    )  # fmt: skip
    report = _next(me)
    report.ack()
    me.broadcast("Header parser shipped", f"Thanks, all. {report.body}", priority="low")


def implementer(me: rookery.Agent) -> None:
    work = _next(me)
    work.ack("processing")
    for file in ("src/header.py", "tests/test_header.py"):
        me.call("activity", kind="edit", target=file)
    me.call("activity", kind="test", target="pytest tests/test_header.py", detail="12 passed")
    me.send(
        "any:reviewer", "Please review the header parser", "src/header.py and its tests", attachments=["src/header.py"]
    )
    verdict = _next(me)
    me.call("activity", kind="commit", target="4f2c9e1", detail="Parse the header")
    work.reply(f"Done: {verdict.body}")
    work.ack()


def critic(me: rookery.Agent) -> None:
    request = _next(me)
    me.escalate(
        "Which header versions must we read?", "docs/header.md names 1 and 2.", level="person", reason="unclear scope"
    )
    answer = _next(me, sender="user")
    answer.ack()
    request.reply(f"SHIP. Scope settled by the person: {answer.body}")
    request.ack()


CREW: dict[str, tuple[Callable[[rookery.Agent], None], str]] = {
    "architect": (architect, "lead"),
    "implementer": (implementer, "builder"),
    "critic": (critic, "reviewer"),
}

if __name__ == "__main__":
    part, role = CREW[sys.argv[1]]
    with rookery.connect() as team:
        part(team.join(sys.argv[1], role=role))
