"""Dependencies: whatever the graph, the answer agrees with the plain definition, and size alone breaks nothing."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import graph
from rookery.core.errors import BadInput

NAMES = "abcdefgh"
Deps = dict[str, list[str]]

any_graph = st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES + "xyz"), max_size=4), max_size=8)


@st.composite
def orderable(draw: st.DrawFn) -> Deps:
    """Without a cycle: each depends on earlier names only; listed in any order."""
    names = draw(st.permutations(NAMES))
    deps = {name: draw(st.lists(st.sampled_from([*names[:i], "outside"]), max_size=4)) for i, name in enumerate(names)}
    return {name: deps[name] for name in draw(st.permutations(NAMES))}


weights = st.fixed_dictionaries({name: st.integers(0, 5) for name in NAMES})


def reachable(deps: Deps, start: str) -> set[str]:
    found: set[str] = set()
    todo = [start]
    while todo:
        for dep in deps.get(todo.pop(), ()):
            if dep in deps and dep not in found:
                found.add(dep)
                todo.append(dep)
    return found


def chains(deps: Deps, last: str) -> list[list[str]]:
    """Every chain of dependents that starts with a task, first to be done first."""
    followers = [task for task, needs in deps.items() if last in needs]
    return [[last], *([last, *chain] for task in followers for chain in chains(deps, task))]


# --- cycles -----------------------------------------------------------------------------------------------------------


@given(any_graph)
def test_a_cycle_is_found_exactly_where_there_is_one(deps: Deps) -> None:
    circular = any(task in reachable(deps, task) for task in deps)
    found = graph.cycle(deps)
    assert (found is not None) == circular
    if found:
        assert found[0] == found[-1] == min(found)
        assert len(set(found)) == len(found) - 1
        assert all(later in deps[earlier] for earlier, later in pairwise(found))


@given(any_graph, st.randoms())
def test_the_same_cycle_whatever_the_order_of_the_keys(deps: Deps, random: Random) -> None:
    names = list(deps)
    random.shuffle(names)
    assert graph.cycle({name: deps[name] for name in names}) == graph.cycle(deps)


def test_a_short_cycle_is_shown_rather_than_a_long_one() -> None:
    deps = {"a": ["b"], "b": ["c"], "c": ["d", "a"], "d": ["a"]}
    assert graph.cycle(deps) == ["a", "b", "c", "a"]
    assert graph.cycle({"b": ["b"], "a": ["b"]}) == ["b", "b"]


def test_what_only_waits_for_a_cycle_is_not_shown() -> None:
    assert graph.cycle({"a": ["m"], "m": ["n"], "n": ["m"]}) == ["m", "n", "m"]


def test_a_long_cycle_is_shown_in_short() -> None:
    names = [str(number) for number in range(1000)]
    shown = graph.show_cycle([*names, names[0]])
    assert shown.startswith("0 -> 1 -> 2 ")
    assert shown.endswith(" -> (990 more) -> 0")
    assert graph.show_cycle(["a", "b", "a"]) == "a -> b -> a"


# --- orders -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(orderable())
def test_everything_comes_after_what_it_depends_on(deps: Deps) -> None:
    result = graph.order(deps)
    assert sorted(result) == sorted(deps)
    place = {task: number for number, task in enumerate(result)}
    assert all(place[dep] < place[task] for task in deps for dep in deps[task] if dep in deps)
    # What is in order stays as it is.
    assert graph.order({task: deps[task] for task in result}) == result


@given(any_graph)
def test_a_circular_graph_has_no_order(deps: Deps) -> None:
    found = graph.cycle(deps)
    if found is None:
        graph.order(deps)
        return
    with pytest.raises(BadInput) as refused:
        graph.order(deps)
    assert refused.value.code == "CIRCULAR"
    assert " -> ".join(found) in refused.value.message
    assert refused.value.facts == {"cycle": found}


@given(orderable())
def test_levels_count_the_longest_way_from_the_start(deps: Deps) -> None:
    turned = graph.dependents(deps)
    for task, level in graph.levels(deps).items():
        assert level == max(map(len, chains(turned, task))) - 1


# --- ranks and the critical path --------------------------------------------------------------------------------------


@pytest.mark.slow
@given(orderable(), weights)
def test_a_rank_is_the_heaviest_chain_that_starts_there(deps: Deps, weight: dict[str, int]) -> None:
    found = graph.ranks(deps, weight.__getitem__)
    for task in deps:
        assert found[task] == max(sum(map(weight.__getitem__, chain)) for chain in chains(deps, task))


@pytest.mark.slow
@given(orderable(), weights, st.sets(st.sampled_from(NAMES)))
def test_the_critical_path_is_the_heaviest_open_chain(deps: Deps, weight: dict[str, int], done: set[str]) -> None:
    path = graph.critical_path(deps, weight.__getitem__, lambda task: task not in done)
    unfinished = {task: [dep for dep in needs if dep not in done] for task, needs in deps.items() if task not in done}
    assert bool(path) == bool(unfinished)
    if path:
        assert done.isdisjoint(path)
        assert all(earlier in deps[later] for earlier, later in pairwise(path))
        every = (chain for task in unfinished for chain in chains(unfinished, task))
        assert sum(map(weight.__getitem__, path)) == max(sum(map(weight.__getitem__, chain)) for chain in every)


def test_of_equal_paths_the_first_listed_and_weightless_ends_belong_to_it() -> None:
    deps = {"a": [], "b": [], "c": ["a"], "d": ["b"], "goal": ["c", "d"]}
    weight = {"a": 0, "b": 0, "c": 1, "d": 1, "goal": 0}.__getitem__
    assert graph.critical_path(deps, weight, lambda _: True) == ["a", "c", "goal"]
    assert graph.critical_path({}, weight, lambda _: True) == []


# --- what can start, what is behind -----------------------------------------------------------------------------------


@given(any_graph, st.sets(st.sampled_from(NAMES + "xyz")))
def test_ready_is_what_waits_for_nothing(deps: Deps, done: set[str]) -> None:
    expected = [task for task in deps if task not in done and done.issuperset(deps[task])]
    assert graph.ready(deps, done.__contains__) == expected


@given(any_graph, st.sampled_from(NAMES))
def test_ancestors_and_descendants_are_two_views_of_one_relation(deps: Deps, task: str) -> None:
    assert set(graph.ancestors(deps, task)) == reachable(deps, task) - {task}
    expected = {other for other in deps if task in deps and task in reachable(deps, other)} - {task}
    assert set(graph.descendants(deps, task)) == expected


def test_the_nearest_come_first() -> None:
    deps = {"a": [], "b": ["a"], "c": ["b", "a"], "d": ["c"]}
    assert graph.ancestors(deps, "d") == ["c", "b", "a"]
    assert graph.descendants(deps, "a") == ["b", "c", "d"]
    assert graph.descendants(deps, "unknown") == []


# --- size -------------------------------------------------------------------------------------------------------------

MANY = 100_000


@pytest.mark.slow
def test_a_chain_of_100_000_is_an_input_like_any_other() -> None:
    deps = {str(number): [str(number + 1)] for number in range(MANY - 1)} | {str(MANY - 1): []}
    assert graph.cycle(deps) is None
    assert graph.order(deps)[0] == str(MANY - 1)
    assert len(graph.critical_path(deps, lambda _: 1, lambda _: True)) == MANY
    assert len(graph.ancestors(deps, "0")) == MANY - 1
    assert graph.ready(deps, lambda _: False) == [str(MANY - 1)]
    found = graph.cycle(deps | {str(MANY - 1): ["0"]})
    assert found is not None
    assert len(found) == MANY + 1


@pytest.mark.slow
def test_a_star_of_100_000_is_too() -> None:
    leaves = [str(number) for number in range(MANY)]
    deps: Deps = {"hub": leaves} | {leaf: [] for leaf in leaves}
    assert graph.order(deps) == [*leaves, "hub"]
    assert graph.ranks(deps, lambda _: 1)["0"] == 2
    assert len(graph.descendants(deps, "77")) == 1
