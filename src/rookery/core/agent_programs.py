"""Which processes are agent programs that Rookery knows, told by their name and command line.

The name proves nothing about an agent's identity. It tells that the caller is not the user: whatever runs below such a
program was started by it.
"""

import os.path
from collections.abc import Sequence

NAMES = ("claude", "codex", "gemini", "opencode", "copilot", "pi")
INTERPRETERS = ("node", "bun", "deno", "python", "python3")
# Their npm packages: a script there may be called `cli.js`.
PACKAGES = {
    "@anthropic-ai/claude-code": "claude",
    "@openai/codex": "codex",
    "@google/gemini-cli": "gemini",
    "opencode-ai": "opencode",
    "@github/copilot": "copilot",
    "@earendil-works/pi-coding-agent": "pi",
    "@mariozechner/pi-coding-agent": "pi",
}


def recognize(name: str, argv: Sequence[str]) -> str:
    """The program that a process is, by its name and what it was started as; "" for any other."""
    first = os.path.basename(argv[0]) if argv else ""
    words = [name, first]
    if first in INTERPRETERS or name in INTERPRETERS:
        script = next((word for word in argv[1:] if word[:1] != "-"), "")
        words.append(os.path.splitext(os.path.basename(script))[0])
        words += [program for package, program in PACKAGES.items() if f"/node_modules/{package}/" in script]
    return next((word for word in words if word in NAMES), "")
