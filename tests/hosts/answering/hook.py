"""The rig's own hook: `hook.py PROGRAM MOMENT FOLDER`, the event as JSON on standard input.

It writes down what it was given and answers by FOLDER/rules.json:

    greeting   said when a session starts
    deny       {"path", "reason"}: a tool whose input names the path is refused
    context    added after a tool call
    hold       said once at the end of a turn, which then goes on

It stands for nothing of Rookery. It is the smallest thing that asks each program the questions the real hook will ask.
"""

import json
import sys
from pathlib import Path
from typing import Any

# What each program calls the event, for those that want it back.
EVENTS = {
    "claude": {"start": "SessionStart", "before": "PreToolUse", "after": "PostToolUse"},
    "codex": {"start": "SessionStart", "before": "PreToolUse", "after": "PostToolUse"},
    "gemini": {"start": "SessionStart", "after": "AfterTool"},
}


def main(program: str, moment: str, folder: Path) -> None:
    given = json.load(sys.stdin)
    with (folder / "hooks.jsonl").open("a") as log:
        log.write(json.dumps({"moment": moment, "given": given}) + "\n")
    rules = json.loads((folder / "rules.json").read_text())
    said = answer(rules, program, moment, json.dumps(given), folder)
    if said:
        print(json.dumps(said))


def answer(rules: dict[str, Any], program: str, moment: str, given: str, folder: Path) -> dict[str, Any] | None:
    if moment == "start" and rules["greeting"]:
        return adding(program, moment, rules["greeting"])
    if moment == "before" and rules["deny"] and rules["deny"]["path"] in given:
        return denying(program, rules["deny"]["reason"])
    if moment == "after" and rules["context"]:
        return adding(program, moment, rules["context"])
    if moment == "stop" and rules["hold"] and first_time(folder / "held"):
        return {"decision": "deny" if program == "gemini" else "block", "reason": rules["hold"]}
    return None


def adding(program: str, moment: str, text: str) -> dict[str, Any]:
    if program == "copilot":
        return {"additionalContext": text}
    return {"hookSpecificOutput": {"hookEventName": EVENTS[program][moment], "additionalContext": text}}


def denying(program: str, reason: str) -> dict[str, Any]:
    if program == "gemini":
        return {"decision": "deny", "reason": reason}
    decision = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    return decision if program == "copilot" else {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}


def first_time(mark: Path) -> bool:
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
