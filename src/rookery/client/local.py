"""The verbs in this process: open a transaction, run the verb, commit, ring."""

from collections.abc import Callable, Mapping
from typing import Any

from rookery.core import errors
from rookery.core.caller import Caller
from rookery.service.world import ReadFirst, World
from rookery.store.port import Store, Transaction
from rookery.wake.port import Bell, Listener

from .deed import Deed, ring


class LocalClient:
    def __init__(self, store: Store, bell: Bell, world: World, team: str) -> None:
        self.team = team
        self._store = store
        self._bell = bell
        self._world = world

    def call(self, verb: str, args: Mapping[str, Any], caller: Caller) -> Any:
        deed = Deed(verb, args, caller, self._world, self._read)
        try:
            return self._done(deed)
        except errors.NotYours:
            if deed.is_attempt:
                self._try_write(deed.record_attempt)
            raise

    def _done(self, deed: Deed) -> Any:
        if deed.writes:
            result = self._write(deed)
            deed.follow_up(ring(self._bell, self.team, deed.rings()))
        else:
            result = self._read(deed.work)
            deed.follow_up({})
        if deed.beat_is_due():
            self._try_write(deed.beat)
        return result

    def _write(self, deed: Deed) -> Any:
        while True:
            try:
                return self._store.write(self.team, deed.work)
            except ReadFirst as wanted:
                wanted.read()

    def _read(self, work: Callable[[Transaction], Any]) -> Any:
        return self._store.read(self.team, work)

    def _try_write(self, work: Callable[[Transaction], None]) -> None:
        try:
            self._store.write(self.team, work)
        except errors.Unreachable:
            return  # a full disk or a busy store keeps nobody from reading

    def listen(self, name: str) -> Listener:
        return self._bell.listen(self.team, name)

    def close(self) -> None:
        self._store.close()
