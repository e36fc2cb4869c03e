"""Limits of HTTP that need no daemon: descriptors, who makes room for whom, and which pages are shared."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from rookery.core import errors
from rookery.core.caller import Caller
from rookery.front.http import admission
from rookery.front.http.admission import Admission, Limits
from rookery.front.http.event_pages import KEPT, PAGE, EventPages
from tests.support.procs import ROOT

RAISE = """import resource
from rookery.runtime import descriptors
print(descriptors.raise_limit({}), *resource.getrlimit(resource.RLIMIT_NOFILE))"""


def raised(wanted: int, soft: int, hard: int) -> list[int]:
    limited = f'ulimit -Sn {soft} && ulimit -Hn {hard} && exec "$@"'
    done = subprocess.run(
        ["/bin/sh", "-c", limited, "sh", sys.executable, "-c", RAISE.format(wanted)], env={"PYTHONPATH": f"{ROOT}/src"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [int(word) for word in done.stdout.split()]


def test_the_soft_limit_is_raised_to_what_is_wanted_and_no_further():
    assert raised(300, 100, 400) == [300, 300, 400]
    assert raised(1000, 100, 400) == [400, 400, 400]
    assert raised(50, 100, 400) == [100, 100, 400]


@pytest.mark.parametrize("allowed", [6, 100, 1024, 4096, 1 << 20])
def test_what_may_be_open_fits_into_the_descriptors(monkeypatch: pytest.MonkeyPatch, allowed: int):
    monkeypatch.setattr(admission.descriptors, "raise_limit", lambda wanted: min(wanted, allowed))
    limits = admission.limits(2000, 1.0, 1.0)
    assert 1 <= limits.connections <= 2000
    if allowed >= 1024:
        assert limits.connections + limits.backlog + admission.LINGERING + admission.OWN_DESCRIPTORS <= allowed + 1
        assert limits.connections >= allowed // 4 or limits.connections == 2000


class Connection:
    def __init__(self) -> None:
        self.is_closed = False

    def make_room(self) -> None:
        self.is_closed = True


def test_the_connection_that_is_idle_for_the_longest_time_makes_room():
    crowd, house = [Connection() for _ in range(4)], Admission(Limits(3, 1, 1.0, 1.0))
    assert all(house.enter(each) for each in crowd[:3])
    house.begin(crowd[0])
    house.end(crowd[0])  # it asked something meanwhile, and is the last now
    house.begin(crowd[1])
    assert house.enter(crowd[3])
    assert [each.is_closed for each in crowd] == [False, False, True, False]
    assert (len(house), house.closed["room"]) == (3, 1)
    for each in (crowd[0], crowd[3]):
        house.begin(each)
    assert not house.enter(Connection()), "all of them are busy"
    house.leave(crowd[1])
    assert house.enter(Connection())


class Queue:
    """Answers pages of a ledger with so many events; refuses some callers."""

    def __init__(self, events: int) -> None:
        self.events = events
        self.reads: list[tuple[str | None, int]] = []
        self.threads: set[threading.Thread] = set()

    def deed(self, _team: str, _verb: str, args: dict[str, Any], caller: Caller) -> Any:
        return args["after"], args["limit"], caller.agent

    def read_here(self, _team: str, deed: Any) -> dict[str, Any]:
        after, limit, agent = deed
        self.reads.append((agent, after))
        self.threads.add(threading.current_thread())
        if agent == "revoked":
            raise errors.NotYours("no")
        found = [{"seq": n, "type": "status"} for n in range(after + 1, min(after + limit, self.events) + 1)]
        return {"events": found, "cursor": after + len(found)}


def paged(act: Callable[[EventPages, Queue], Coroutine[Any, Any, None]], events: int = 250) -> None:
    queue = Queue(events)
    pages = EventPages(queue, most=1, fresh_s=60)  # type: ignore[arg-type]
    asyncio.run(act(pages, queue))
    pages.close()


def test_readers_share_a_full_page_and_read_the_last_one_again():
    async def act(pages: EventPages, queue: Queue) -> None:
        for agent in ("ada", "bob"):
            await asyncio.gather(*(pages.shared("t", 0, Caller(agent=agent)) for _ in range(3)))
        assert queue.reads == [("ada", 0)]
        last = await pages.shared("t", 2 * PAGE, Caller())
        assert (last.is_full, last.cursor) == (False, 250)
        queue.events += 1
        assert (await pages.shared("t", 2 * PAGE, Caller())).cursor == 251
        assert (await pages.shared("u", 0, Caller(agent="eve"))).cursor == PAGE
        assert queue.reads[-1] == ("eve", 0), "another team's page is another page"

    paged(act)


def test_a_refusal_concerns_only_whom_it_was_made_to():
    async def act(pages: EventPages, queue: Queue) -> None:
        refused, served = await asyncio.gather(
            pages.shared("t", 0, Caller(agent="revoked")),
            pages.shared("t", 0, Caller(agent="ada")),
            return_exceptions=True,
        )
        assert isinstance(refused, errors.NotYours)
        assert not isinstance(served, BaseException)
        assert served.cursor == PAGE

    paged(act)


def test_pages_that_are_kept_are_few():
    async def act(pages: EventPages, queue: Queue) -> None:
        for after in range(3 * KEPT):
            await pages.shared("t", after, Caller())
        assert len(pages._kept) <= KEPT

    paged(act, events=100_000)


def test_a_reader_that_goes_does_not_take_the_page_from_others():
    async def act(pages: EventPages, queue: Queue) -> None:
        first = asyncio.create_task(pages.shared("t", 0, Caller(agent="ada")))
        second = asyncio.create_task(pages.shared("t", 0, Caller(agent="bob")))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).cursor == PAGE
        assert len(queue.reads) == 1

    paged(act)


def test_pages_are_read_beside_the_event_loop_by_one_thread():
    async def act(pages: EventPages, queue: Queue) -> None:
        asked = (pages.own("t", after, Caller()) for after in range(5))
        await asyncio.gather(*asked, pages.document("t", {"after": 0, "limit": 1}, Caller()))
        assert len(queue.threads) == 1
        assert threading.current_thread() not in queue.threads

    paged(act)


def test_one_reader_takes_its_turn_in_one_round_of_the_event_loop():
    async def act(pages: EventPages, queue: Queue) -> None:
        loop, turns, rounds = asyncio.get_running_loop(), list[int](), 0

        def count_round() -> None:
            nonlocal rounds
            rounds += 1
            loop.call_soon(count_round)

        async def read(number: int) -> None:
            for _ in range(5):
                await pages.take_turn()
                turns.append(rounds)

        loop.call_soon(count_round)
        await asyncio.gather(*(read(number) for number in range(10)))
        assert len(turns) == len(set(turns)) == 50

    paged(act)
