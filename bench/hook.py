"""What a hook's decision costs as a whole process, with a daemon and without, against one that only starts."""

import json
import subprocess

from . import scene
from .door import commands_run, daemon
from .report import Row, Section, at_most
from .scene import Scene
from .sizes import Sizes
from .start import NOTHING, ROOK
from .timing import median, once_ms

# Without a daemon a hook opens the store and loads the reader of commands by itself. It reads more of a command than it
# did, and of the process that asks: 6 was a bound with no room left, and is no longer kept.
WITH, WITHOUT = at_most(1.6), at_most(8.0)
HELD = "src/held.py"
HOOK = (ROOK, "hook", "claude", "before")
EVENTS = {
    "an edit, denied": ("Write", {"file_path": HELD, "content": "x"}),
    "an edit, let through": ("Write", {"file_path": "src/free.py", "content": "x"}),
    "a command, denied": ("Bash", {"command": f"cd src && sed -i s/a/b/ {HELD.rpartition('/')[2]}"}),
    "a command, let through": ("Bash", {"command": "git status && grep -rn x src | head > /tmp/found"}),
}
DENIED = {name for name in EVENTS if name.endswith("denied")}


def measure(place: Scene, sizes: Sizes) -> Section:
    home = place.home("hook")
    with scene.team(home) as team:
        me, holder = team.join("me"), team.join("holder")
        holder.call("reserve", paths=[HELD], ttl_ms=86_400_000)
        environment = place.environment(home) | {"ROOK_AGENT": me.name}
        _check(environment)  # also writes bytecode
        alone = _taken(environment, sizes.starts)
        with daemon(environment) as told:
            _check(environment)
            before = commands_run(told)
            through = _taken(environment, sizes.starts)
            asked = commands_run(told) - before
    if asked != sizes.starts * len(EVENTS):
        raise AssertionError(f"{asked} of {sizes.starts * len(EVENTS)} hooks were answered by the daemon")
    rows = [Row(f"{name}, with a daemon", median(through[name]), median(through[""]), "ms", WITH) for name in EVENTS]
    rows += [Row(f"{name}, without", median(alone[name]), median(alone[""]), "ms", WITHOUT) for name in EVENTS]
    return Section("A hook before a tool", "python -c pass", rows)


def _taken(environment: dict[str, str], starts: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in ("", *EVENTS)}
    for _ in range(starts):
        for name, taken in times.items():
            taken.append(once_ms(lambda name=name: _asked(environment, name)))
    return times


def _asked(environment: dict[str, str], name: str) -> str:
    command = HOOK if name else NOTHING
    done = subprocess.run(
        command, env=environment, cwd=environment["HOME"], input=_event(name), capture_output=True, check=True
    )
    return done.stdout.decode()


def _event(name: str) -> bytes:
    tool, put = EVENTS.get(name, ("", {}))
    return json.dumps({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": put}).encode()


def _check(environment: dict[str, str]) -> None:
    """A hook that lets everything pass would be quick."""
    wrong = [name for name in EVENTS if ("holder" in _asked(environment, name)) != (name in DENIED)]
    if wrong:
        raise AssertionError(f"decided wrongly: {wrong}")
