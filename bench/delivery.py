"""Mail that goes to its reader: a process that waits, a stream, a burst into a terminal, a real idle Claude Code.

Beside a watcher that waits for 50 ms of silence (`debounce`). Typing waits by law until a program was ready and still
for a while; that wait is the floor of what is typed, so that the ratio is what we add to it.
"""

import os
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rookery import app
from rookery.config import load
from rookery.core import errors
from rookery.core.screen import rules
from rookery.runtime import process
from tests.hosts import crew as hosts
from tests.hosts import stage as installed
from tests.hosts.model.script import say
from tests.hosts.programs import ALL
from tests.support.mimicked import Mimicked
from tests.support.panes import Server, server

from . import scene
from .debounce import Box, wait_for_files
from .door import daemon
from .helper import Helper
from .report import Row, Section, at_most
from .scene import Scene
from .sizes import Sizes
from .timing import at_quantile, median

READER, WRITER, TYPIST = "reader", "writer", "ada"
SETTLE_S = 0.004
STREAM, GAP_S = 100, 0.02
BURST = 100
WAKES = 3  # of a real program, each of which takes seconds
PATIENCE_S = 60.0
AGAINST = "50 ms debounce"


def measure(place: Scene, sizes: Sizes) -> Section:
    rows = _waiting(place, sizes.wakes)
    rows += _burst(place)
    rows += _real(place)
    return Section("Delivery, from send to reader", AGAINST, rows)


# -- a process that waits ----------------------------------------------------------------------------------------------


def _waiting(place: Scene, count: int) -> list[Row]:
    home, folder = place.home("delivery"), place.home("delivery-box")
    os.mkdir(folder)
    with ExitStack() as stack:
        ours = stack.enter_context(Helper(wait_for_mail, home))
        theirs = stack.enter_context(Helper(wait_for_files, folder))
        for each in (ours, theirs):
            each.hear()
        me = stack.enter_context(scene.team(home)).join(WRITER)
        box = Box(folder)
        sides: list[tuple[Helper, Callable[[], object]]] = [
            (ours, lambda: me.send(READER, scene.SUBJECT, scene.BODY)),
            (theirs, lambda: box.send(scene.SUBJECT, scene.BODY)),
        ]
        single = [[_one(*side) for _ in range(count)] for side in sides]
        streams = [_first_of_a_stream(*side) for side in sides]
    return [
        Row("one message, a process waits: p50", median(single[0]), median(single[1]), "ms", at_most(1.0)),
        Row("one message, a process waits: p99", at_quantile(single[0], 0.99), at_quantile(single[1], 0.99), "ms"),
        Row(f"the first of {STREAM}, one every {GAP_S * 1000:.0f} ms", streams[0], streams[1], "ms", at_most(0.5)),
    ]


def _one(reader: Helper, send: Callable[[], object]) -> float:
    reader.tell("wait")
    reader.hear()
    time.sleep(SETTLE_S)
    before = time.monotonic()
    send()
    return (reader.hear()[0] - before) * 1000


def _first_of_a_stream(reader: Helper, send: Callable[[], object]) -> float:
    """How long the first one waits while others keep coming."""
    reader.tell("wait")
    reader.hear()
    time.sleep(SETTLE_S)
    before = time.monotonic()
    for _ in range(STREAM):
        send()
        time.sleep(GAP_S)
    return (reader.hear()[0] - before) * 1000


def wait_for_mail(pipe: Any, home: str) -> None:
    with scene.team(home) as team:
        me = team.join(READER)
        pipe.send("ready")
        while True:
            try:
                pipe.recv()
            except EOFError:
                return
            pipe.send("about to wait")
            found = me.wait(timeout=PATIENCE_S)
            pipe.send((time.monotonic(), len(found)))
            for message in found:
                message.ack()


# -- a burst into a terminal -------------------------------------------------------------------------------------------


def _burst(place: Scene) -> list[Row]:
    """From the first send of a hundred to the hand-over of all that waited, in one text."""
    home = place.home("burst")
    settings = rules(load(environ={}, user_file=None, repo_file=None))
    least = (settings.stable_s + settings.pause_s) * 1000
    with server() as tmux, _seated(tmux, home) as house, daemon(place.environment(home)):
        _handed(house, _send(house, "so that it is known"))
        before = time.monotonic()
        ids = [_send(house, f"note {number}") for number in range(BURST)]
        _handed(house, ids[0])
        last = _last_receipt(house, ids[-1])
        took = (time.monotonic() - before) * 1000
    note = "" if last in ("handed-over", "announced") else f"the last of them was {last}"
    rest = f"typing waits {least:.0f} ms"
    return [Row(f"{BURST} at once, typed: until all are told", took, least, "ms", at_most(3.0), note or rest)]


@contextmanager
def _seated(tmux: Server, home: str) -> Generator[app.House]:
    with tempfile.TemporaryDirectory(prefix="rook-bench-") as folder:
        mimic = Mimicked(tmux, Path(folder))
        tmux.ask("resize-window", "-t", mimic.pane, "-x", "150", "-y", "120")
        house = app.open_house(cwd=os.path.dirname(home), environ={"ROOK_HOME": home, "ROOK_TEAM": scene.TEAM})
        joined = {"name": TYPIST, "program": "claude", "terminal": mimic.address}
        house.client.call("join", joined, house.caller(None, process=tuple(mimic.process)))
        yield house
        house.close()
        mimic.close()


def _send(house: app.House, subject: str) -> str:
    told = house.client.call("send", {"to": [TYPIST], "subject": subject}, house.caller())
    return told["id"]


def _last_receipt(house: app.House, id: str) -> str:
    told = house.client.call("receipts", {"id": id}, house.caller())
    return told["recipients"][0]["receipts"][-1]["stage"]


def _handed(house: app.House, id: str) -> None:
    ends = time.monotonic() + PATIENCE_S
    with house.bell.listen(house.team, "all") as bell:
        while _last_receipt(house, id) != "handed-over":
            assert time.monotonic() < ends, "it was not handed over in time"
            bell.wait(0.05)


# -- a real program ---------------------------------------------------------------------------------------------------


def _real(place: Scene) -> list[Row]:
    """An idle Claude Code in its terminal: woken by its own door, and, without hooks, by typing."""
    if problem := installed.lacking():
        return [Row("a real idle Claude Code", None, None, "ms", notes=problem)]
    settings = rules(load(environ={}, user_file=None, repo_file=None))
    least = (settings.stable_s + settings.pause_s) * 1000
    door, typed = _woken(place, "door"), _woken(place, "typed")
    return [
        Row("a real idle Claude Code, by its own door: p50", median(door), None, "ms"),
        Row("a real idle Claude Code, typed: p50", median(typed), least, "ms", None, f"typing waits {least:.0f} ms"),
    ]


def _woken(place: Scene, how: str) -> list[float]:
    base = Path(place.home(f"claude-{how}"))
    base.mkdir()
    with hosts.Crew(base, "wren") as crew:
        wren = crew.member(ALL["claude"], "wren")
        if how == "door":
            hosts.install_hooks("claude", crew.repo, wren.environ)
        house = app.open_house(cwd=str(crew.repo), environ=crew.environ())
        with ExitStack() as stack:
            tui = stack.enter_context(wren.at_terminal([say(f"answer {number}") for number in range(WAKES)]))
            tui.shows("bypass permissions on")
            if how == "typed":
                _join_pane(house, tui)
                stack.enter_context(daemon(place.environment(str(crew.home)) | {"ROOK_TEAM": "rig"}))
            took = [_answered(house, tui, number) for number in range(WAKES)]
        house.close()
    return took


def _join_pane(house: app.House, tui: Any) -> None:
    bound = process.identify(int(tui.server.ask("display-message", "-p", "-t", tui.pane, "#{pane_pid}")))
    assert bound
    joined = {"name": "wren", "program": "claude", "terminal": tui.server.address(tui.pane)}
    house.client.call("join", joined, house.caller(None, process=tuple(bound)))


def _can_be_reached(house: app.House) -> bool:
    """Its first hook, which comes after its first screen, makes it known."""
    try:
        return bool(house.client.call("whois", {"name": "wren"}, house.caller())["ways"])
    except errors.UnknownName:
        return False


def _answered(house: app.House, tui: Any, number: int) -> float:
    """Idle, then a message, and the time until its hand-over is written down."""
    ends = time.monotonic() + PATIENCE_S
    while not _can_be_reached(house):
        assert time.monotonic() < ends, "it can not be reached"
        time.sleep(0.05)
    time.sleep(3.0)  # it has been idle for a while
    before = time.monotonic()
    told = house.client.call("send", {"to": ["wren"], "subject": "x", "body": "y", "asks": False}, house.caller())
    _handed(house, told["id"])
    took = (time.monotonic() - before) * 1000
    tui.shows(f"answer {number}")
    return took
