"""What other distributions add: kinds of workers, agent programs, policies and listeners, by entry points.

    rookery.kinds       Markdown of a kind, or a function that gives it; several as {name: Markdown}
    rookery.hosts       TOML of an agent program, as in docs/hosts-your-own.md, or a function that gives it
    rookery.policies    policy(facts) -> a verdict or None: what a rule can name
    rookery.listeners   listener(event) -> anything: called in the daemon with each event, after its commit

Nothing is looked for before somebody asks, and whatever one of them does wrong is said with the name of its
distribution and is nobody else's trouble. docs/extensions.md tells how one is made.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from rookery.core import text
from rookery.core.record import NamedTuple

KINDS, HOSTS, POLICIES, LISTENERS = "kinds", "hosts", "policies", "listeners"
PREFIX = "rookery."
POLICY_S = 1.0  # as long as a policy may think
ENABLED, ONLY = "extensions.enabled", "extensions.only"

Settings = Mapping[str, Any]
Facts = Mapping[str, Any]
Policy = Callable[[dict[str, Any]], "str | None"]
Listener = Callable[[dict[str, Any]], Any]


_slow: set[str] = set()  # policies that are not asked any more


class Extension(NamedTuple):
    """One thing of one distribution; or why there is none."""

    name: str
    distribution: str
    value: Any = None
    problem: str = ""

    @property
    def where(self) -> str:
        return f"{self.distribution} ({self.name})"


def found(group: str, settings: Settings | None = None) -> list[Extension]:
    """Those of a group that the settings let in, in the order of their distributions and names."""
    if settings is not None and not settings[ENABLED]:
        return []
    only = {_plain(name) for name in settings[ONLY]} if settings is not None else set[str]()
    return [each for each in _loaded(group) if not only or _plain(each.distribution) in only]


def _plain(distribution: str) -> str:
    """As the packaging rules compare names."""
    return distribution.lower().replace("_", "-").replace(".", "-")


_known: dict[str, tuple[Extension, ...]] = {}


def is_loaded(group: str) -> bool:
    return group in _known


def _loaded(group: str) -> tuple[Extension, ...]:
    """Once in a process: it reads a file of every distribution that is installed."""
    if group not in _known:
        _known[group] = _load_all(group)
    return _known[group]


def _load_all(group: str) -> tuple[Extension, ...]:
    from importlib.metadata import entry_points

    points = entry_points(group=PREFIX + group)
    loaded = [_load(point, point.dist.name if point.dist else "?") for point in points]
    return tuple(sorted(loaded, key=lambda each: (each.distribution, each.name)))


def _load(point: Any, distribution: str) -> Extension:
    try:
        return Extension(point.name, distribution, point.load())
    except (Exception, SystemExit) as error:
        return Extension(point.name, distribution, problem=f"it can not be loaded: {_told(error)}")


def _told(error: BaseException) -> str:
    return text.one_line(f"{type(error).__name__}: {error}", 200)


def forget() -> None:
    """What was looked up before; for tests, and after something was installed."""
    _known.clear()


# -- kinds and hosts -------------------------------------------------------------------------------------------------


class Written(NamedTuple):
    """A text of an extension: under which name, whose, and what it says or what is wrong with it."""

    name: str
    where: str
    text: str = ""
    problem: str = ""


def kinds(settings: Settings | None = None) -> list[Written]:
    """Markdown of kinds."""
    return [each for extension in found(KINDS, settings) for each in _texts(extension)]


def hosts(settings: Settings | None = None) -> list[Written]:
    """TOML of agent programs."""
    return [each for extension in found(HOSTS, settings) for each in _texts(extension)]


def _texts(extension: Extension) -> Iterator[Written]:
    value, problem = extension.value, extension.problem
    if not problem and callable(value):
        try:
            value = value()
        except (Exception, SystemExit) as error:
            problem = f"it failed: {_told(error)}"
    if not problem and isinstance(value, str):
        yield Written(extension.name, extension.where, value)
    elif not problem and isinstance(value, Mapping):
        for name, said in cast("Mapping[Any, Any]", value).items():
            wrong = "" if isinstance(name, str) and isinstance(said, str) else "it gives something that is no text"
            yield Written(str(name), extension.where, "" if wrong else said, wrong)
    else:
        yield Written(extension.name, extension.where, problem=problem or "it gives something that is no text")


# -- policies --------------------------------------------------------------------------------------------------------


def policies(settings: Settings | None = None) -> dict[str, Policy]:
    """By name; the first distribution that has it counts. One that fails has no opinion: whatever it was about is for
    a person."""
    return {each.name: _careful(each) for each in reversed(found(POLICIES, settings)) if callable(each.value)}


def _careful(extension: Extension) -> Policy:
    def judged(facts: dict[str, Any]) -> str | None:
        import json
        import logging

        verdict = f"it took longer than {POLICY_S:g} s, and is not asked again", None
        if extension.where not in _slow:
            copy = json.loads(json.dumps(facts))  # it changes nothing for others
            verdict = _within(lambda: extension.value(copy), POLICY_S) or verdict
            if verdict[0]:
                logging.getLogger("rookery.extensions").warning("policy %s: %s", extension.where, verdict[0])
            if verdict[0].startswith("it took"):
                _slow.add(extension.where)
        return verdict[1] if isinstance(verdict[1], str) and verdict[1] else None

    return judged


def _within(asked: Callable[[], Any], seconds: float) -> tuple[str, Any] | None:
    """What is wrong, and what was answered; None if it is not done by then. It is asked while the ledger is locked."""
    import threading

    done: list[tuple[str, Any]] = []

    def run() -> None:
        try:
            done.append(("", asked()))
        except BaseException as error:
            done.append((_told(error), None))

    thread = threading.Thread(target=run, daemon=True)  # one that never comes back keeps no process alive
    thread.start()
    thread.join(seconds)
    return done[0] if done else None


# -- listeners -------------------------------------------------------------------------------------------------------

_registered: dict[int, tuple[str, Listener]] = {}
_changed: list[Callable[[], object]] = []  # of those who call them


def listen(callback: Listener, name: str = "") -> Callable[[], None]:
    """Has this process's daemon call it with each event from now on; what is given back undoes that."""
    if not callable(callback):
        raise TypeError(f"{callback!r} can not be called")
    number = max(_registered, default=0) + 1
    _registered[number] = (name or str(getattr(callback, "__qualname__", "listener")), callback)
    _tell()

    def undo() -> None:
        if _registered.get(number, (None, None))[1] is callback:
            del _registered[number]
            _tell()

    return undo


def listeners(settings: Settings | None = None) -> dict[str, Listener]:
    """All there are now, each under a name that no other has."""
    installed = {each.where: each.value for each in found(LISTENERS, settings) if callable(each.value)}
    return installed | {f"{name} #{number}": callback for number, (name, callback) in _registered.items()}


def problems(settings: Settings | None = None) -> list[str]:
    """What is wrong with policies and listeners; of kinds and hosts it is said where they are asked for."""
    all = [each for group in (POLICIES, LISTENERS) for each in found(group, settings)]
    return [f"{each.where}: {each.problem or 'it can not be called'}" for each in all if not callable(each.value)]


def when_changed(told: Callable[[], object]) -> Callable[[], None]:
    """Hears of each `listen` and its undoing, from any thread; what is given back ends that."""
    _changed.append(told)
    return lambda: _changed.remove(told)


def _tell() -> None:
    for told in list(_changed):
        told()
