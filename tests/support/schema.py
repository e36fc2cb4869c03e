"""schemathesis against a running daemon: what a program knows that has read its description and nothing else."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.doors import Running

AGENTS = ("ada", "bob", "eve")
# Whether a request that keeps to the description is granted is for the rules to say, and 404 may mean any of the things
# it speaks of: neither is a fault.
LEFT_OUT = "positive_data_acceptance,ensure_resource_availability"
SETTINGS = """
[[operations]]
include-path = ["/v1/inbox", "/v1/events"]
parameters = { "query.wait" = 0 }
"""


class Found(NamedTuple):
    report: dict[str, Any]
    output: str

    @property
    def kinds(self) -> set[str]:
        return {failure["type"] for failure in self.report["failures"]}


def description(running: Running) -> dict[str, Any]:
    return running.door.get("/openapi.json").body


def run(running: Running, folder: Path, document: dict[str, Any], seconds: int, *flags: str) -> Found:
    """Ask for so many seconds; what was found. Nothing leaves the machine, and nothing is kept beside the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "openapi.json").write_text(json.dumps(document), encoding="utf-8")
    (folder / "settings.toml").write_text(SETTINGS, encoding="utf-8")
    command = [
        os.path.join(os.path.dirname(sys.executable), "st"), "--no-color", "--config-file", "settings.toml", "run",
        "openapi.json", "--url", running.door.url, "-H", f"Authorization: Bearer {running.told['token']}",
        "-H", "Accept: application/json", "--max-time", str(seconds), "--continue-on-failure", "--no-shrink",
        "--generation-database", "none", "--report", "json", "--report-json-path", "report.json", *flags,
    ]  # fmt: skip
    built = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "NO_PROXY": "*"}
    done = subprocess.run(command, cwd=folder, env=built, capture_output=True, text=True)
    output = done.stdout + done.stderr
    assert done.returncode in (0, 1), output
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return Found(report, output)


def narrowed(document: dict[str, Any]) -> dict[str, Any]:
    """Only what links lead from or to, and of that only what is needed, by a few agents of one team: so that what one
    request made the next one uses."""
    told = json.loads(json.dumps(document))
    linked = _linked(told)
    for path, operations in list(told["paths"].items()):
        told["paths"][path] = {method: each for method, each in operations.items() if each["operationId"] in linked}
        for operation in told["paths"][path].values():
            _narrow_parameters(operation)
            if "requestBody" in operation:
                _narrow_body(operation["requestBody"]["content"]["application/json"]["schema"])
    return told


def _linked(document: dict[str, Any]) -> set[str]:
    found: set[str] = set()
    for operations in document["paths"].values():
        for operation in operations.values():
            names = {link["operationId"] for answer in operation["responses"].values()
                     for link in answer.get("links", {}).values()}  # fmt: skip
            found |= names | ({operation["operationId"]} if names else set())
    return found


def _narrow_parameters(operation: dict[str, Any]) -> None:
    kept = [each for each in operation["parameters"] if each["required"] or each["name"] == "agentId"]
    operation["parameters"] = [each | _of_few(each["name"]) for each in kept]


def _of_few(name: str) -> dict[str, Any]:
    return {"required": True, "schema": {"enum": list(AGENTS)}} if name == "agentId" else {}


def _narrow_body(schema: dict[str, Any]) -> None:
    needed: Sequence[str] = schema.get("required", ())
    either = schema.pop("anyOf", [{"required": [], "properties": {}}])[0]
    properties = {name: schema["properties"][name] for name in needed} | either["properties"]
    if "agentId" in schema["properties"]:
        properties["agentId"] = {"enum": list(AGENTS)}
    schema["properties"], schema["required"] = properties, list(properties)
