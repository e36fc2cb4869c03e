"""Formatters that are one command of a larger program, or write more than they are told to."""

import re

from . import holes, reading
from .options import given
from .reading import Reach
from .site import Site, dirname, doubt

_RUFF = (
    "fix fix-only unsafe-fixes diff check n,no-cache q,quiet v,verbose s,silent e,exit-zero w,watch preview isolated "
    "no-fix no-preview no-unsafe-fixes show-fixes show-files show-settings statistics add-noqa? add-ignore? select: "
    "ignore: extend-select: extend-ignore: per-file-ignores: extend-per-file-ignores: fixable: unfixable: "
    "extend-fixable: exclude: extend-exclude: respect-gitignore no-respect-gitignore force-exclude config: "
    "line-length: target-version: output-format: o,output-file: cache-dir: stdin-filename: extension: "
    "exit-non-zero-on-fix range: color: no-show-fixes ignore-noqa h,help dummy-variable-rgx:"
)


def ruff(name: str, words: list[str], site: Site) -> None:
    """It also keeps a cache of its own, as other tools do; that is not reported."""
    got = given(_RUFF, words)
    command, *paths = [*got.operands, ""] if not got.operands else got.operands
    if got.has("h") or command in ("", "rule", "linter", "version", "help", "server", "analyze", "config"):
        return
    doubt(got, site)
    for value in got.values("o"):
        site.write(value)
    fixes = any(re.match(r"\s*fix(?:-only)?\s*=\s*true", site.content(each) or each) for each in got.values("config"))
    writes = (
        got.has("fix fix-only add-noqa w") or (fixes and not got.has("no-fix"))
        if command == "check"
        else command == "format"
    )
    if got.has("diff") or (command == "format" and got.has("check")):
        writes = False
    if command not in ("check", "format", "clean"):
        site.opaque(reading.PROGRAM_UNKNOWN, f"ruff {holes.shown(command)}")
    for path in paths or ["."] if writes else []:
        if path != "-":
            site.write(path, Reach.BENEATH)


def rustfmt(name: str, words: list[str], site: Site) -> None:
    """It follows `mod` into the files beside and beneath the one it is given."""
    got = given(
        "check emit: edition: config: config-path: l,files-with-diff q,quiet v,verbose backup color: h V", words
    )
    doubt(got, site)
    if got.has("check h V") or got.values("emit") == ["stdout"]:
        return
    for file in got.operands:
        site.write(dirname(file), Reach.BENEATH)


def biome(name: str, words: list[str], site: Site) -> None:
    got = given(
        "write fix apply apply-unsafe unsafe staged changed config-path: stdin-file-path: reporter: since: log-level: "
        "colors: max-diagnostics: skip-errors no-errors-on-unmatched diagnostic-level: verbose",
        words,
    )
    doubt(got, site)
    if got.operands[:1] in (["format"], ["check"], ["lint"]):
        for path in (got.operands[1:] or ["."]) if got.has("write fix apply apply-unsafe") else []:
            site.write(path, Reach.BENEATH)
    else:
        site.opaque(reading.INTERPRETER)


class _Format:
    """`go fmt ./...` and its like: files beneath the folders named, or beneath this one."""

    def __init__(self, command: str, spares: str, whole: bool = False) -> None:
        self.command, self.spares, self.whole = command, spares, whole

    def __call__(self, name: str, words: list[str], site: Site) -> None:
        if words[:1] != [self.command]:
            if words not in (["--version"], ["version"], ["--help"]):
                site.opaque(reading.INTERPRETER)
            return
        if any(word.partition("=")[0] in self.spares.split() for word in words):
            return
        if self.whole:
            site.write(".", Reach.REPOSITORY)  # every package of the workspace around it
            return
        paths = [word for word in words[1:] if holes.may_be_option(word) is False]
        if any(not holes.is_told(word) for word in words):
            site.opaque(reading.ARGUMENTS_UNKNOWN)
        for path in paths or ["."]:
            site.write(path.removesuffix("...") or ".", Reach.BENEATH)


cargo = _Format("fmt", "--check", whole=True)
go = _Format("fmt", "-n")
dart = _Format("format", "--output -o")
terraform = _Format("fmt", "-check -write")
tofu = _Format("fmt", "-check -write")
deno = _Format("fmt", "--check")
