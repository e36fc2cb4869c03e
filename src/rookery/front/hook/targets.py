"""What a tool would write, as full paths of this disk: symlinks and hard links followed, per working tree."""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rookery.core import errors, text
from rookery.core.record import NamedTuple
from rookery.runtime import resolve

if TYPE_CHECKING:
    from rookery.core.shell import Write

OWN = ("/proc/self/", "/proc/thread-self/")
FILE, REPOSITORY = "file", "repository"  # words of core.shell.Reach, which is imported with the parser only


class Target(NamedTuple):
    path: str  # full, symlinks followed
    reach: str = FILE
    pattern: bool = False

    @property
    def folder(self) -> str:
        """What lies in it may be meant; "" for a file, which is only itself."""
        if self.pattern:
            return _head(self.path)
        return "" if self.reach == FILE else self.path

    @property
    def wide(self) -> tuple[str, str]:
        """The folder, and the pattern of the files in it that are meant; "" for all of them."""
        return self.folder, self.path[len(self.folder) :].lstrip("/") if self.pattern else ""


def of_paths(paths: Iterable[str], cwd: str, home: str | None = None) -> tuple[list[Target], list[str]]:
    """(targets, why others could not be found out)."""
    spelled = [each for path in paths for each in _spellings(path, home)]
    return _resolved(((path, FILE, False) for path in spelled), cwd)


def _spellings(path: str, home: str | None) -> list[str]:
    """A tool may take a URL, or `~`, for what it means elsewhere, or as it is written."""
    if path.startswith("file:"):
        from urllib.parse import unquote  # few paths are URLs

        return [path, "/" + unquote(path[5:].removeprefix("//localhost")).lstrip("/")]
    if path.startswith("~/") and home:
        return [path, home.rstrip("/") + path[1:]]
    return [path]


def of_writes(writes: "Iterable[Write]", cwd: str) -> tuple[list[Target], list[str]]:
    return _resolved(((write.path, write.reach.value, write.pattern) for write in writes), cwd)


def _resolved(found: Iterable[tuple[str, str, bool]], cwd: str) -> tuple[list[Target], list[str]]:
    """One path that can not be resolved must not hide another that is held, so each is tried by itself."""
    targets: list[Target] = []
    failed: list[str] = []
    for path, reach, pattern in found:
        path = text.well_formed(path)  # what is no UTF-8 no store takes and no reservation can name
        if path.startswith(OWN):
            failed.append(f"{text.one_line(path, 80)} (it leads elsewhere in the command than here)")
            path = _as_here(path, cwd)
        try:
            real = resolve.absolute(path, cwd, wild=pattern)
        except (errors.BadInput, OSError, ValueError) as error:
            failed.append(f"{text.one_line(path, 80)} ({_why(error)})")
        else:
            if not pattern and os.path.islink(real):  # nothing more to follow, and still a link
                failed.append(f"{text.one_line(path, 80)} (its links lead in a circle)")
            targets.append(Target(text.well_formed(real), reach, pattern))
    return list(dict.fromkeys(targets)), failed


def _as_here(path: str, cwd: str) -> str:
    """What `/proc/self/...` most likely means in a command that runs in this folder."""
    _, name, *rest = path.removeprefix("/proc/").split("/")
    return "/".join(({"cwd": cwd, "root": ""}.get(name, path), *rest))


def _why(error: Exception) -> str:
    return text.one_line(getattr(error, "message", "") or type(error).__name__, 120)


# -- in a working tree -----------------------------------------------------------------------------------------------


def spelled_in(root: str, targets: Sequence[Target], *, outside: bool = False) -> tuple[list[str], list[str]]:
    """(paths, patterns) as `can-write` is asked about them in this working tree; what lies outside of it is left out,
    unless that is asked about too."""
    narrow: dict[str, None] = {}
    wide: dict[str, None] = {}
    for target in targets:
        found = _spelled(root, target) or (target.path if outside else None)
        if found is not None:
            (wide if target.pattern or found == root else narrow)[found] = None
    return list(narrow), list(wide)


def _spelled(root: str, target: Target) -> str | None:
    """What reaches all of the tree is the tree; a repository too, for only git knows which of its files it writes."""
    if target.pattern and not is_in(_head(target.path), root):
        return _continued(root, target)
    if target.reach == FILE:
        return target.path if is_in(target.path, root) else None
    if not target.pattern and is_in(root, target.path):
        return root
    if not is_in(target.path, root):
        return None
    return root if target.reach == REPOSITORY else f"{target.path}/"


def _continued(root: str, target: Target) -> str | None:
    """A pattern that begins above the tree, as it goes on inside: `/work/*/src` in `/work/app` is `/work/app/src`."""
    from fnmatch import fnmatchcase  # with `re`: few patterns begin above a tree

    names, wanted = root.strip("/").split("/"), target.path.strip("/").split("/")
    for place, name in enumerate(names):
        if place >= len(wanted):
            return root if target.reach != FILE else None
        if wanted[place] == "**":
            return root
        if not fnmatchcase(name, wanted[place].replace("[", "[[]")):
            return None
    rest = "/".join(wanted[len(names) :])
    if not rest:
        return root if target.reach != FILE else None
    return f"{root.rstrip('/')}/{rest}{'' if target.reach == FILE else '/'}"


def is_in(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _head(pattern: str) -> str:
    """The folder before the first wildcard."""
    names = pattern.split("/")
    first = next((i for i, name in enumerate(names) if "*" in name or "?" in name), len(names))
    return "/".join(names[:first]) or "/"


# -- above it --------------------------------------------------------------------------------------------------------


def folders_above(targets: Iterable[Target], root: str) -> Iterator[str]:
    """Every folder that a target lies in, each once; of what lies in the tree, those beneath its root."""
    seen: set[str] = set()
    for target in targets:
        here = target.folder or os.path.dirname(target.path)
        while here not in seen and here != root:
            seen.add(here)
            yield here
            here = os.path.dirname(here)
