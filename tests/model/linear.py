"""Is a history of calls linearizable? After Wing and Gong: search for an order of the calls, each at one moment between
its invocation and its response, in which a single task would have given just these answers.

Times are nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share. When exactly a lease began is not
known, only between which moments; so a claim of a held task may succeed as soon as the lease *can* be over, and must
once it *must* be. That never accuses a ledger that keeps its promises.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

MS = 1_000_000
ROUNDING = 2 * MS  # the ledger counts whole milliseconds
REFUSALS = {"LEASE_EXPIRED", "TASK_NOT_IN_PROGRESS", "LEASE_HOLDER_MISMATCH", "EPOCH_MISMATCH"}


class Op(NamedTuple):
    who: str
    kind: str  # claim, renew, done, release, reset
    epoch: int | None  # it was done under
    called: int
    returned: int
    answer: int | str  # an epoch, or the code of a refusal


class State(NamedTuple):
    status: str = "pending"
    holder: str = ""
    epoch: int = 0
    begun: tuple[int, int] = (0, 0)  # between these moments the lease was given or renewed


def after(state: State, op: Op, ttl: int) -> State | None:
    """The state after the call, or None if a task in this state would not have answered so."""
    may_be_over = op.returned + ROUNDING >= state.begun[0] + ttl
    must_be_over = op.called - ROUNDING >= state.begun[1] + ttl
    held = state.status == "held"
    given = isinstance(op.answer, int)
    if op.kind == "claim":
        free = state.status == "pending" or (held and may_be_over)
        if given:
            new = State("held", op.who, state.epoch + 1, (op.called, op.returned))
            return new if free and op.answer == new.epoch else None
        refused = state.status == "completed" or (held and not must_be_over)
        return state if refused and op.answer == "TASK_NOT_CLAIMABLE" else None
    if op.kind == "reset":
        new = State("pending", "", state.epoch + 1)
        return new if op.answer == new.epoch else None
    mine = held and state.holder == op.who and state.epoch == op.epoch
    if not given:
        return state if op.answer in REFUSALS and (not mine or may_be_over) else None
    if not mine or must_be_over:
        return None
    new = {
        "renew": state._replace(begun=(op.called, op.returned)),
        "done": state._replace(status="completed", holder=""),
        "release": State("pending", "", state.epoch + 1),
    }[op.kind]
    return new if op.answer == new.epoch else None


def explanation(ops: Iterable[Op], ttl: int) -> list[Op] | None:
    """An order that explains the history, or None if there is none. `ttl` in nanoseconds."""
    calls = sorted(ops, key=lambda op: op.called)
    order: list[Op] = []
    # What was tried: (which calls were placed, in which state that ends). The same twice can only end the same.
    tried: set[tuple[int, State]] = set()
    stack: list[tuple[int, State, Iterator[int]]] = [(0, State(), _next(calls, 0))]
    while stack:
        placed, state, rest = stack[-1]
        if placed == (1 << len(calls)) - 1:
            return order
        for index in rest:
            new = after(state, calls[index], ttl)
            key = (placed | 1 << index, new)
            if new is not None and key not in tried:
                tried.add(key)  # type: ignore[arg-type]
                order.append(calls[index])
                stack.append((key[0], new, _next(calls, key[0])))
                break
        else:
            stack.pop()
            if order:
                order.pop()
    return None


def _next(calls: Sequence[Op], placed: int) -> Iterator[int]:
    """The calls that may come next: those that began before every other open one returned."""
    first_return = None
    for index, op in enumerate(calls):
        if placed >> index & 1:
            continue
        if first_return is not None and op.called > first_return:
            return
        first_return = op.returned if first_return is None else min(first_return, op.returned)
        yield index
