"""What depends on what: cycles, orders, the critical path, what can start now.

A graph is a mapping from each task to the tasks it depends on. A name that is mentioned but is no key is a task outside
the graph: `ready` asks about it, everything else passes over it. Nothing here recurses, and everything is linear in
tasks and dependencies: a chain of 100,000 tasks is an input like any other. The same mapping gives the same answer.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from rookery.core.errors import BadInput

Deps = Mapping[str, Sequence[str]]

# A cycle may have thousands of members; its first ones say where to look.
_SHOWN = 12


def cycle(deps: Deps) -> list[str] | None:
    """One cycle as a person follows it (each depends on the next, the last is the first again), or None.

    It does not depend on the order of the keys: a walk from the smallest name finds it, and it is the shortest one
    through its smallest member.
    """
    stuck = _unorderable(deps)
    if not stuck:
        return None
    # Every stuck task depends on a stuck one, so that the walk ends only by coming back.
    walk: dict[str, None] = {}
    task = min(stuck)
    while task not in walk:
        walk[task] = None
        task = min(dep for dep in deps[task] if dep in stuck)
    names = list(walk)
    return _way_back(deps, stuck, min(names[names.index(task) :]))


def show_cycle(names: Sequence[str]) -> str:
    """`a -> b -> a`; the middle of a long one is left out."""
    if len(names) <= _SHOWN:
        return " -> ".join(names)
    left_out = len(names) - _SHOWN + 1
    return " -> ".join([*names[: _SHOWN - 2], f"({left_out} more)", names[-1]])


def order(deps: Deps) -> list[str]:
    """Every task after all it depends on. A mapping that is in such an order already stays as it is."""
    placed: dict[str, bool] = {}  # False while its dependencies are being placed
    result: list[str] = []
    for root in deps:
        if root in placed:
            continue
        placed[root] = False
        stack = [(root, iter(deps[root]))]
        while stack:
            task, rest = stack[-1]
            dep = next((name for name in rest if name in deps and not placed.get(name)), None)
            if dep is None:
                placed[task] = True
                result.append(task)
                stack.pop()
            elif dep in placed:
                raise _circular(deps)
            else:
                placed[dep] = False
                stack.append((dep, iter(deps[dep])))
    return result


def levels(deps: Deps) -> dict[str, int]:
    """0 for a task that depends on nothing, else one more than the highest of its dependencies."""
    result: dict[str, int] = {}
    for task in order(deps):
        result[task] = max((result[dep] + 1 for dep in deps[task] if dep in deps), default=0)
    return result


def ranks(deps: Deps, weight: Callable[[str], int]) -> dict[str, int]:
    """How much work waits behind each task: the heaviest chain of dependents that starts with it, itself included."""
    return _ranks(deps, order(deps), weight)


def critical_path(deps: Deps, weight: Callable[[str], int], open: Callable[[str], bool]) -> list[str]:
    """The heaviest chain of unfinished tasks, first to be done first. Of equal ones, the one that is listed first."""
    unfinished = {task: needs for task, needs in deps.items() if open(task)}
    ordered = order(unfinished)
    if not ordered:
        return []
    behind = _ranks(unfinished, ordered, weight)
    after = dependents(unfinished)
    # The first of the heaviest in this order: a predecessor of weight 0 comes before what follows it.
    path = [max(ordered, key=behind.__getitem__)]
    while after[path[-1]]:
        path.append(max(after[path[-1]], key=behind.__getitem__))
    return path


def ready(deps: Deps, done: Callable[[str], bool]) -> list[str]:
    """The unfinished tasks whose dependencies, those outside the graph among them, are all done."""
    return [task for task, needs in deps.items() if not done(task) and all(map(done, needs))]


def ancestors(deps: Deps, id: str) -> list[str]:
    """All it depends on, directly or not, nearest first."""
    return _reach(deps, id)


def descendants(deps: Deps, id: str) -> list[str]:
    """All that depends on it, directly or not, nearest first."""
    return _reach(dependents(deps), id)


def dependents(deps: Deps) -> dict[str, list[str]]:
    """The graph turned around: task -> the tasks that depend on it."""
    result: dict[str, list[str]] = {task: [] for task in deps}
    for task, needs in deps.items():
        for dep in dict.fromkeys(needs):
            if dep in result:
                result[dep].append(task)
    return result


def _ranks(deps: Deps, ordered: Sequence[str], weight: Callable[[str], int]) -> dict[str, int]:
    result = dict.fromkeys(deps, 0)
    for task in reversed(ordered):
        result[task] += weight(task)
        for dep in deps[task]:
            if dep in result and result[dep] < result[task]:
                result[dep] = result[task]
    return result


def _unorderable(deps: Deps) -> set[str]:
    """What is left when tasks without open dependencies are taken away again and again: cycles, and all behind them."""
    waiting = {task: len({dep for dep in needs if dep in deps}) for task, needs in deps.items()}
    after = dependents(deps)
    free = [task for task, count in waiting.items() if not count]
    while free:
        task = free.pop()
        del waiting[task]
        for follower in after[task]:
            waiting[follower] -= 1
            if not waiting[follower]:
                free.append(follower)
    return set(waiting)


def _way_back(deps: Deps, among: set[str], start: str) -> list[str]:
    """The shortest way from a member of a cycle back to itself."""
    came_from: dict[str, str] = {}
    queue = deque([start])
    while start not in came_from:
        task = queue.popleft()
        for dep in deps[task]:
            if dep in among and dep not in came_from:
                came_from[dep] = task
                queue.append(dep)
    path = [start, came_from[start]]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]


def _circular(deps: Deps) -> BadInput:
    found = cycle(deps) or []
    return BadInput(
        f"The dependencies are circular: {show_cycle(found)}.",
        "Remove one of them; each task in that chain waits for the next.",
        code="CIRCULAR",
        cycle=found,
    )


def _reach(edges: Deps, id: str) -> list[str]:
    seen = {id}
    queue = deque([id])
    found: list[str] = []
    while queue:
        for name in edges.get(queue.popleft(), ()):
            if name in edges and name not in seen:
                seen.add(name)
                found.append(name)
                queue.append(name)
    return found
