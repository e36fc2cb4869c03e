"""`rook maildrop`: what was written as files, taken in now, or as it arrives."""

import os
from collections.abc import Sequence
from typing import Any

from rookery.core import names
from rookery.core.text import one_line
from rookery.front.maildrop import watching
from rookery.front.maildrop.box import REJECTED, SENT, Box, Outcome
from rookery.runtime import files

from .call import Desk, Reply
from .router import document


def run(desk: Desk, read: dict[str, Any]) -> Reply:
    house = desk.house
    house.check_team()
    named = [os.path.realpath(os.path.join(desk.call.cwd, each)) for each in read["folder"] or ()]
    places = named or watching.folders(house.settings, house.places.root, house.places.repo_file)
    with files.kept_closed(*(house.places.store + end for end in ("", "-wal", "-shm"))):
        return _followed(desk, places) if read["follow"] else _now(desk, places)


def _boxes(desk: Desk, places: Sequence[str]) -> list[Box]:
    house = desk.house
    return watching.boxes(house.client, house.caller(names.SYSTEM), house.settings, places)


def _followed(desk: Desk, places: Sequence[str]) -> Reply:
    poll_s = desk.house.settings["maildrop.poll_s"]
    follower = watching.Follower(_boxes(desk, places), poll_s, lambda *told: _emit(desk, *told))
    try:
        follower.run()
    finally:
        follower.close()
    return Reply()


def _now(desk: Desk, places: Sequence[str]) -> Reply:
    found: list[dict[str, Any]] = []
    waiting = watching.one_pass(_boxes(desk, places), lambda *told: found.append(watching.entry(*told)))
    done = {
        "folders": places,
        "taken": [each for each in found if each["state"] == SENT],
        "rejected": [each for each in found if each["state"] == REJECTED],
        "waiting": waiting,
    }
    code = 1 if done["rejected"] else 0
    return Reply(document(done) if desk.options.json else _told(done), code=code)


def _emit(desk: Desk, folder: str, outcome: Outcome) -> None:
    told = watching.entry(folder, outcome)
    desk.call.emit(document(told) if desk.options.json else _line(told))


def _line(told: dict[str, Any]) -> str:
    name = one_line(told["file"], 80)
    if told["state"] != SENT:
        return f"{name}: {told['state']}. {one_line(told['reason'], 300)}\n"
    notes = "".join(f"  {one_line(note, 200)}\n" for note in told.get("notes", ()))
    return f"{name}: {told['id']} from {told['from']} to {', '.join(told['to'][:20])}\n{notes}"


def _told(done: dict[str, Any]) -> str:
    lines = [_line(each) for each in (*done["taken"], *done["rejected"])]
    lines += [f"{one_line(each['file'], 80)}: waits, {one_line(each['why'], 200)}\n" for each in done["waiting"]]
    return "".join(lines) or f"Nothing lies in {', '.join(one_line(each, 200) for each in done['folders'])}.\n"
