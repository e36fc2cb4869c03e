"""One call of a verb, wherever it runs: checked before, done in a transaction, followed up after its commit."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rookery.core.caller import Caller
from rookery.service import caller_tree, verbs
from rookery.service.admission import admit
from rookery.service.tx import Tx
from rookery.service.world import CallWorld, World
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
        self._world: Any = CallWorld(world)
        self._tx: Tx | None = None
        if self._verb.before:
            world = self._seen_by_caller(read)
        self._args = self._verb.prepared(world, args, lambda verb, asked: read(self._look(verb, asked, read)))

    def _seen_by_caller(self, read: Read) -> Any:
        """What goes before the transaction uses the settings that count for this caller, as the verb does."""
        origin = self._caller.origin
        if origin is None:
            return self._world

        def seen(db: Transaction) -> Any:
            inside = caller_tree.find(db, self._world, origin) is not None
            return caller_tree.InsideWorld(self._world, db) if inside else self._world

        return read(seen)

    def _look(self, verb: str, args: Mapping[str, Any], read: Read) -> Callable[[Transaction], Any]:
        return Deed(verb, args, self._caller, self._world, read).work

    @property
    def writes(self) -> bool:
        return self._verb.writes

    def work(self, db: Transaction) -> Any:
        self._world.directory.locked = db.writable
        tx = self._tx = Tx(db, self._caller, self._world)
        if self._world.claim is not None:
            from rookery.service import ownership  # few repositories name their team

            ownership.enter(tx, self._verb)
        return self._function(tx, **admit(tx, self._verb, self._args))

    @property
    def is_attempt(self) -> bool:
        """Was it refused as an attempt to be somebody else, or to decide for the user?"""
        return self._tx is not None and self._tx.refused is not None

    def record_attempt(self, db: Transaction) -> None:
        """In a transaction of its own: the refused one left nothing behind."""
        if self._tx is not None and self._tx.refused is not None:
            from rookery.service import decide

            decide.record_attempt(Tx(db, self._caller, self._world), self._tx.refused, self._verb.name)

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
