"""One call of a verb, wherever it runs: checked before, done in a transaction, followed up after its commit."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rookery.core.caller import Caller
from rookery.service import verbs
from rookery.service.admission import admit
from rookery.service.tx import Tx, World
from rookery.store import faults
from rookery.store.port import Transaction
from rookery.wake.port import Bell

Read = Callable[[Callable[[Transaction], Any]], Any]  # runs something in a transaction that only looks


class Deed:
    """`work` may be run again; what counts afterwards is the transaction it ran in last."""

    def __init__(self, verb: str, args: Mapping[str, Any], caller: Caller, world: World, read: Read) -> None:
        self._verb = verbs.find(verb)
        self._function = self._verb.load()
        verbs.check(self._function, args)
        self._caller = caller
        self._world = world
        self._tx: Tx | None = None
        self._args = self._verb.prepared(world, args, lambda verb, asked: read(self._look(verb, asked, read)))

    def _look(self, verb: str, args: Mapping[str, Any], read: Read) -> Callable[[Transaction], Any]:
        return Deed(verb, args, self._caller, self._world, read).work

    @property
    def writes(self) -> bool:
        return self._verb.writes

    def work(self, db: Transaction) -> Any:
        tx = self._tx = Tx(db, self._caller, self._world)
        return self._function(tx, **admit(tx, self._verb, self._args))

    def rings(self) -> set[str]:
        return self._tx.rings if self._tx else set()

    @property
    def follows_up(self) -> bool:
        return bool(self._tx and self._tx.after)

    def follow_up(self, heard: Mapping[str, int]) -> None:
        """What a verb left to do once its facts are on disk and the bell was rung."""
        for after in self._tx.after if self._tx else ():
            after(heard)

    def beat_is_due(self) -> bool:
        return not self.writes and self._tx is not None and self._tx.beat_is_due()

    def beat(self, db: Transaction) -> None:
        Tx(db, self._caller, self._world).beat()


def ring(bell: Bell, team: str, names: Iterable[str]) -> dict[str, int]:
    faults.reach("before_ring")
    return bell.ring(team, names)
