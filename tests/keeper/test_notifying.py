"""People told of what needs them: real verbs on a real store, a real server, a program on the path, a real terminal."""

import asyncio
import hashlib
import hmac
import json
import os
import pty
import threading
from collections.abc import Generator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from rookery.core.caller import Caller
from rookery.core.notifying import Digest
from rookery.keeper import notifying
from rookery.keeper.notifying import Hand, Notifier
from rookery.runtime import posting, ttys
from tests.support import ledger
from tests.support.crew_rows import insert
from tests.support.doors import running
from tests.support.fakes import BOOT, HOST
from tests.support.panes import until
from tests.support.stage import MINUTE, SECOND, Stage

SECRET = b"secret"


class Verbs:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def teams(self) -> list[str]:
        return [self._stage.team]

    async def call(self, team: str, verb: str, args: Mapping[str, Any]) -> Any:
        return self._stage.client.call(verb, args, Caller(agent="system", host=HOST, boot=BOOT, open_addresses=True))


@pytest.fixture
def stage(tmp_path: Path) -> Generator[Stage]:
    made = Stage(tmp_path / "ledger.db")
    made.join("ada")
    made.call("send", None, to=["ada"], subject="so that there is a person")
    yield made
    assert ledger.faults(made.store.location) == []
    made.close()


def needs(
    stage: Stage, count: int = 1, title: str = "Which port?", asked_of: str = "user", state: str = "open"
) -> None:
    """Rows of the docket, as verbs write them; a moment passes, as it does between two transactions."""
    path = stage.store.location
    ((agent, team),) = ledger.ask(path, "SELECT id, team FROM agents WHERE name = :name", name=asked_of)
    known = ledger.ask(path, "SELECT count(*) FROM review_items")[0][0]
    now = stage.store.write(stage.team, lambda db: db.now)
    for n in range(count):
        insert(
            path, "review_items", team=team, id=f"item-{known + n}", kind="question", ref="w3", title=title,
            asked_by=agent, asked_of=agent, state=state, created_at=now, at=0, subject="w3/q1", worker="w3",
        )  # fmt: skip
    stage.clock.pass_time(1)


class Told:
    """A hand that hears, or fails."""

    def __init__(self, problem: str = "") -> None:
        self.heard: list[Digest] = []
        self.problem = problem

    async def __call__(self, digest: Digest) -> str:
        self.heard.append(digest)
        return self.problem


def notifier(stage: Stage, hand: Hand, way: str = "webhook", owner: str = "here:1:a", **more: Any) -> Notifier:
    return Notifier(Verbs(stage), stage.team, {way: hand}, owner=owner, poll_s=0.01, **more)


def given(hand: Hand) -> str:
    async def hands_over() -> str:
        return await hand(Digest("t", []))

    return asyncio.run(hands_over())


def look(*notifiers: Notifier) -> int:
    async def all() -> int:
        return sum(await asyncio.gather(*(each.look() for each in notifiers)))

    return asyncio.run(all())


# --- when -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_burst_of_fifty_is_one_notification(stage: Stage) -> None:
    hand = Told()
    needs(stage, 50)
    assert look(notifier(stage, hand)) == 0, "it waits for others"
    stage.clock.pass_time(10 * SECOND)
    assert look(notifier(stage, hand)) == 1
    assert hand.heard[0].title == "Rookery: 50 things need you in crew"
    assert look(notifier(stage, hand)) == 0, "told once"


def test_what_comes_later_is_told_when_the_interval_is_over(stage: Stage) -> None:
    hand = Told()
    for minutes, digests in ((1, 1), (1, 1), (5, 2)):
        needs(stage)
        stage.clock.pass_time(minutes * MINUTE)
        look(notifier(stage, hand))
        assert len(hand.heard) == digests
    assert hand.heard[1].title.startswith("Rookery: 2 things")


def test_only_what_is_open_and_needs_a_person(stage: Stage) -> None:
    hand = Told()
    needs(stage, asked_of="ada")
    needs(stage, state="closed")
    stage.clock.pass_time(MINUTE)
    assert look(notifier(stage, hand)) == 0
    assert hand.heard == []


def test_in_quiet_hours_nothing_is_told_and_all_of_it_afterwards(stage: Stage) -> None:
    hand = Told()
    needs(stage, 3)
    stage.clock.pass_time(MINUTE)
    assert look(notifier(stage, hand, quiet=lambda: True)) == 0
    assert look(notifier(stage, hand, quiet=lambda: False)) == 1
    assert hand.heard[0].title.startswith("Rookery: 3 things")


# --- once -------------------------------------------------------------------------------------------------------------


def test_two_daemons_tell_it_once(stage: Stage) -> None:
    hand = Told()
    needs(stage)
    stage.clock.pass_time(MINUTE)
    both = [notifier(stage, hand, owner=f"here:{n}:a") for n in (1, 2)]
    assert look(*both) == 1
    assert len(hand.heard) == 1


def test_what_could_not_be_told_is_tried_again_with_what_came_meanwhile(stage: Stage) -> None:
    hand = Told("answered 500")
    needs(stage)
    stage.clock.pass_time(MINUTE)
    assert look(notifier(stage, hand)) == 0
    assert look(notifier(stage, hand)) == 0
    assert len(hand.heard) == 1, "not at once"
    needs(stage)
    stage.clock.pass_time(MINUTE)
    hand.problem = ""
    assert look(notifier(stage, hand)) == 1
    assert hand.heard[1].title.startswith("Rookery: 2 things")


def test_one_that_died_between_leaves_it_to_another_once_its_lease_is_over(stage: Stage) -> None:
    hand = Told()
    needs(stage)
    stage.clock.pass_time(MINUTE)
    system = Caller(agent="system", open_addresses=True)
    taken = stage.call("notify.take", system, way="webhook", owner="here:9:dead")
    assert taken["count"] == 1
    assert look(notifier(stage, hand)) == 0
    stage.clock.pass_time(2 * MINUTE)
    assert look(notifier(stage, hand)) == 1
    late = stage.call("notify.done", system, way="webhook", owner="here:9:dead", upto=taken["upto"])
    assert late == {"told": False}, "it moves no cursor any more"


def test_an_unknown_way_is_refused(stage: Stage) -> None:
    assert stage.refused("notify.take", Caller(agent="system", open_addresses=True), way="pigeon", owner="x").code


# --- ways -------------------------------------------------------------------------------------------------------------


class Server:
    """Slack, as far as a webhook knows it."""

    def __init__(self, statuses: list[int]) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.statuses = statuses
        heard = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                heard.requests.append((dict(self.headers), body))
                self.send_response(heard.statuses.pop(0) if heard.statuses else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server() -> Generator[Server]:
    made = Server([500])
    yield made
    made.close()


@pytest.fixture
def desktop(tmp_path: Path) -> Path:
    """A `notify-send` that writes down its arguments, each on a line of its own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {tmp_path}/shown\n')
    program.chmod(0o755)
    return tmp_path / "shown"


def ways(tmp_path: Path, **said: Any) -> dict[str, Hand]:
    settings = {"delivery.command_s": 10.0, "notify.desktop": False, "notify.terminal": "", "notify.webhook": "",
                **{f"notify.{name}": value for name, value in said.items()}}  # fmt: skip
    environ = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    return notifying.hands(settings, environ=environ, cwd=str(tmp_path), secret=lambda: SECRET)


@pytest.mark.slow
def test_a_webhook_is_signed_says_text_and_is_tried_again(stage: Stage, server: Server, tmp_path: Path) -> None:
    hand = ways(tmp_path, webhook=server.url)["webhook"]
    needs(stage, title="<!channel> $(x) \x1b[31mred")
    stage.clock.pass_time(MINUTE)
    assert look(notifier(stage, hand)) == 0, "it answered 500"
    stage.clock.pass_time(MINUTE)
    assert look(notifier(stage, hand)) == 1
    headers, body = server.requests[1]
    assert json.loads(body) == {"text": "Rookery: 1 thing needs you in crew\n- w3/q1: &lt;!channel&gt; $(x) red"}
    signed = hmac.new(SECRET, headers[posting.STAMP].encode() + b"." + body, hashlib.sha256).hexdigest()
    assert headers[posting.SIGNATURE] == f"sha256={signed}"


def test_a_desktop_is_given_words_as_arguments(stage: Stage, desktop: Path, tmp_path: Path) -> None:
    hand = ways(tmp_path, desktop=True)["desktop"]
    needs(stage, title="--urgency=critical <b>\x1b]0;x\x07 `touch y`")
    stage.clock.pass_time(MINUTE)
    assert look(notifier(stage, hand, "desktop")) == 1
    flag, end, title, body = desktop.read_text().splitlines()
    assert (flag, end) == ("--app-name=Rookery", "--")
    assert title == "Rookery: 1 thing needs you in crew"
    assert body.startswith("w3/q1: --urgency=critical &lt;b&gt;")
    assert "\x1b" not in body
    assert not (tmp_path / "y").exists()


def test_a_desktop_that_is_not_there_is_said_and_tried_again(stage: Stage, tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path)}
    settings = {"delivery.command_s": 10.0, "notify.desktop": True, "notify.terminal": "", "notify.webhook": ""}
    hand = notifying.hands(settings, environ=environ, cwd=str(tmp_path), secret=lambda: SECRET)["desktop"]
    assert "notify-send" in given(hand)


def test_a_bell_rings_in_a_terminal_and_nowhere_else(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        hand = ways(tmp_path, terminal=os.ttyname(theirs))["bell"]
        assert given(hand) == ""
        assert os.read(ours, 10) == b"\a"
    finally:
        os.close(ours)
        os.close(theirs)
    file = tmp_path / "file"
    file.write_text("kept")
    assert "is no terminal" in ttys.ring(str(file))
    assert "is no terminal" in ttys.ring("/dev/null")
    assert file.read_text() == "kept"
    assert ttys.ring(str(tmp_path / "none"))


def test_nothing_is_told_by_anyone_who_set_nothing_up(stage: Stage, tmp_path: Path) -> None:
    assert ways(tmp_path) == {}
    assert not Notifier(Verbs(stage), stage.team, {}, owner="x", poll_s=1).has_hands


@pytest.mark.slow
def test_a_daemon_tells(tmp_path: Path, desktop: Path) -> None:
    """A question to the person, by a verb; and a real daemon that was set up to tell of it."""
    more = {
        "ROOK_NOTIFY_DESKTOP": "true",
        "ROOK_NOTIFY_GATHER_S": "0",
        "PATH": f"{desktop.parent / 'bin'}:{os.environ['PATH']}",
    }
    with running(tmp_path, **more) as daemon:
        door = daemon.door
        assert door.post("/v1/call/join", name="ada").status == 200
        task = door.of(daemon.told["teamId"]).operator.post("/v1/call/task.add", title="T").body["id"]
        for _ in range(10):
            claim = door.post("/v1/call/task.claim", id=task, agentId="ada")
            if claim.status != 200:
                break
            door.post("/v1/call/task.fail", id=task, reason="no", agentId="ada")
        until(desktop.exists, lambda: door.post("/v1/call/feed").body)
        assert "need" in desktop.read_text()
