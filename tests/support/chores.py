"""Tasks on a stage, in few words."""

from typing import Any

from tests.support import ledger
from tests.support.stage import MINUTE, Stage

TTL = 5 * MINUTE  # what a claim gives when nothing else is asked for


def add(stage: Stage, title: str = "Do it", as_: str | None = None, **args: Any) -> str:
    return stage.call("task.add", as_, title=title, **args)["id"]


def claim(stage: Stage, who: str, id: str, **args: Any) -> int:
    """The epoch under which it is held now."""
    return stage.call("task.claim", who, id=id, **args)["lease"]["epoch"]


def best(stage: Stage, who: str = "ada", **args: Any) -> str | None:
    return stage.call("task.claim", who, next=True, **args)["taskId"]


def done(stage: Stage, who: str, id: str, **args: Any) -> dict[str, Any]:
    return stage.call("task.done", who, id=id, **args)


def finish(stage: Stage, id: str, who: str = "ada", **args: Any) -> dict[str, Any]:
    claim(stage, who, id)
    return done(stage, who, id, **args)


def show(stage: Stage, id: str) -> dict[str, Any]:
    return stage.call("task.show", id=id)


def status(stage: Stage, *ids: str) -> list[str]:
    return [show(stage, id)["status"] for id in ids]


def stop(stage: Stage, name: str, state: str = "stopped") -> None:
    """From now on the agent's process is stopped (or dead): it neither renews nor counts as running."""
    card = stage.call("whois", name=name)
    stage.prober.states[card["pid"], card["started"]] = state


def items(stage: Stage) -> list[tuple[str, str, str]]:
    """What lies before owners: (task, kind, state)."""
    return ledger.ask(stage.store.location, "SELECT ref, kind, state FROM review_items ORDER BY created_at, id")  # type: ignore[return-value]


def reserved(stage: Stage) -> list[tuple[str, str]]:
    return ledger.ask(stage.store.location, "SELECT pattern, task FROM reservations ORDER BY pattern")  # type: ignore[return-value]
