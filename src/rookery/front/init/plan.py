"""What would be changed, as pairs of bytes. Nothing is written here."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rookery.core import errors, names
from rookery.front.cli.call import Desk
from rookery.hosts import known, marked, setup
from rookery.hosts.pieces import Piece
from rookery.runtime import git, hooks, installed, settling
from rookery.runtime.settling import Change, Found, Kept, Record

PLUGINS = ("hosts", "plugins")
ALL = "all"
BEFORE = ".before-rookery"


class Ground(NamedTuple):
    """Where it happens."""

    root: str  # the top of the working tree, or the folder
    record_at: str
    record: Record | None


class Plan(NamedTuple):
    changes: list[Change]
    record: Record | None  # as it will be; None: it goes
    notes: list[str]
    folders: Sequence[str] = ()  # to be removed afterwards, if they are empty


def ground(desk: Desk) -> Ground:
    root = git.toplevel(desk.call.cwd) or os.path.realpath(desk.call.cwd)
    home = desk.call.environ.get("HOME", "")
    if home and root == os.path.realpath(home):
        raise errors.Refused(
            "This is your home folder: what is written here holds for everything you do.",
            "Run `rook init` in the repository that the agents work in.", code="NOT_HERE",
        )  # fmt: skip
    at = settling.record_path(desk.house.places.home, root)
    return Ground(root, at, settling.load(at))


# -- which programs --------------------------------------------------------------------------------------------------


def hosts(desk: Desk, root: str, named: Sequence[str]) -> list[str]:
    """Those that were named, else those that are on the PATH or have a folder in the repository."""
    if named:
        for name in named:
            if name not in (*known.TITLES, ALL):
                hint = names.did_you_mean(name, [*known.TITLES, ALL]) or f"One of: {', '.join(known.TITLES)}, {ALL}."
                raise errors.BadInput(f"No agent program {name[:60]!r} is known.", hint, code="UNKNOWN_HOST")
        return [name for name in known.TITLES if name in named or ALL in named]
    there = installed.on_path(known.TITLES, desk.call.environ)
    found = [name for name in known.TITLES if name in there or os.path.isdir(os.path.join(root, setup.FOLDERS[name]))]
    if not found:
        raise errors.Refused(
            "No agent program was found, neither on your PATH nor by its folder in this repository.",
            f"Name it: `rook init --host claude`. Known: {', '.join(known.TITLES)}.", code="NO_HOSTS",
        )  # fmt: skip
    return found


def wanted(desk: Desk, root: str, *, closed: bool = False, http: bool = False) -> setup.Wanted:
    texts = {name: installed.packaged(*PLUGINS, name) for name in setup.TEXTS}
    commented = os.path.lexists(os.path.join(root, "opencode.jsonc"))
    plain = os.path.lexists(os.path.join(root, "opencode.json"))
    opencode = "opencode.jsonc" if commented and not plain else "opencode.json"
    url = f"http://127.0.0.1:{desk.house.settings['daemon.port']}" if http else ""
    return setup.Wanted(_speakable(installed.rook(desk.call.environ)), closed, texts, opencode, url)


def _speakable(rook: str) -> str:
    try:
        rook.encode()
    except UnicodeEncodeError:
        raise errors.Refused("The path of `rook` is no UTF-8.", "Put `rook` on your PATH.") from None
    return rook


# -- putting in ------------------------------------------------------------------------------------------------------


def put_in(desk: Desk, where: Ground, chosen: Sequence[str], want: setup.Wanted, *, git_hook: bool) -> Plan:
    pieces = setup.pieces(chosen, want)
    notes = [*_about_rook(want.rook), *_about_place(where.root), *_about_http(want, chosen)]
    pieces, left_out = _without_switch(desk, where.root, pieces)
    changes = [change for change in _changes(where.root, pieces) if change.before.data != change.after.data]
    if git_hook:
        changes += _git_hook(desk, where.root, want)
    notes += [*left_out, *(_to_trust(chosen) if changes else [])]
    return Plan(changes, _remembered(where, changes, pieces), notes)


def _about_rook(rook: str) -> list[str]:
    if rook == installed.OWN and sys.prefix != sys.base_prefix:
        return [f"`rook` is in the virtual environment {sys.prefix}: a program that is started without it on its PATH "
                "does not find it."]  # fmt: skip
    if rook == installed.OWN:
        return []
    return [f"`rook` is not on your PATH, so {rook} was written; whoever shares these files needs it there too."]


def _about_place(root: str) -> list[str]:
    return [] if git.toplevel(root) else [f"{root} is no git repository: the team is this folder alone."]


def _about_http(want: setup.Wanted, chosen: Sequence[str]) -> list[str]:
    if not want.url or "claude" not in chosen:
        return []
    return [f"Claude Code asks {want.url}: `rook up --detach` first, and ROOK_AGENT and ROOK_TOKEN in its environment "
            "(`rook token new --agent NAME`)."]  # fmt: skip


def _without_switch(desk: Desk, root: str, pieces: list[Piece]) -> tuple[list[Piece], list[str]]:
    """The settings may be elsewhere, or say no already."""
    file = os.path.join(root, setup.SETTINGS)
    used, own = desk.house.places.repo_file, desk.house.places.user_file
    kept = [piece for piece in pieces if piece.path != setup.SETTINGS]
    for path in filter(None, (used, own)):
        said = _said(path)
        if said is not None and path != file:
            return kept, [] if said else [f"{path} says that agents do not join by themselves; that stays."]
    if used is not None and used != file:
        return kept, [f"Your settings are in {used}: write `auto_join = true` under [mesh] there."]
    if used is not None and _said(used) is False:
        return kept, [f"{used} says that agents do not join by themselves; that stays."]
    return pieces, []


def _said(path: str) -> bool | None:
    data = settling.read(path)
    return None if data is None else marked.says(data.decode("utf-8", "replace"), path, "mesh", "auto_join")


def _to_trust(chosen: Sequence[str]) -> list[str]:
    told = {
        "codex": "Codex runs hooks only when they are trusted: start `codex` here once and say so (`/hooks`).",
        "gemini": "Gemini CLI wants the folder trusted: it asks when it is started here.",
        "copilot": "Copilot CLI runs hooks only in a trusted folder: it asks when it is started here.",
        "pi": "pi loads extensions only of an approved project: start `pi` here and say so (`/trust`).",
    }
    return [told[name] for name in chosen if name in told]


def _changes(root: str, pieces: Iterable[Piece]) -> list[Change]:
    """Looks at every file before anything is said, so that all can be refused."""
    texts: dict[str, str | None] = {}
    seen: dict[str, Found] = {}
    for piece in pieces:
        path = os.path.join(root, piece.path)
        if path not in seen:
            seen[path] = settling.look(root, path)
            texts[path] = _decoded(path, seen[path].data)
        texts[path] = piece.put(texts[path])
    return [Change(path, seen[path], Found((text or "").encode(), seen[path].mode)) for path, text in texts.items()]


def _decoded(path: str, data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        raise errors.BadInput(f"{path} is not UTF-8.", "Correct it, or move it away; nothing was written.",
                              code="BAD_FILE", path=path) from None  # fmt: skip


def _remembered(where: Ground, changes: Sequence[Change], pieces: Sequence[Piece]) -> Record | None:
    """With the oldest bytes that are known of each file, unless someone else wrote it meanwhile."""
    record = where.record or Record(where.root, {}, [])
    kept, folders = dict(record.files), list(record.folders)
    for change in changes:
        old = kept.get(change.path)
        before = change.before
        if old is not None and before.data is not None:
            before = old.before if settling.digest(before.data) == old.written else _bare(change, pieces)
        kept[change.path] = Kept(before, settling.digest(change.after.data or b""))
        folders += [folder for folder in settling.missing_folders(change.path) if folder not in folders]
    return record._replace(files=kept, folders=folders)


def _bare(change: Change, pieces: Iterable[Piece]) -> Found:
    """A file that was changed since we wrote it, without our parts."""
    text = taken_out(change.path, change.before.data or b"", pieces)
    return change.before if text is None else Found(text.encode(), change.before.mode)


def taken_out(path: str, data: bytes, pieces: Iterable[Piece]) -> str | None:
    try:
        text: str | None = data.decode()
        for piece in pieces:
            if text is not None and path.endswith(f"/{piece.path}"):
                text = piece.taken_out(text)
    except (UnicodeDecodeError, errors.BadInput):
        return None
    return text


# -- git -------------------------------------------------------------------------------------------------------------


def _git_hook(desk: Desk, root: str, want: setup.Wanted) -> list[Change]:
    from shlex import quote

    repository = git.find(root)
    if repository is None:
        raise errors.Refused("This is no git repository.", "Leave out --git-hook, or run `git init` first.")
    folder = hooks.folder(repository, desk.call.environ)
    path = os.path.join(folder, "pre-commit")
    base = os.path.dirname(settling.missing_folders(path)[0]) if settling.missing_folders(path) else folder
    ours = Found(want.texts["pre-commit"].replace("@ROOK@", quote(want.rook)).encode(), settling.NEW_PROGRAM)
    there, aside = settling.look(base, path), settling.look(base, path + BEFORE)
    if there.data == ours.data:
        return []
    if there.data is None or _is_guard(there.data):
        return [Change(path, there, ours)]
    if aside.data is not None:
        raise errors.Refused(f"{path}{BEFORE} is there, and {path} is another hook.", "Put one of them away first.")
    return [Change(path + BEFORE, aside, there), Change(path, there, ours)]


def _is_guard(data: bytes) -> bool:
    return b"Written by `rook init --git-hook`" in data


# -- taking back -----------------------------------------------------------------------------------------------------


def take_back(desk: Desk, where: Ground) -> Plan:
    if where.record is None:
        raise errors.Refused(
            "There is no record of a `rook init` here.",
            "In another copy or under another home it was done elsewhere: `git log` knows the files.", code="NO_RECORD",
        )  # fmt: skip
    pieces = setup.pieces(list(known.TITLES), wanted(desk, where.root))
    changes: list[Change] = []
    notes: list[str] = []
    for path, kept in where.record.files.items():
        change, note = _restored(where.root, path, kept, pieces)
        changes += [change] if change else []
        notes += [note] if note else []
    return Plan(changes, None, notes, folders=where.record.folders[::-1])


def _restored(root: str, path: str, kept: Kept, pieces: Sequence[Piece]) -> tuple[Change | None, str]:
    inside = path.startswith(os.path.join(root, ""))
    now = settling.look(root if inside else os.path.dirname(path), path)
    shown = os.path.relpath(path, root) if inside else path
    if now.data == kept.before.data:
        return None, ""
    if now.data is None:
        return None, f"{shown} is gone; it is not brought back."
    if settling.digest(now.data) == kept.written:
        return Change(path, now, kept.before), ""
    text = taken_out(path, now.data, pieces) if inside else None
    if text is None or not _concerned(path, pieces):
        return None, f"{shown} was changed since: take Rookery's part out of it yourself."
    if text.encode() == now.data:
        return None, ""
    note = f"{shown} was changed since: only Rookery's part is taken out."
    return Change(path, now, Found(text.encode(), now.mode)), note


def _concerned(path: str, pieces: Iterable[Piece]) -> bool:
    return any(path.endswith(f"/{piece.path}") for piece in pieces)


def mapping(plan: Plan, root: str) -> list[Mapping[str, str]]:
    """The changes as they are shown: which file, what happens to it, and the difference."""
    from difflib import unified_diff

    shown: list[Mapping[str, str]] = []
    for change in plan.changes:
        inside = change.path.startswith(os.path.join(root, ""))
        name = os.path.relpath(change.path, root) if inside else change.path
        old, new = (_lines(found.data) for found in (change.before, change.after))
        kind = "new" if change.before.data is None else "removed" if change.after.data is None else "changed"
        shown.append({"path": name, "change": kind, "diff": "".join(_whole(unified_diff(old, new, name, name)))})
    return shown


def _lines(data: bytes | None) -> list[str]:
    text = (data or b"").decode("utf-8", "replace").replace("\r\n", "\n")
    *lines, last = text.split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def _whole(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
