from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.hosts.model.script import Move, call

from .port import BASE_URL, Place, Program, hook_command, merge_json, save_json

MOMENTS = {
    "SessionStart": "start",
    "BeforeAgent": "prompt",
    "BeforeTool": "before",
    "AfterTool": "after",
    "AfterAgent": "stop",
    "SessionEnd": "end",
}
HOOK_TIMEOUT_MS = 10_000


class Gemini(Program):
    name = "gemini"
    executable = "gemini"
    package = "@google/gemini-cli"

    def settle(self, place: Place) -> None:
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
        }
        save_json(place.home / ".gemini" / "settings.json", settings)

    def command(self, prompt: str) -> list[str]:
        return ["gemini", "--yolo", "--model", "gemini-2.5-flash", "--prompt", prompt]

    def environment(self) -> dict[str, str]:
        return {
            "GOOGLE_GEMINI_BASE_URL": BASE_URL,
            "GEMINI_API_KEY": "dummy",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }

    def add_hooks(self, place: Place) -> None:
        hooks = {
            event: [
                {
                    "hooks": [
                        {
                            "type": "command",
                            "command": hook_command(place, self.name, moment),
                            "timeout": HOOK_TIMEOUT_MS,
                        }
                    ]
                }
            ]
            for event, moment in MOMENTS.items()
        }
        merge_json(place.project / ".gemini" / "settings.json", {"hooks": hooks})

    def add_mcp(self, place: Place, server: str, command: Sequence[str]) -> None:
        known = {server: {"command": command[0], "args": list(command[1:])}}
        merge_json(place.project / ".gemini" / "settings.json", {"mcpServers": known})

    def write(self, path: Path, text: str) -> Move:
        return call("write_file", file_path=str(path), content=text)

    def edit(self, path: Path, old: str, new: str) -> Move:
        return call("replace", file_path=str(path), instruction="change it", old_string=old, new_string=new)

    def bash(self, command: str) -> Move:
        return call("run_shell_command", command=command, description="as the script says")

    def mcp(self, server: str, tool: str, args: Mapping[str, Any]) -> list[Move]:
        return [call(f"mcp_{server}_{tool}", **args)]
