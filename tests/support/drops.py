"""Files as agents drop them, and what became of them."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

from rookery.front.maildrop import box as boxes
from rookery.front.maildrop.box import Box, Outcome, Terms
from tests.support.doors import Running, running
from tests.support.inside import die, say
from tests.support.procs import PATIENCE_S

LIMIT = 100_000


def letter(
    to: str = "bob", sender: str = "ada", body: str = "Hello there", rear: str = "", /, **fields: str
) -> str:  # fmt: skip
    """As an agent writes it; `msg_id` is `msg-id`."""
    front = {"to": to, "from": sender, **{name.replace("_", "-"): value for name, value in fields.items()}}
    lines = "".join(f"{name}: {value}\n" for name, value in front.items())
    return f"---\n{lines}---\n\n{body}\n" + (f"---\n{rear}---\n" if rear else "")


def put(folder: Path, name: str, written: str | bytes) -> Path:
    """In one go, by another name first: whole from the moment it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    hidden = folder / f".{name}"[:200]
    hidden.write_bytes(written.encode() if isinstance(written, str) else written)
    hidden.rename(folder / name)
    return folder / name


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder)) if folder.exists() else []


def lying(folder: Path) -> list[str]:
    """What still waits in a maildrop."""
    return [name for name in names(folder) if name.endswith(".md")]


def until(condition: Callable[[], Any], what: str) -> Any:
    """What a condition that is looked at again and again answers when it holds; patience has an end."""
    end = monotonic() + PATIENCE_S
    pause = threading.Event()
    while not (found := condition()):
        assert monotonic() < end, f"waited too long: {what}"
        pause.wait(0.01)
    return found


class Clock:
    """Moves when told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def terms(**more: Any) -> Terms:
    return Terms(settle_s=0.05, patience_s=30.0, limit=LIMIT, rounds_max=5)._replace(**more)


def looked(box: Box, clock: Clock, *, after_s: float = 1.0) -> list[Outcome]:
    """Two looks with so much time between them: what was whole at the first is taken at the second."""
    first = list(box.look())
    clock.now += after_s
    return [*first, *box.look()]


# --- a daemon ---------------------------------------------------------------------------------------------------------

TEAM = "crew"


def up(work: Path, folder: str = ".rook/msgs", **environ: str) -> Any:
    """A daemon that finds its folder when it starts, and so is rung from then on."""
    (work / folder).mkdir(parents=True, exist_ok=True)
    return running(work, ROOK_TEAM=TEAM, **environ)


def inbox(started: Running, agent: str = "bob") -> list[dict[str, Any]]:
    door = started.door.of(TEAM)
    mine = {} if agent == "user" else {"agentId": agent}
    told = (door.operator if agent == "user" else door).post("/v1/call/inbox", **mine, limit=1000)
    assert told.status == 200, told
    return told.body["messages"]


def join(started: Running, *agents: str) -> None:
    for name in agents:
        assert started.door.of(TEAM).post("/v1/call/join", name=name).status == 200


# --- in processes of their own ----------------------------------------------------------------------------------------


def take_and_die(home: str, root: str, point: str) -> None:
    """One pass over the workspace's maildrop, killed at a fault point of the first file's transaction."""
    from rookery.store import faults

    if point:
        faults.arm(point, die)
    one_pass(home, root)


def take_and_die_before_the_move(home: str, root: str) -> None:
    """Killed when everything is committed, rung and told, and the file lies where it lay."""
    real = boxes.dropbox.Dropbox.keep
    boxes.dropbox.Dropbox.keep = lambda *args: die()  # type: ignore[method-assign, assignment]
    try:
        one_pass(home, root)
    finally:
        boxes.dropbox.Dropbox.keep = real


def one_pass(home: str, root: str) -> None:
    from rookery import app
    from rookery.front.maildrop import watching

    house = app.open_house(cwd=root, environ={"ROOK_HOME": home, "HOME": home, "ROOK_TEAM": "crew"})
    places = watching.folders(house.settings, house.places.root, house.places.repo_file)
    found: list[dict[str, Any]] = []
    watched = watching.boxes(house.client, house.caller("system"), house.settings, places)
    watching.one_pass(watched, lambda *told: found.append(watching.entry(*told)))
    for each in found:
        say(each)
    house.close()


def write_slowly(path: str, parts: list[str]) -> None:
    """Open a file, and write each part when told to; it stays open in between."""
    from tests.support.inside import hear

    with open(path, "w", encoding="utf-8") as file:
        for part in parts:
            file.write(part)
            file.flush()
            say("wrote")
            if not hear():
                return
    say("closed")
