"""Files that a command wrote itself and that a later program of it may load: code, settings, data.

A test runner, a build or an interpreter usually only reads what it is given. That is not known any more when the same
command wrote a file that tells it what to do. Then it may write every path that it is given.
"""

import re

from . import interpreters, programs
from .builds import BUILDS
from .options import names
from .redirects import UNNAMED
from .site import Site

# They load these files by themselves.
_LOADED = ("sitecustomize.py", "usercustomize.py")
_PRELOADED = names("LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH BASH_ENV ENV")
_FORMATTERS = names("ruff black eslint prettier mypy flake8 pylint isort biome stylelint rubocop")
_READS_SETTINGS = names("bash sh dash zsh ksh vim vi ex nvim curl wget less git emacs")
_LANGUAGES = names("python node ruby php perl lua luajit R Rscript julia java deno tsx ts-node tclsh guile")


def note(written: str, name: str, words: list[str], site: Site) -> None:
    """Called for every program that is run, after its own rules."""
    if name in programs.COMPILERS and (site.stdin is not None or site.feeders()):
        site.plant("program")
    made = site.planted()
    if made and any(variable in _PRELOADED for variable, _ in site.environ()):
        site.searched("\n".join(words))
    if any(path.rpartition("/")[2].startswith(".") for path in made) and name in _READS_SETTINGS:
        site.searched("\n".join([*words, *site.filled()]))
    if not made or not _is_lenient(written, name):
        return
    if name in programs.COMPILERS:
        site.searched("\n".join(word for word in words if word.startswith("-D")))
        return
    kind = interpreters.known_as(name)
    codes, operands = interpreters.inline(kind, words)
    if kind in _LANGUAGES:
        script = [] if codes or "-m" in words else operands[:1]
        own = {site.path(each) for each in script if kind != "java"}  # whose code is not judged
        others = [path for path in made if path not in own]
        if not _is_loaded(others, [*words, *site.environment()]):
            return
        words = [word for word in words if word not in script]
    for code in codes:
        site.searched(code)
    interpreters.named([word for word in words if word not in codes], site, operands=True)
    site.may_write([word.partition("=")[2] for word in words if "=" in word])
    if name in _FORMATTERS:
        site.may_write([word for word in words if not word.startswith("-")], deep=True)
    site.searched("\n".join([*site.environment(), *site.filled_data()]))


def _is_lenient(written: str, name: str) -> bool:
    """Are its operands usually only read? All others are judged by their own rules already."""
    kind = interpreters.known_as(name)
    if name in interpreters.EDITORS:
        return False
    return (
        "/" in written or name in programs.INTERPRETERS or name in programs.CHECKERS or kind in BUILDS
        or kind in _LANGUAGES or name in _FORMATTERS
    )  # fmt: skip


def _is_loaded(made: list[str], words: list[str]) -> bool:
    """Does one of the words name such a file, as a path, a module or a class? Then the program may load it."""
    text = "\n".join([*words, *(word[2:] for word in words if word[:2] in ("-M", "-I", "-r"))])
    for path in made:
        last = path.rpartition("/")[2]
        stem = last.partition(".")[0] or last
        folder = path.split("/")[-2:-1]
        if path.startswith(UNNAMED):
            return True
        names = (stem, last, *folder)
        if last in _LOADED or any(re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text) for each in names):
            return True
    return False
