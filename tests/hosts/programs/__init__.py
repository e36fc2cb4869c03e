"""The agent programs: how each is started, shown its model, given hooks and an MCP server, and asked for a tool.

One small module per program and one class in it; `ALL` names them. Nothing here decides anything: a test speaks of
"write this file" and "deny that one", and the program's class says it in the program's own files and tool names. What a
program was seen to do and not to do stands in docs/hosts.md.
"""

from .claude import Claude
from .codex import Codex, CodexInCode
from .copilot import Copilot
from .gemini import Gemini
from .opencode import OpenCode
from .pi import Pi
from .port import Program

ALL: dict[str, Program] = {
    program.name: program for program in (Claude(), Codex(), CodexInCode(), Gemini(), OpenCode(), Copilot(), Pi())
}

__all__ = ["ALL", "Program"]
