"""What child processes do in the tests of the store. Each says "ready" and waits where several start at once."""

import os
from typing import Any

from rookery.core.errors import RookError
from tests.support import stores
from tests.support.inside import hear, say


def write_events(recipe: dict[str, str], name: str, count: int, fail_every: int = 0) -> None:
    """Append events one by one; every so often take numbers and give up, as a refused verb does."""
    store = stores.open_store(recipe)
    say("ready")
    hear()
    for index in range(count):
        if fail_every and index % fail_every == 0:
            give_up(store)
        stores.write(store, preview=f"{name} {index}")
    store.close()
    say("done")


def give_up(store: Any) -> None:
    def work(tx: Any) -> None:
        for _ in range(3):
            stores.append(tx, "never happened")
        raise LookupError

    try:
        store.write("t", work)
    except LookupError:
        return
    raise AssertionError("the error was swallowed")


def follow(recipe: dict[str, str], upto: int, page: int, reopen_every: int) -> None:
    """Read from a cursor until event `upto`, with a new handle every so often, and say what was seen."""
    say("ready")
    hear()
    cursor, seen, reads = 0, [], 0
    store = stores.open_store(recipe)
    while cursor < upto:
        reads += 1
        if reads % reopen_every == 0:
            store.close()
            store = stores.open_store(recipe)
        for row in stores.events(store, after=cursor, limit=page):
            seen.append([row["seq"], row["preview"]])
            cursor = row["seq"]
    store.close()
    say(seen)


def hold(recipe: dict[str, str]) -> None:
    """Take the write lock, say so, and keep it until told (or killed)."""

    def work(tx: Any) -> None:
        stores.append(tx, "held")
        say("held")
        hear()

    store = stores.open_store(recipe)
    store.write("t", work)
    store.close()
    say("given back")


def open_and_write(recipe: dict[str, str]) -> None:
    """Open a store that may not exist yet, and write one event."""
    say("ready")
    hear()
    store = stores.open_store(recipe)
    say(stores.write(store, preview=str(os.getpid())))
    store.close()


def try_to_write(recipe: dict[str, str]) -> None:
    """One event without waiting for the lock, or the code of the refusal."""
    store = stores.open_store(recipe, busy_s=0.0)
    try:
        say(stores.write(store))
    except RookError as error:
        say(error.code)
    store.close()


def write_until_told(recipe: dict[str, str], data: str) -> None:
    """Say each number after it was committed, until the test says so or goes away."""
    import select
    import sys

    store = stores.open_store(recipe)
    say("ready")
    hear()
    while not select.select([sys.stdin], [], [], 0)[0]:
        say(stores.write(store, data=data))
    store.close()


def use_after_fork(recipe: dict[str, str]) -> None:
    """A handle that was opened before a fork refuses to work in the child, and goes on working in the parent."""
    store = stores.open_store(recipe)
    stores.write(store)
    pid = os.fork()
    if pid == 0:
        try:
            stores.write(store)
        except RookError as error:
            say(error.code)
        store.close()
        os._exit(0)
    os.waitpid(pid, 0)
    say(stores.write(store))
    store.close()
