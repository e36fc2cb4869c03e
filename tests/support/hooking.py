"""Hooks asked as an agent program asks, in this process: events of every known host, and what their answers mean."""

import json
from pathlib import Path
from typing import Any

from rookery.front.cli.call import Call, Reply
from rookery.hosts import known
from tests.support import fastdoor

BEFORE = {"claude": "PreToolUse", "codex": "PreToolUse", "gemini": "BeforeTool", "copilot": "preToolUse",
          "opencode": "before", "pi": "before"}  # fmt: skip
SHELLS = {"claude": "Bash", "codex": "Bash", "gemini": "run_shell_command", "copilot": "bash", "opencode": "bash",
          "pi": "bash"}  # fmt: skip
EDITS = {"claude": ("Write", "file_path"), "codex": ("apply_patch", "command"), "gemini": ("write_file", "file_path"),
         "copilot": ("create", "path"), "opencode": ("write", "filePath"), "pi": ("write", "path")}  # fmt: skip


def event(host: str, tool: str, put: Any, cwd: str, **more: Any) -> dict[str, Any]:
    """Before a tool, in the host's own shape."""
    at = known.find(host).fields
    return {at.event: BEFORE[host], at.session: "s-1", at.cwd: cwd, at.tool: tool, at.input: put, **more}


def shell(host: str, command: str, cwd: str) -> dict[str, Any]:
    return event(host, SHELLS[host], {"command": command}, cwd)


def edit(host: str, path: str, cwd: str) -> dict[str, Any]:
    tool, field = EDITS[host]
    patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch\n"
    return event(host, tool, {field: patch if host == "codex" else path}, cwd)


class Asker:
    """Whoever asks from a folder, by name or as nobody."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self.folder = folder
        self.environ = environ

    def rook(self, *argv: str, stdin: str = "", cwd: Path | None = None) -> Reply:
        call = Call(list(argv), str(cwd or self.folder), self.environ, lambda: stdin, print, peer=0)
        return fastdoor.whole(call)

    def ok(self, *argv: str, cwd: Path | None = None) -> str:
        reply = self.rook(*argv, cwd=cwd)
        assert reply.code == 0, reply.err
        return reply.out

    def hook(self, given: Any, *flags: str, host: str = "claude", who: str = "") -> Reply:
        stdin = given if isinstance(given, str) else json.dumps(given)
        return self.rook(*(("--as", who) if who else ()), "hook", host, "before", *flags, stdin=stdin)


def decision(reply: Reply) -> str:
    """deny, ask, warn or "" for nothing, in whatever form the host has for it."""
    if reply.code == 2:
        return "deny"
    assert reply.code == 0, (reply.code, reply.err)
    return meaning(json.loads(reply.out)) if reply.out.strip() else ""


def meaning(answer: dict[str, Any]) -> str:
    said = answer.get("hookSpecificOutput", answer)
    for word in (said.get("permissionDecision"), said.get("decision")):
        if word in ("deny", "ask"):
            return word
    for word in ("deny", "ask"):
        if said.get(word):
            return word
    warned = said.get("additionalContext") or said.get("context") or answer.get("systemMessage")
    return "warn" if warned else ""


def reason(reply: Reply) -> str:
    return reply.err if reply.code == 2 else json.dumps(json.loads(reply.out), ensure_ascii=False) if reply.out else ""
