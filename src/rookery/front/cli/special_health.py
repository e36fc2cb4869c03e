"""`rook health`, `rook stats` and `rook who`: how things are, once or again and again."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from rookery.core import errors
from rookery.core import health as law
from rookery.wake.port import EVERYONE, Listener

from .call import Desk, Reply
from .router import answer, call_verb, document

EVERY_S = 2.0
LEAST_S = 0.2  # between two pictures, however much happens
UNREACHABLE = 3
HERE = ("dead", "stopped", "lapsed")  # gone without a word: shown, for someone may want to look

Look = Callable[[], tuple[Any, int]]


def health(desk: Desk, read: dict[str, Any]) -> Reply:
    """Exit 0: healthy; 1: degraded or unhealthy; 3: the ledger could not be read."""
    return shown(desk, "health", lambda: _health(desk), watch=read["watch"])


def stats(desk: Desk, read: dict[str, Any]) -> Reply:
    return shown(desk, "stats", lambda: (desk.verb("stats", {}), 0), watch=read["watch"])


def who(desk: Desk, read: dict[str, Any]) -> Reply:
    tree = read["tree"]
    look = (lambda: _tree(desk, read)) if tree else (lambda: call_verb(desk, "who", read))
    return shown(desk, "who.tree" if tree else "who", lambda: (look(), 0), watch=read["watch"])


def _health(desk: Desk) -> tuple[Any, int]:
    try:
        told = desk.verb("health", {})
    except errors.Unreachable as error:
        house = desk.house
        around = house.machine.look() if house.remote is None else {}
        return law.without_ledger(house.team, error.message, error.hint, around), UNREACHABLE
    return told, 0 if told["status"] == law.Status.HEALTHY else 1


def _tree(desk: Desk, read: dict[str, Any]) -> Any:
    """Also those that are gone without leaving; whoever left is shown with --all."""
    told = call_verb(desk, "who", {**read, "all": True})
    if not read["all"]:
        seen = told["agents"]
        told["agents"] = [each for each in seen if each["status"] != "offline" or each.get("liveness") in HERE]
    return told


# -- again and again -------------------------------------------------------------------------------------------------


def shown(desk: Desk, shown_as: str, look: Look, *, watch: bool) -> Reply:
    if not watch:
        result, code = look()
        return answer(desk, shown_as, result, code)
    return shown_again(desk, shown_as, look)


def shown_again(desk: Desk, shown_as: str, look: Look, *, until: Callable[[Any], bool] = lambda _: False) -> Reply:
    """Whenever something happened, and now and then; the last of it is the reply."""
    before: Any = None
    with _bell(desk) as bell:
        while True:
            result, code = look()
            if until(result):
                wipe = "\x1b[H\x1b[J" if desk.call.terminal and not desk.options.json else ""
                last = answer(desk, shown_as, result, code)
                return last._replace(out=wipe + last.out)
            seen = _steady(result) if shown_as == "health" else result
            if seen != before or not desk.options.json:
                desk.call.emit(document(result) if desk.options.json else _picture(desk, shown_as, result, code))
            before = seen
            bell.wait(EVERY_S)
            time.sleep(LEAST_S)


def _steady(result: Any) -> Any:
    """Without what changes though nothing happened: how often and when background services last looked."""
    daemons = [
        {**each, "services": [(it["name"], it["state"], it["failures"]) for it in each["services"] or ()]}
        for each in result["daemons"]
    ]
    return {**result, "daemons": daemons}


@contextmanager
def _bell(desk: Desk) -> Generator["Listener | _Silence"]:
    try:
        listener = desk.house.client.listen(EVERYONE)
    except errors.Unreachable:
        yield _Silence()
        return
    with listener:
        yield listener


class _Silence:
    """Where no ledger is, nobody rings."""

    def wait(self, seconds: float) -> bool:
        time.sleep(seconds)
        return False


def _picture(desk: Desk, shown_as: str, result: Any, code: int) -> str:
    """On a terminal over the one before, without a flicker; elsewhere one below the other."""
    text = answer(desk, shown_as, result, code).out
    if not desk.call.terminal:
        return f"{text}\n"
    return "\x1b[H" + text.replace("\n", "\x1b[K\n") + "\x1b[J"
