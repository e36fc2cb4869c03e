from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.hosts.model.script import Move, call

from .port import BASE_URL, Place, Program, hook_command, merge_json

MOMENTS = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PreToolUse": "before",
    "PostToolUse": "after",
    "PostToolUseFailure": "after-failure",
    "Stop": "stop",
    "SessionEnd": "end",
}


class Claude(Program):
    name = "claude"
    executable = "claude"
    package = "@anthropic-ai/claude-code"

    def settle(self, place: Place) -> None:
        """All of it is in the environment."""

    def command(self, prompt: str) -> list[str]:
        return ["claude", "-p", "--dangerously-skip-permissions", prompt]

    def environment(self) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": BASE_URL,
            "ANTHROPIC_API_KEY": "dummy",
            "IS_SANDBOX": "1",  # root may skip permissions only in a sandbox, and this is one
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "60000",  # of itself it waits some 12 s for a server, then goes without
        }

    def add_hooks(self, place: Place) -> None:
        hooks = {
            event: [{"hooks": [{"type": "command", "command": hook_command(place, self.name, moment)}]}]
            for event, moment in MOMENTS.items()
        }
        merge_json(place.project / ".claude" / "settings.json", {"hooks": hooks})

    def add_mcp(self, place: Place, server: str, command: Sequence[str]) -> None:
        known = {server: {"command": command[0], "args": list(command[1:])}}
        merge_json(place.project / ".mcp.json", {"mcpServers": known})
        merge_json(place.project / ".claude" / "settings.json", {"enableAllProjectMcpServers": True})

    def write(self, path: Path, text: str) -> Move:
        return call("Write", file_path=str(path), content=text)

    def edit(self, path: Path, old: str, new: str) -> Move:
        return call("Edit", file_path=str(path), old_string=old, new_string=new)

    def bash(self, command: str) -> Move:
        return call("Bash", command=command, description="as the script says")

    def mcp(self, server: str, tool: str, args: Mapping[str, Any]) -> list[Move]:
        return [call(f"mcp__{server}__{tool}", **args)]
