import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.hosts.model.script import Move, call, call_with_text

from .port import BASE_URL, Place, Program, hook_command, save_json

MOMENTS = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PreToolUse": "before",
    "PostToolUse": "after",
    "Stop": "stop",
    "SessionEnd": "end",
}
CONFIG = """\
model = "{model}"
model_provider = "rig"
check_for_update_on_startup = false

[model_providers.rig]
name = "rig"
base_url = "{url}/v1"
env_key = "RIG_KEY"
wire_api = "responses"

[features]
plugins = false  # their catalogue is fetched at every start, and the end of the program waits 5 s for it

[analytics]
enabled = false

[projects."{project}"]
trust_level = "trusted"
"""


class Codex(Program):
    """With a model whose tools are called one by one."""

    name = "codex"
    executable = "codex"
    package = "@openai/codex"
    model = "gpt-5.5"

    _project: Path | None = None

    def settle(self, place: Place) -> None:
        self._project = place.project
        config = place.home / ".codex" / "config.toml"
        config.parent.mkdir()
        config.write_text(CONFIG.format(model=self.model, url=BASE_URL, project=place.project))

    def command(self, prompt: str) -> list[str]:
        free = ["--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"]
        # Only where such a server is set up does this say anything: a first call must not come before it is ready.
        served = self._project is not None and (self._project / ".codex" / "config.toml").exists()
        wait = ["-c", "mcp_servers.rook.required=true"] if served else []
        return ["codex", "exec", *free, *wait, prompt]

    def environment(self) -> dict[str, str]:
        return {"RIG_KEY": "dummy"}

    def add_hooks(self, place: Place) -> None:
        hooks = {
            event: [{"hooks": [{"type": "command", "command": hook_command(place, "codex", moment)}]}]
            for event, moment in MOMENTS.items()
        }
        save_json(place.project / ".codex" / "hooks.json", {"hooks": hooks})

    def add_mcp(self, place: Place, server: str, command: Sequence[str]) -> None:
        """Required: it is waited for. A turn begins without the tools of any other that is not ready."""
        with (place.home / ".codex" / "config.toml").open("a") as config:
            config.write(f"\n[mcp_servers.{server}]\ncommand = {json.dumps(command[0])}\n")
            config.write(f"args = {json.dumps(list(command[1:]))}\nrequired = true\n")

    def write(self, path: Path, text: str) -> Move:
        return call_with_text("apply_patch", adding(path, text))

    def edit(self, path: Path, old: str, new: str) -> Move:
        return call_with_text("apply_patch", changing(path, old, new))

    def bash(self, command: str) -> Move:
        return call("exec_command", cmd=command)

    def mcp(self, server: str, tool: str, args: Mapping[str, Any]) -> list[Move]:
        """The tools of servers are in namespaces, and deferred: the program takes a call without a search before it."""
        return [{**call(tool, **args), "namespace": f"mcp__{server}"}]


class CodexInCode(Codex):
    """With a model that calls its tools from JavaScript: every tool call is inside one call of `exec`."""

    name = "codex-code"
    model = "gpt-6.1-sol"

    def write(self, path: Path, text: str) -> Move:
        return in_code("apply_patch", adding(path, text))

    def edit(self, path: Path, old: str, new: str) -> Move:
        return in_code("apply_patch", changing(path, old, new))

    def bash(self, command: str) -> Move:
        return in_code("exec_command", {"cmd": command})

    def mcp(self, server: str, tool: str, args: Mapping[str, Any]) -> list[Move]:
        return [in_code(f"mcp__{server}__{tool}", args)]


def adding(path: Path, text: str) -> str:
    lines = "\n".join(f"+{line}" for line in text.splitlines())
    return f"*** Begin Patch\n*** Add File: {path}\n{lines}\n*** End Patch\n"


def changing(path: Path, old: str, new: str) -> str:
    return f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch\n"


def in_code(tool: str, argument: Any) -> Move:
    """What the tool answers, or how it failed, becomes what the code answers."""
    code = f"try {{ text(await tools.{tool}({json.dumps(argument)})) }} catch (error) {{ text(String(error)) }}"
    return call_with_text("exec", code)
