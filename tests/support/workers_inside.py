"""What children of the tests of workers do."""

from rookery import worker
from tests.support.inside import hear, say


def wait_for_work(environ: dict[str, str]) -> None:
    with worker.here(environ) as me:
        say("waits")
        given = me.next(timeout=0.2)
        say(given.task if given else "nothing")
        hear()
