"""For `rook doctor`: a hook that does not run looks like one that has nothing to say, so it is looked for."""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rookery.core import errors, times, toml
from rookery.front.cli.call import Desk
from rookery.hosts import jsontext, known, setup, trust
from rookery.hosts.pieces import Block, Hooks, OwnFile, Piece, Server
from rookery.runtime import children, files, git, installed, net, settling

from . import plan

SAMPLE_S = 5.0
GREETED = "Rookery: you are"
# Plays the agent program. A hook records the program above it as one, and that must not be the user's shell.
NOT_RUN = 127
PROGRAM = (
    sys.executable, "-c",
    "import subprocess, sys\n"
    "try:\n    code = subprocess.run(sys.argv[1:]).returncode\n"
    f"except OSError as error:\n    print(error.strerror, file=sys.stderr)\n    code = {NOT_RUN}\n"
    "sys.exit(code)",
)  # fmt: skip


class Check(NamedTuple):
    what: str
    well: bool
    seen: str
    do: str = ""


def all_hosts(desk: Desk) -> list[Check]:
    """Of every agent program that was set up in this repository."""
    root = git.toplevel(desk.call.cwd) or os.path.realpath(desk.call.cwd)
    try:
        want = plan.wanted(desk, root)
    except errors.Refused as error:
        return [Check("hooks", False, error.message, error.hint)]
    heard = {each["host"]: each["at"] for each in desk.verb("turn.heard", {})["hosts"]}
    return [check for host in known.TITLES for check in _of_host(desk, root, host, want, heard)]


def _of_host(desk: Desk, root: str, host: str, want: setup.Wanted, heard: Mapping[str, str]) -> Iterator[Check]:
    pieces = setup.of_host(host, want)
    present = [piece for piece in pieces if _says(root, piece)]
    if not any(isinstance(piece, (Hooks, OwnFile)) for piece in present):
        return
    yield _files(root, host, pieces)
    said = _commands(root, host, pieces[0], want)
    yield _answer(desk, host, said)
    yield from _by_http(desk, root, host, pieces[0])
    verdict = _trusted(desk, root, host)
    if not installed.on_path([host], desk.call.environ):
        yield Check(f"{host} trust", True, f"`{host}` is not on your PATH, so there is nothing to look at")
    elif verdict is not None:
        yield Check(f"{host} trust", verdict.well, verdict.seen, verdict.do)
    yield Check(f"{host} heard", True, _ago(desk, heard[host]) if host in heard else "not once, so far")


def _ago(desk: Desk, at: str) -> str:
    now = desk.house.clock.wall_ms()
    return f"last {times.ago(max(0, now - times.parse_when(at, now)))} ago"


# -- the files -------------------------------------------------------------------------------------------------------


def _text(root: str, piece: Piece) -> str | None:
    data = settling.read(os.path.join(root, piece.path))
    return None if data is None else data.decode("utf-8", "replace")


def _says(root: str, piece: Piece) -> bool:
    """Is something of ours in its file?"""
    text = _text(root, piece)
    if text is None:
        return False
    try:
        if isinstance(piece, (Hooks, Server)):
            return bool(piece.found(text))
        return piece.marks.body(text, piece.path) is not None if isinstance(piece, Block) else True
    except errors.BadInput:
        return False


def _files(root: str, host: str, pieces: Sequence[Piece]) -> Check:
    """As `rook init` would write them now, open or closed."""
    lacking = [piece.path for piece in pieces if not _as_written(_text(root, piece), piece)]
    if not lacking:
        return Check(f"{host} files", True, ", ".join(dict.fromkeys(piece.path for piece in pieces)))
    return Check(f"{host} files", False, f"not as written: {', '.join(dict.fromkeys(lacking))}",
                 f"`rook init --host {host}` shows what differs, and writes it.")  # fmt: skip


def _as_written(text: str | None, piece: Piece) -> bool:
    if text is None:
        return False
    try:
        if isinstance(piece, Hooks):
            there = piece.found(text)
            return all(event in there and _same(there[event], entry) for event, entry in piece.entries.items())
        if isinstance(piece, OwnFile):
            return _open(text) == piece.content
        return piece.put(text) == text
    except errors.BadInput:
        return False


def _same(there: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """But for the policy and the way, which are the user's choice."""
    if there.get("type") == "http":
        return True
    bare = {key: value for key, value in there.items() if key != "onFailure"}
    for key in ("command", "bash"):
        if isinstance(bare.get(key), str):
            bare[key] = bare[key].removesuffix(" --closed")
    return bare == dict(wanted)


def _open(plugin: str) -> str:
    return plugin.replace("const CLOSED = true", "const CLOSED = false", 1)


# -- does it answer? ---------------------------------------------------------------------------------------------------


def _commands(root: str, host: str, hooks: Piece, want: setup.Wanted) -> str:
    """The word that the installed hooks call us by."""
    text = _text(root, hooks)
    if isinstance(hooks, Hooks) and text is not None:
        for entry in hooks.found(text).values():
            line = entry.get("command") or entry.get("bash") or ""
            if words := setup.spoken(str(line), host):
                return words[0]
    return want.rook


def _answer(desk: Desk, host: str, rook: str) -> Check:
    """A session begins in a home of its own that is thrown away: the greeting has to come back."""
    what = f"{host} hook"
    path = desk.call.environ.get("PATH", "")
    if not (os.path.isabs(rook) or installed.on_path([rook], {"PATH": path})):
        return Check(what, False, f"`{rook}` is not on your PATH", "Put it there, or run `rook init` again.")
    with files.scratch("rook-doctor-") as folder:
        environ = {"PATH": path, "HOME": folder, "ROOK_HOME": os.path.join(folder, "home"), "ROOK_TEAM": "doctor",
                   "ROOK_MESH_AUTO_JOIN": "true", "TERM": "dumb"}  # fmt: skip
        code, out, err = children.answer(
            [*PROGRAM, rook, "hook", host, "start"], json.dumps({"cwd": folder}), environ=environ, cwd=folder,
            limit_s=SAMPLE_S,
        )  # fmt: skip
    if code == NOT_RUN:
        return Check(what, False, f"`{rook}` can not be run: {err.strip()}", "Run `rook init` again.")
    if code == 0 and GREETED in out:
        return Check(what, True, f"`{rook} hook {host}` answers")
    said = (err or out).strip().partition("\n")[0][:200] or "nothing, within its 1.5 s"
    return Check(what, False, f"`{rook} hook {host} start` said: {said}",
                 "Try it by hand; on a slow machine `rook up` makes hooks quick.")  # fmt: skip


def _by_http(desk: Desk, root: str, host: str, hooks: Piece) -> Iterator[Check]:
    """Of hooks that ask a daemon: is it there, and has the program a token?"""
    text = _text(root, hooks)
    if not isinstance(hooks, Hooks) or text is None:
        return
    for url in sorted({str(entry["url"]) for entry in hooks.found(text).values() if entry.get("type") == "http"}):
        where = url.partition(setup.HOOK_PATH)[0]
        there = net.answers(f"{where}/healthz")
        seen = f"{where} answers" if there else f"{where} does not answer, so the tools just run"
        yield Check(f"{host} daemon", there, seen, "" if there else "`rook up --detach` starts it.")
        has = bool(desk.call.environ.get("ROOK_TOKEN"))
        todo = "`rook token new --agent NAME` makes one; ROOK_AGENT=NAME belongs to it."
        yield Check(f"{host} token", has, f"ROOK_TOKEN is {'' if has else 'not '}set here", "" if has else todo)


# -- does the program run it? ------------------------------------------------------------------------------------------


def _trusted(desk: Desk, root: str, host: str) -> trust.Verdict | None:
    environ = desk.call.environ
    home = environ.get("HOME", "")
    if not home:
        return None
    if host == "claude":
        files = [f"{home}/.claude/settings.json", *(f"{root}/.claude/settings{x}.json" for x in ("", ".local"))]
        return trust.claude([_json(path) for path in files])
    if host == "codex":
        config = os.path.join(environ.get("CODEX_HOME") or f"{home}/.codex", "config.toml")
        hooks = os.path.join(root, ".codex", "hooks.json")
        return trust.codex(_toml(config), hooks, _json(hooks), [root, desk.call.cwd])
    if host == "gemini":
        rules = environ.get("GEMINI_CLI_TRUSTED_FOLDERS_PATH") or f"{home}/.gemini/trustedFolders.json"
        return trust.gemini(_json(f"{home}/.gemini/settings.json"), _json(rules), environ, root)
    if host == "copilot":
        return trust.copilot(
            _json(os.path.join(environ.get("COPILOT_HOME") or f"{home}/.copilot", "config.json")), root
        )
    if host == "pi":
        folder = environ.get("PI_CODING_AGENT_DIR") or f"{home}/.pi/agent"
        return trust.pi(_json(f"{folder}/trust.json"), _json(f"{folder}/settings.json"), root)
    return None


def _json(path: str) -> Mapping[str, Any]:
    """What another program wrote down; nothing where that can not be read."""
    data = settling.read(path)
    try:
        node = None if data is None else jsontext.parse(data.decode(), path, comments=True)
    except (errors.BadInput, UnicodeDecodeError):
        return {}
    return {} if node is None else jsontext.plain(node)


def _toml(path: str) -> Mapping[str, Any]:
    data = settling.read(path)
    try:
        return {} if data is None else toml.parse(data, path)
    except errors.BadInput:
        return {}
