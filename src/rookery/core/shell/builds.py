"""Builds: programs that run the commands of a file (make, npm, cmake), with what they are given by name."""

import re

from .code import shell_may_write
from .interpreters import given_text, named
from .options import given, names
from .site import Site
from .wrappers import is_command

RECIPES_LIMIT = 200  # lines of a makefile

# Targets of a build that only read, by their names; any other may write what it is given.
_CALM_TARGETS = (
    r"(?i).*(?:test|check|lint|type|doc|help|bench|cov|verif|build|install|example|smoke|audit|info|version|compile|"
    r"debug|analy|spec|e2e|scan).*|ci|run|start|serve|all|dev|watch|stat|list|print|show|env|setup|deps|tags"
)
_REWRITING_SCRIPTS = r"(?i).*(?:fmt|format|fix|clean|gen|write|update|prettier|rewrite|codemod|migrat).*"
_MAKE = (
    "f,file,makefile: C,directory: j? k s,silent,quiet n,just-print,dry-run B,always-make e,environment-overrides i "
    "E,eval: I,include-dir: o: W: q t l? r R w d p v,version no-print-directory output-sync? trace "
    "warn-undefined-variables"
)

BUILDS = names("make gmake ninja just task rake npm pnpm yarn bun cmake tox nox invoke gradle ant meson scons")


def build(kind: str, words: list[str], site: Site) -> None:
    """A build runs commands of a file; what it is given by name goes into them."""
    for text in site.filled():
        site.commands(text)
    if kind == "cmake" and words[:1] == ["-E"]:
        _cmake_tool(words[1:], site)
    elif kind in ("make", "gmake"):
        _made(words, site)
    elif kind in ("npm", "pnpm", "yarn", "bun"):
        _packaged(words, site)
    else:
        given_text(site, words)
        _named_by_script(words, site, rewrites=kind != "cmake")


def _named_by_script(words: list[str], site: Site, *, rewrites: bool) -> None:
    scripts = [word for word in words if not word.startswith("-")]
    found = any(re.fullmatch(_REWRITING_SCRIPTS, word) and "/" not in word for word in scripts[:2])
    named(words, site, operands=found and rewrites)


_NPM = "C,prefix: c,call: w,workspace: cache: logs-dir: loglevel: registry: userconfig: globalconfig: script-shell:"
_CHANGES_PACKAGE = names(
    "install i add ci init create update up upgrade uninstall un remove rm dedupe prune pkg set-script version link "
    "shrinkwrap rebuild audit"
)


def _packaged(words: list[str], site: Site) -> None:
    """npm and its like: commands they are given, scripts they are told to keep, and the folder they change."""
    given_text(site, words)
    got = given(_NPM, words)
    for text in got.values("c"):
        site.shell(text, ())
    verb, *rest = got.operands or [""]
    if verb in ("pkg", "set-script"):
        site.plant("package.json")
    for word in rest if verb in ("pkg", "set-script") else ():
        site.shell(word.partition("=")[2] or word, ()) if any(char.isspace() for char in word) else None
    if "--" in words:
        after = words[words.index("--") + 1 :]
        site.run(after if after and is_command(after[0]) else [])
    if (rest and (verb, rest[0]) in (("config", "set"), ("c", "set"))) or verb == "set":
        given_values = [each for word in rest for each in (word, word.partition("=")[2]) if each]
        site.may_write([*given_values, *(f"{each}/?" for each in given_values)])
    if verb in ("config", "c", "set", "login", "logout", "adduser", "token"):
        site.may_write(got.values("userconfig globalconfig"))
    for text in got.values("script-shell"):
        site.commands(text)
    if verb in _CHANGES_PACKAGE:
        for folder in got.values("C") or ["."]:
            site.into(folder).may_write(["package.json", "package-lock.json", "node_modules/?"])
    _named_by_script(words, site, rewrites=True)


def _made(words: list[str], site: Site) -> None:
    got = given(_MAKE, words)
    for text in got.values("E"):
        _recipes(text, site)
    own = [text for file in got.values("f") if (text := site.content(file) or site.feeders(file))]
    recipes = "\n".join([*got.values("E"), *own])
    if not got.has("n q v") and (shell_may_write(recipes) or "$(file" in recipes):
        site.searched("\n".join([recipes, *got.operands, *site.environment()]))
    for word in got.operands:
        name, _, value = word.partition("=")
        if name in ("SHELL", ".SHELLFLAGS", "MAKEFLAGS", "GNUMAKEFLAGS"):
            site.searched(value)
        elif any(char.isspace() for char in value) or "$" in value:
            site.commands(value)
    if got.has("n q v"):
        return
    for folder in got.values("C"):
        site = site.into(folder)
    for file in got.values("f"):
        text = site.content(file) or ""
        _recipes(text, site)
        site.code(text)
    targets = [word for word in got.operands if "=" not in word]
    values = [word.partition("=")[2] for word in got.operands if "=" in word]
    if targets and all(re.fullmatch(_CALM_TARGETS, target) for target in targets):
        return
    for value in [*targets, *values, *(site.environment() if targets or got.has("f") else ())]:
        if any(char.isspace() or char == "$" for char in value):
            site.searched(value)
        else:
            site.may_write([value, value.partition("=")[2]])


def _recipes(text: str, site: Site) -> None:
    """The text of a makefile: what its rules run, and what it runs while it is read."""
    site.commands(re.sub(r"\$\(shell\b", " ", text))
    for line in text.splitlines()[:RECIPES_LIMIT]:
        rule, mark, recipe = line.partition(";")
        command = line if line.startswith("\t") else recipe if mark and ":" in rule else ""
        if command.strip():
            site.shell(command.strip().lstrip("@-+").replace("$$", "$"), ())


_CMAKE_READS = names("cat compare_files echo environment md5sum sha1sum sha256sum sha512sum sleep true false")


def _cmake_tool(words: list[str], site: Site) -> None:
    """`cmake -E`: small programs of its own."""
    tool, rest = (words[0], words[1:]) if words else ("", [])
    if tool == "chdir" and rest:
        site.into(rest[0]).run(rest[1:])
    elif tool in ("env", "time"):
        site.run([tool, *rest])
    elif tool.startswith("copy_directory"):
        site.run(["cp", "-r", *(f"{folder.rstrip('/')}/." for folder in rest[:-1]), *rest[-1:]])
    elif tool in ("copy", "copy_if_different", "tar"):
        site.run(["tar", *rest] if tool == "tar" else ["cp", "-r", *rest])
    elif tool not in _CMAKE_READS:
        site.may_write([word for word in rest if not word.startswith("-")], deep=True)
