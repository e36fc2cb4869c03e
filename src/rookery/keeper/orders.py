"""What a worker is started with: its brief and its words. Made from the order that `worker.begin` gives."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from rookery.core import briefs
from rookery.hosts import launching
from rookery.hosts.launching import Launch
from rookery.runtime import files, installed
from rookery.runtime.starting import Place

Order = Mapping[str, Any]
LONGEST = 60_000  # bytes of a brief that is the first prompt itself; a longer one is read by whoever it is for
SETTINGS_LIMIT = 1 << 20
CODEX = "codex"


def wants_tree(order: Order) -> bool:
    """Whether it works in a worktree of its own: as its kind says, unless the request said otherwise. Whoever judges
    compares commits."""
    said = order["extra"]
    if said.get("no_worktree") or order["role"] == "review":
        return False
    return bool(said.get("worktree") or order["profile"].get("worktree", True))


def brief(order: Order, team: str, tree: str, base: str) -> str:
    """The text of `task.md`."""
    return briefs.of_order({**order, "base": base}, team=team, workspace=tree or order["root"], own_tree=bool(tree))


def launch(
    order: Order, where: Place, text: str, cwd: str, environ: Mapping[str, str], hosts: Mapping[str, Any]
) -> Launch:
    """How its program is started; a refusal where it can not."""
    profile, path = order["profile"], where.of("task.md")
    return launching.launch(launching.Order(
        order["host"], order["backend"], text if len(text.encode()) <= LONGEST else _read(path),
        program=launching.program(order["host"], order["extra"].get("program") or (), hosts), model=order["model"],
        seed=order["seed"], guardrails=_reminder(order, path),
        permissions=launching.READ if profile.get("read_only") else profile.get("permissions") or launching.EDIT,
        commands=tuple(profile.get("commands") or ()),
        folders=(environ["ROOK_HOME"],), server=(installed.rook(environ), "mcp"), tree=cwd,
        task=order["task"], brief=path, hooks=_hooks(order["host"], cwd, order["root"], environ),
        closed=bool(profile.get("read_only") or profile.get("plan_gate")),
    ))  # fmt: skip


def _hooks(host: str, cwd: str, root: str, environ: Mapping[str, str]) -> str:
    """How its hooks call `rook`; nothing where the program runs hooks of ours anyway, and would ask twice. Codex, in a
    worktree, goes by the repository that it belongs to."""
    if host not in launching.HOOKED:
        return ""
    for folder in (root if host == CODEX else cwd, environ.get("HOME", "")):
        if folder and _is_hooked(host, folder, root, environ):
            return ""
    return installed.rook(environ)


def _is_hooked(host: str, folder: str, root: str, environ: Mapping[str, str]) -> bool:
    """Those that Codex does not trust, it does not run."""
    from rookery.hosts import setup

    found = {path: _text(os.path.join(folder, path)) for path in setup.hook_files(host)}
    if not setup.is_hooked(host, found) or host != CODEX:
        return setup.is_hooked(host, found)
    from tomllib import TOMLDecodeError, loads

    from rookery.hosts import trust

    home = environ.get("CODEX_HOME") or os.path.join(environ.get("HOME", ""), ".codex")
    with suppress(TOMLDecodeError):
        known = loads(_text(os.path.join(home, "config.toml")))
        ((path, said),) = found.items()
        return trust.codex(known, os.path.join(folder, path), json.loads(said), [root]).well
    return False


def _text(path: str) -> str:
    return files.read_from(path, 0, SETTINGS_LIMIT)[0].decode("utf-8", "replace")


def _read(path: str) -> str:
    return f"Read {path}, all of it: it is your assignment, and says how you report. Then do what it says."


def _reminder(order: Order, path: str) -> str:
    """Where a program keeps nothing else of its first prompt in view."""
    return (
        f"You are {order['name']}, the Rookery worker {order['id']}. Your assignment and the rules that bind you stand "
        f"in {path}; read them again whenever you do not have them in view, and report as they say before you end."
    )
