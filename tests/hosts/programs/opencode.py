from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.hosts.model.script import Move, call

from .port import ANSWERING, BASE_URL, Place, Program, merge_json, save_json


class OpenCode(Program):
    name = "opencode"
    executable = "opencode"
    package = "opencode-ai"

    def settle(self, place: Place) -> None:
        models = {"scripted": {"name": "scripted", "tool_call": True, "limit": {"context": 100_000, "output": 8_000}}}
        options = {"baseURL": f"{BASE_URL}/v1", "apiKey": "dummy"}
        settings = {
            "provider": {"rig": {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}},
            "model": "rig/scripted",
            "small_model": "rig/scripted",
            "permission": {"*": "allow"},
            "autoupdate": False,
            "share": "disabled",
            "snapshot": False,
        }
        merge_json(place.project / "opencode.json", settings)
        for folder in (place.home / ".config" / "opencode", place.project / ".opencode"):
            pretend_installed(folder)

    def command(self, prompt: str) -> list[str]:
        return ["opencode", "run", prompt]

    def environment(self) -> dict[str, str]:
        return {
            "OPENCODE_DISABLE_AUTOUPDATE": "true",
            "OPENCODE_DISABLE_MODELS_FETCH": "true",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "true",
            "OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER": "true",
        }

    def add_hooks(self, place: Place) -> None:
        plugin = place.project / ".opencode" / "plugins" / "rig.js"
        plugin.parent.mkdir()
        plugin.write_text((ANSWERING / "opencode.js").read_text().replace("@FOLDER@", str(place.folder)))

    def add_mcp(self, place: Place, server: str, command: Sequence[str]) -> None:
        merge_json(place.project / "opencode.json", {"mcp": {server: {"type": "local", "command": list(command)}}})

    def write(self, path: Path, text: str) -> Move:
        return call("write", filePath=str(path), content=text)

    def edit(self, path: Path, old: str, new: str) -> Move:
        return call("edit", filePath=str(path), oldString=old, newString=new)

    def bash(self, command: str) -> Move:
        return call("bash", command=command, description="as the script says")

    def mcp(self, server: str, tool: str, args: Mapping[str, Any]) -> list[Move]:
        return [call(f"{server}_{tool}", **args)]


def pretend_installed(folder: Path) -> None:
    """OpenCode fetches its plugin library into every folder of settings, and loads no plugin before that has failed.

    The library is only types to a plugin in JavaScript, so that a lock that names it is enough.
    """
    wanted = {"dependencies": {"@opencode-ai/plugin": "*"}}
    save_json(folder / "package.json", wanted)
    save_json(folder / "package-lock.json", {"lockfileVersion": 3, "packages": {"": wanted}})
    (folder / "node_modules").mkdir()
