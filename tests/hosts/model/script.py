"""What the model will do: a list of moves, written by a test and read by the server.

A move is a JSON object, because it travels to the server's process:

    {"say": TEXT}                       the model's turn ends
    {"call": TOOL, "args": {...}}       it asks for a tool; "namespace" says where, on a wire that has those
    {"call": TOOL, "text": TEXT}        it asks for a tool that takes free text instead of JSON
    {"expect": TEXT}                    before the next move: by then the program must have told the model this
    {"meanwhile": COMMAND, "env", "cwd"}   before the next move: while the model thinks, this is run to its end, once

Where several programs talk to one model, each part is a list of its own under the words that only its conversation
holds (`Parts`): {"You are BrightWren": [...], "You are SwiftRaven": [...]}.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

OVER = "(the script is over)"
Move = dict[str, Any]
Parts = Mapping[str, Sequence[Move]]


class Asked(NamedTuple):
    """A request without its wire."""

    turns: int
    """How many of the model's own turns the program sent back."""
    tools: list[str]
    results: list[str]
    """What the tools answered, oldest first."""
    texts: list[str]
    """Everything else the program said: the system's words and the user's."""


class Answer(NamedTuple):
    move: Move
    unmet: str = ""
    over: bool = False
    meanwhile: Sequence[Move] = ()


def say(text: str) -> Move:
    return {"say": text}


def call(name: str, /, **args: Any) -> Move:
    return {"call": name, "args": args}


def call_with_text(name: str, text: str) -> Move:
    return {"call": name, "text": text}


def expect(text: str) -> Move:
    return {"expect": text}


def meanwhile(command: Sequence[str], env: Mapping[str, str], cwd: str) -> Move:
    return {"meanwhile": list(command), "env": dict(env), "cwd": cwd}


def part(script: Sequence[Move] | Parts, asked: Asked) -> tuple[str, Sequence[Move]]:
    """Whose conversation it is, and its moves; nobody's has none."""
    if not isinstance(script, Mapping):
        return "", script
    said = "\n".join(asked.texts)
    return next(((words, moves) for words, moves in script.items() if words in said), ("", ()))


def next_move(moves: Sequence[Move], asked: Asked) -> Answer:
    if not asked.tools:
        return Answer(say("ok"))
    turns = 0
    before: list[Move] = []
    for move in moves:
        if "expect" in move or "meanwhile" in move:
            before.append(move)
        elif turns == asked.turns:
            return checked(move, before, asked)
        else:
            turns += 1
            before = []
    return Answer(say(OVER), over=True)


def checked(move: Move, before: Sequence[Move], asked: Asked) -> Answer:
    """The move, or the end of the turn where the program has not sent what the script waits for."""
    sent = "\n".join(asked.results + asked.texts)
    missing = next((each["expect"] for each in before if "expect" in each and each["expect"] not in sent), "")
    if missing:
        return Answer(say(f"I was not told: {missing}"), unmet=missing)
    return Answer(move, meanwhile=[each for each in before if "meanwhile" in each])
