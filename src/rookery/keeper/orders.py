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
    closed = bool(profile.get("read_only") or profile.get("plan_gate"))
    return launching.launch(launching.Order(
        order["host"], order["backend"], text if len(text.encode()) <= LONGEST else _read(path),
        program=launching.program(order["host"], order["extra"].get("program") or (), hosts), model=order["model"],
        seed=order["seed"], guardrails=_reminder(order, path),
        permissions=launching.READ if profile.get("read_only") else profile.get("permissions") or launching.EDIT,
        commands=tuple(profile.get("commands") or ()),
        folders=(where.folder,), server=(installed.rook(environ), "mcp"), tree=cwd,
        task=order["task"], brief=path, hooks=_hooks(order["host"], cwd, order["root"], environ, closed=closed),
        closed=closed,
    ))  # fmt: skip


def _hooks(host: str, cwd: str, root: str, environ: Mapping[str, str], *, closed: bool) -> str:
    """How its hooks call `rook`; nothing where the program runs hooks of ours anyway, and would ask twice. Codex, in a
    worktree, goes by the repository that it belongs to. Of a repository's files only what is exactly ours counts."""
    if host not in launching.HOOKED:
        return ""
    from rookery.hosts import setup

    rook, home = installed.rook(environ), environ.get("HOME", "")
    found = _hook_texts(host, root if host == CODEX else cwd)
    if setup.has_our_hooks(host, found, rook, closed=closed) and _is_run(host, root, found, root, environ):
        return ""
    found = _hook_texts(host, home) if home else {}
    return "" if setup.is_hooked(host, found) and _is_run(host, home, found, root, environ) else rook


def _hook_texts(host: str, folder: str) -> dict[str, str]:
    from rookery.hosts import setup

    return {path: _text(os.path.join(folder, path)) for path in setup.hook_files(host)}


def _is_run(host: str, folder: str, found: Mapping[str, str], root: str, environ: Mapping[str, str]) -> bool:
    """Those that Codex does not trust, it does not run."""
    if host != CODEX:
        return True
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
