"""Plans before they are tasks: read from a checklist or from data, and judged as a whole.

Reading never raises on what a person wrote: it returns what could be understood and what could not, and `validate` adds
what only shows in the whole (an unknown dependency, a cycle). So everything that is wrong is told at once, with the
place and the remedy, and nothing is imported until nothing is wrong:

    tasks, problems = from_markdown(text)         or from_data(loaded)
    problems += validate(tasks)
    if problems: raise refusal(problems)
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, cast

from rookery.core import graph
from rookery.core.errors import BadInput
from rookery.core.record import NamedTuple
from rookery.core.text import one_line, plain, quoted

TASK_LIMIT = 5_000
DEP_LIMIT = 50_000  # of a whole plan: a few lines of YAML can say "each of 5,000 depends on each"
TITLE_LIMIT = 300
KEY_LIMIT = 100

_PROBLEMS_SHOWN = 20
# Comparing a name with 5,000 others takes a while, and nobody reads the suggestion of the 21st problem first.
_SUGGESTIONS = 20


class PlanTask(NamedTuple):
    key: str
    title: str
    description: str = ""
    deps: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    kind: str = ""
    priority: str = "normal"
    milestone: bool = False
    review: bool | None = None
    done: bool = False
    line: int = 0


class Problem(NamedTuple):
    where: str
    what: str
    do: str


def from_markdown(text: str) -> tuple[list[PlanTask], list[Problem]]:
    """The tasks of a Markdown checklist (rookery.core.checklist tells how it is read)."""
    from rookery.core import checklist

    return checklist.read(text)


def goal_of(text: str) -> str:
    """The goal that a Markdown plan states in a heading; empty if it states none."""
    from rookery.core import checklist

    return checklist.goal(text)


# --- data ------------------------------------------------------------------------------------------------------------

_FIELDS = {
    "id": "key",
    "key": "key",
    "title": "title",
    "description": "description",
    "deps": "deps",
    "depends_on": "deps",
    "after": "deps",
    "resources": "resources",
    "files": "resources",
    "kind": "kind",
    "priority": "priority",
    "milestone": "milestone",
    "review": "review",
    "done": "done",
}


def from_data(data: object) -> tuple[list[PlanTask], list[Problem]]:
    """The tasks of a list of objects, or of {"goal": ..., "tasks": [...]}, as JSON or YAML gives them."""
    rows = cast("Mapping[object, object]", data).get("tasks") if isinstance(data, Mapping) else data
    if not isinstance(rows, list):
        what = f"The tasks are {_type(rows)}, not a list."
        return [], [Problem("plan", what, 'Write a list of tasks, or {"goal": "...", "tasks": [...]}.')]
    tasks: list[PlanTask] = []
    problems: list[Problem] = []
    for number, row in enumerate(cast("list[object]", rows), 1):
        if isinstance(row, Mapping):
            tasks.append(_task_of(cast("Mapping[object, object]", row), number, problems))
        else:
            do = "Write an object with at least a title."
            problems.append(Problem(f"task {number}", f"It is {_type(row)}, not an object.", do))
    return tasks, problems


def goal_in(data: object) -> str:
    """The goal that a plan made of data states; empty if it states none."""
    goal = cast("Mapping[object, object]", data).get("goal") if isinstance(data, Mapping) else ""
    return goal.strip() if isinstance(goal, str) else ""


def _task_of(row: Mapping[object, object], number: int, problems: list[Problem]) -> PlanTask:
    values: dict[str, Any] = {"key": str(number), "title": ""}
    wrong: list[tuple[str, str]] = []
    for name, value in row.items():
        field = _FIELDS.get(name) if isinstance(name, str) else None
        if field is None:
            wrong.append(_unknown_field(str(name)))
        elif value is not None:  # an empty entry of YAML
            read, expected = _READERS[field]
            understood = read(value)
            if understood is None:
                wrong.append((f"`{name}` is {_type(value)}, not {expected}.", f"Write {expected}."))
                values |= {"title": "(unreadable)"} if field == "title" else {}  # or it would be missing as well
            elif field in ("deps", "resources"):
                values[field] = tuple(dict.fromkeys((*values.get(field, ()), *understood)))
            else:
                values[field] = understood
    task = PlanTask(**values)
    problems += [Problem(where(task), what, do) for what, do in wrong]
    return task


def _unknown_field(name: str) -> tuple[str, str]:
    from rookery.core.names import did_you_mean

    known = ", ".join(_FIELDS)
    return f"There is no field {quoted(name)}.", f"{did_you_mean(name, _FIELDS)} Known: {known}.".strip()


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return value.replace("\r\n", "\n")
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _line(value: object) -> str | None:
    text = _text(value)
    return None if text is None else text.strip()


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else yes_or_no(value) if isinstance(value, str) else None


def _priority(value: object) -> str | None:
    from rookery.core.mail import Priority

    if isinstance(value, int) and not isinstance(value, bool):
        return next((level.name.lower() for level in Priority if level == value), str(value))
    return value.strip().lower() if isinstance(value, str) else None


def _names(value: object) -> list[str] | None:
    if isinstance(value, str):
        return pieces(value)
    if not isinstance(value, (list, tuple)):
        return [str(value)] if isinstance(value, int) and not isinstance(value, bool) else None
    names = [_line(entry) for entry in cast("Sequence[object]", value)]
    return None if None in names else [name for name in names if name]


_READERS: dict[str, tuple[Callable[[object], Any], str]] = {
    "key": (_line, "a word"),
    "title": (_line, "a text"),
    "description": (_text, "a text"),
    "deps": (_names, "a list of ids"),
    "resources": (_names, "a list of paths"),
    "kind": (_line, "a word"),
    "priority": (_priority, "low, normal, high or urgent"),
    "milestone": (_flag, "true or false"),
    "review": (_flag, "true or false"),
    "done": (_flag, "true or false"),
}


def _type(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    kinds: dict[type, str] = {str: "a text", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return kinds.get(type(value), f"a {type(value).__name__}")


# --- words of both forms ---------------------------------------------------------------------------------------------


def pieces(value: str) -> list[str]:
    """A list as a person writes it: commas between, quotes or backticks around what contains one, `none` for none."""
    import re

    found = [piece.strip() for piece in re.findall(r'(?:"[^"]*"|`[^`]*`|\{[^{}]*\}|[^,])+', value)]
    bare = [p[1:-1].strip() if len(p) > 1 and p[0] == p[-1] and p[0] in "\"`'" else p for p in found]
    return [piece for piece in bare if piece and piece.casefold() not in ("none", "nothing", "-")]


def yes_or_no(word: str) -> bool | None:
    match word.strip(" `.").casefold():
        case "yes" | "true" | "y" | "on":
            return True
        case "no" | "false" | "n" | "off":
            return False
        case _:
            return None


# --- judging ---------------------------------------------------------------------------------------------------------


def where(task: PlanTask) -> str:
    """The place of a task in what the person wrote."""
    return f"line {task.line}" if task.line else f"task {one_line(task.key, 40)}"


def validate(tasks: Sequence[PlanTask], known: Collection[str] = ()) -> list[Problem]:
    """Everything that is wrong. `known` are tasks outside the plan that it may depend on."""
    size = _size_problem(tasks)
    if size:
        return [size]
    problems = [problem for task in tasks for problem in _own_problems(task)]
    problems += _shared_keys(tasks)
    problems += _unknown_deps(tasks, known)
    problems += _cycles(tasks)
    places = {where(task): place for place, task in reversed(list(enumerate(tasks)))}
    return sorted(problems, key=lambda problem: places[problem.where])


def _size_problem(tasks: Sequence[PlanTask]) -> Problem | None:
    """What makes looking at the single tasks pointless."""
    if not tasks:
        return Problem("plan", "The plan has no tasks.", "Write at least one: `- [ ] Title` in Markdown.")
    if len(tasks) > TASK_LIMIT:
        what = f"The plan has {len(tasks):,} tasks; {TASK_LIMIT:,} are allowed."
        return Problem("plan", what, "Make several plans of it; a task may depend on one of another plan.")
    edges = sum(len(task.deps) for task in tasks)
    if edges > DEP_LIMIT:
        what = f"The plan has {edges:,} dependencies; {DEP_LIMIT:,} are allowed."
        return Problem("plan", what, "Put a milestone between: many tasks before it, many after it.")
    return None


def _own_problems(task: PlanTask) -> Iterator[Problem]:
    place = where(task)
    if not task.title.strip():
        yield Problem(place, "The task has no title.", "Say in a few words what is to be done.")
    if len(task.title) > TITLE_LIMIT:
        what = f"The title has {len(task.title)} characters; {TITLE_LIMIT} are allowed."
        yield Problem(place, what, "Put the rest into the description: indented lines below the title.")
    if not task.key or len(task.key) > KEY_LIMIT or any(c.isspace() or c == "," for c in task.key):
        what = f"The id {quoted(task.key, 40)} can not be used."
        yield Problem(place, what, f"1 to {KEY_LIMIT} characters without space or comma.")
    yield from _strays(task)
    yield from _refused(task)


def _strays(task: PlanTask) -> Iterator[Problem]:
    """Characters that would steer a terminal or can not be stored."""
    lines = [("title", task.title), ("id", task.key), ("kind", task.kind)]
    lines += [("dependency", dep) for dep in task.deps] + [("resource", resource) for resource in task.resources]
    for what, value in lines:
        if plain(value, keep_newlines=False) != value:
            yield _stray(task, what, next((c for c in value if plain(c, keep_newlines=False) != c), ""))
    if plain(task.description) != task.description:
        yield _stray(task, "description", next((c for c in task.description if plain(c) != c), ""))


def _stray(task: PlanTask, what: str, found: str) -> Problem:
    name = "a line break" if found == "\n" else f"the control character U+{ord(found):04X}" if found else "an escape"
    return Problem(where(task), f"The {what} contains {name}.", "Remove it.")


def _refused(task: PlanTask) -> Iterator[Problem]:
    """What the rules of other matters say about parts of a task."""
    from rookery.core.mail import parse_priority
    from rookery.core.names import check_name
    from rookery.core.patterns import parse

    checks: list[tuple[Callable[[str], object], str]] = [(parse_priority, task.priority)]
    checks += [(check_name, task.kind)] if task.kind else []
    checks += [(parse, resource) for resource in task.resources]
    for resource in task.resources:
        if "{" in resource and "," in resource:  # a pattern takes braces literally, and would cover nothing
            yield Problem(where(task), f"Braces are not expanded: {quoted(resource)}.", "Write each path by itself.")
    for check, value in checks:
        try:
            check(value)
        except BadInput as error:
            yield Problem(where(task), error.message, error.hint)


def _shared_keys(tasks: Sequence[PlanTask]) -> Iterator[Problem]:
    first: dict[str, PlanTask] = {}
    for task in tasks:
        other = first.setdefault(task.key, task)
        if other is not task:
            place = f" at {where(other)}" if other.line else ""
            what = f"The id {quoted(task.key, 40)} is taken{place} by {quoted(other.title)}."
            yield Problem(where(task), what, "Give one of them another id, and look at what depends on it.")


def _unknown_deps(tasks: Sequence[PlanTask], known: Collection[str]) -> Iterator[Problem]:
    keys = {task.key for task in tasks}
    outside = keys.union(known)
    suggested = 0
    for task in tasks:
        for dep in task.deps:
            if dep == task.key:
                yield Problem(where(task), "It depends on itself.", "Remove that dependency.")
            elif dep not in outside:
                suggested += 1
                hint = _nearest(dep, tasks, known) if suggested <= _SUGGESTIONS else ""
                names = "the id, position or exact title" if task.line else "the id"
                do = f"{hint} Write {names} of a task.".strip()
                yield Problem(where(task), f"It depends on {quoted(dep)}, which is not in the plan.", do)


def _nearest(dep: str, tasks: Sequence[PlanTask], known: Collection[str]) -> str:
    from rookery.core.names import did_you_mean, nearest

    by_key = did_you_mean(dep, [*(task.key for task in tasks), *known])
    if by_key:
        return by_key
    titles = {one_line(task.title, 100): task.key for task in tasks}
    found = nearest(dep, titles, 1)
    return f"Did you mean {titles[found[0]]} ({one_line(found[0], 60)})?" if found else ""


def _cycles(tasks: Sequence[PlanTask]) -> Iterator[Problem]:
    """Cycles that share no task; what hides behind one of them shows when it is gone."""
    by_key = {task.key: task for task in reversed(tasks)}  # of two with one id, the first: it is the one that is meant
    deps = {key: [dep for dep in task.deps if dep != key] for key, task in by_key.items()}
    for _ in range(_PROBLEMS_SHOWN):
        found = graph.cycle(deps)
        if not found:
            return
        shown = graph.show_cycle([one_line(name, 40) for name in found])
        do = "Remove one of these dependencies: each task in that chain waits for the next."
        if any(by_key[name].line for name in found):
            do += " A task in a checklist also waits for what its parents come after."
        yield Problem(where(by_key[found[0]]), f"The dependencies are circular: {shown}.", do)
        for name in set(found):
            del deps[name]


def refusal(problems: Sequence[Problem]) -> BadInput:
    """One error that tells them all, or as many as a person reads."""
    count = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"
    lines = [f"  {problem.where}: {problem.what} {problem.do}".rstrip() for problem in problems[:_PROBLEMS_SHOWN]]
    left = len(problems) - len(lines)
    more = [f"  ... and {left} more."] if left else []
    return BadInput(
        "\n".join([f"The plan has {count}:", *lines, *more]),
        "Nothing was imported. Correct the plan and import it again.",
        code="BAD_PLAN",
        count=len(problems),
        problems=[problem._asdict() for problem in problems],
    )
