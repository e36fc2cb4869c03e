import functools
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.hosts.install import search_path, wanted
from tests.hosts.model.script import Move, call

from .port import BASE_URL, Place, Program, hook_command, save_json

INSTALLED = wanted()  # before any test changes HOME
MOMENTS = {
    "sessionStart": "start",
    "userPromptSubmitted": "prompt",
    "preToolUse": "before",
    "postToolUse": "after",
    "postToolUseFailure": "after-failure",
    "agentStop": "stop",
    "sessionEnd": "end",
}


class Copilot(Program):
    name = "copilot"
    executable = "copilot"
    package = "@github/copilot"

    def settle(self, place: Place) -> None:
        """Without trust in the folder its hooks are passed over in silence, even where every tool is allowed."""
        save_json(place.home / ".copilot" / "config.json", {"trustedFolders": [str(place.project)]})
        (place.home / ".cache" / "copilot").mkdir(parents=True)
        (place.home / ".cache" / "copilot" / "pkg").symlink_to(unpacked())

    def command(self, prompt: str) -> list[str]:
        return ["copilot", "--allow-all-tools", "--no-auto-update", "--prompt", prompt]

    def environment(self) -> dict[str, str]:
        return {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{BASE_URL}/v1",
            "COPILOT_PROVIDER_API_KEY": "dummy",
            "COPILOT_MODEL": "scripted",
        }

    def add_hooks(self, place: Place) -> None:
        hooks = {
            event: [{"type": "command", "bash": hook_command(place, self.name, moment), "timeoutSec": 10}]
            for event, moment in MOMENTS.items()
        }
        save_json(place.project / ".github" / "hooks" / "rig.json", {"version": 1, "hooks": hooks})

    def add_mcp(self, place: Place, server: str, command: Sequence[str]) -> None:
        known = {"type": "local", "command": command[0], "args": list(command[1:]), "tools": ["*"]}
        save_json(place.home / ".copilot" / "mcp-config.json", {"mcpServers": {server: known}})

    def write(self, path: Path, text: str) -> Move:
        return call("create", path=str(path), file_text=text)

    def edit(self, path: Path, old: str, new: str) -> Move:
        return call("edit", path=str(path), old_str=old, new_str=new)

    def bash(self, command: str) -> Move:
        return call("bash", command=command, description="as the script says")

    def mcp(self, server: str, tool: str, args: Mapping[str, Any]) -> list[Move]:
        return [call(f"{server}-{tool}", **args)]


@functools.cache
def unpacked() -> Path:
    """What the program unpacks into a home at its first start, 240 MB: once for all homes of these tests."""
    shared = INSTALLED.with_name(f"{INSTALLED.name}.copilot")
    if not shared.exists():
        with tempfile.TemporaryDirectory(dir=shared.parent) as home:
            environ = {"HOME": home, "PATH": search_path(INSTALLED), "COPILOT_OFFLINE": "true"}
            subprocess.run(
                ["copilot", "--version"], env=environ, cwd=home, check=True, capture_output=True, timeout=120
            )
            with suppress(OSError):  # another was quicker
                os.rename(Path(home, ".cache", "copilot", "pkg"), shared)
    return shared
