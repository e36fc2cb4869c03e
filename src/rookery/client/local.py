"""The verbs in this process: open a transaction, run the verb, commit, ring."""

from collections.abc import Mapping
from typing import Any

from rookery.core import errors, names
from rookery.core.caller import Caller
from rookery.service import verbs
from rookery.service.tx import Tx, World
from rookery.store import faults
from rookery.store.port import Store, Transaction
from rookery.wake.port import Bell, Listener


class LocalClient:
    def __init__(self, store: Store, bell: Bell, world: World, team: str) -> None:
        self.team = team
        self._store = store
        self._bell = bell
        self._world = world

    def call(self, verb: str, args: Mapping[str, Any], caller: Caller) -> Any:
        entry = verbs.find(verb)
        function = entry.load()
        verbs.check(function, args)
        last: list[Tx] = []

        def work(db: Transaction) -> Any:
            tx = Tx(db, caller, self._world)
            last[:] = [tx]
            if entry.who == "person" and tx.me()["name"] != names.PERSON:
                raise errors.NotYours(f"Only the person may {verb}.", "Ask them: `rook escalate`.")
            return function(tx, **args)

        result = (self._store.write if entry.writes else self._store.read)(self.team, work)
        heard = self._ring(last[0]) if entry.writes else {}
        for after in last[0].after:
            after(heard)
        if not entry.writes and last[0].beat_is_due():
            self._beat(caller)
        return result

    def _beat(self, caller: Caller) -> None:
        try:
            self._store.write(self.team, lambda db: Tx(db, caller, self._world).beat())
        except errors.Unreachable:
            return  # a full disk or a busy store keeps nobody from reading

    def _ring(self, tx: Tx) -> dict[str, int]:
        faults.reach("before_ring")
        return self._bell.ring(self.team, tx.rings)

    def listen(self, name: str) -> Listener:
        return self._bell.listen(self.team, name)

    def close(self) -> None:
        self._store.close()
