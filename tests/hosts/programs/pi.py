from pathlib import Path

from tests.hosts.model.script import Move, call

from .port import ANSWERING, BASE_URL, Place, Program, save_json


class Pi(Program):
    name = "pi"
    executable = "pi"
    package = "@earendil-works/pi-coding-agent"
    speaks_mcp = False  # versions from 1.0 do

    def settle(self, place: Place) -> None:
        rig = {"baseUrl": f"{BASE_URL}/v1", "api": "openai-completions", "apiKey": "dummy"}
        rig |= {"models": [{"id": "scripted"}]}
        save_json(place.home / ".pi" / "agent" / "models.json", {"providers": {"rig": rig}})

    def command(self, prompt: str) -> list[str]:
        return ["pi", "--approve", "--provider", "rig", "--model", "scripted", "--print", prompt]

    def environment(self) -> dict[str, str]:
        return {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}

    def add_hooks(self, place: Place) -> None:
        extension = place.project / ".pi" / "extensions" / "rig.ts"
        extension.parent.mkdir(parents=True)
        extension.write_text((ANSWERING / "pi.ts").read_text().replace("@FOLDER@", str(place.folder)))

    def write(self, path: Path, text: str) -> Move:
        return call("write", path=str(path), content=text)

    def edit(self, path: Path, old: str, new: str) -> Move:
        return call("edit", path=str(path), edits=[{"oldText": old, "newText": new}])

    def bash(self, command: str) -> Move:
        return call("bash", command=command)
