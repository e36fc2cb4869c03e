"""The rig's own MCP server: one tool, `knock`, over JSON-RPC lines on standard input and output.

`mcp_server.py FOLDER` writes down its environment and every line it is sent, so that a test knows what a program gives
its servers and which protocol it speaks.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

KNOCK = {
    "name": "knock",
    "description": "Knock at the door and hear who is there.",
    "inputSchema": {"type": "object", "properties": {"times": {"type": "integer"}}, "required": ["times"]},
}


def main(folder: Path) -> None:
    (folder / "mcp-environ.json").write_text(json.dumps(dict(os.environ)))
    for line in sys.stdin:
        message = json.loads(line)
        with (folder / "mcp.jsonl").open("a") as log:
            log.write(line)
        if "id" in message:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply(message)}), flush=True)


def reply(message: dict[str, Any]) -> dict[str, Any]:
    match message.get("method"):
        case "initialize":
            return {"result": welcome(message["params"]["protocolVersion"])}
        case "ping":
            return {"result": {}}
        case "tools/list":
            return {"result": {"tools": [KNOCK]}}
        case "tools/call":
            times = message["params"]["arguments"]["times"]
            return {"result": {"content": [{"type": "text", "text": f"knocked {times} times, a rook answered"}]}}
        case method:
            return {"error": {"code": -32601, "message": f"no method {method}"}}


def welcome(version: str) -> dict[str, Any]:
    server = {"name": "rig", "version": "1"}
    return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
