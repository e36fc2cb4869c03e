"""What the model will do: a list of moves, written by a test and read by the server.

A move is a JSON object, because it travels to the server's process:

    {"say": TEXT}                       the model's turn ends
    {"call": TOOL, "args": {...}}       it asks for a tool; "namespace" says where, on a wire that has those
    {"call": TOOL, "text": TEXT}        it asks for a tool that takes free text instead of JSON
    {"expect": TEXT}                    before the next move: by then the program must have told the model this
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

OVER = "(the script is over)"
Move = dict[str, Any]


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


def say(text: str) -> Move:
    return {"say": text}


def call(name: str, /, **args: Any) -> Move:
    return {"call": name, "args": args}


def call_with_text(name: str, text: str) -> Move:
    return {"call": name, "text": text}


def expect(text: str) -> Move:
    return {"expect": text}


def next_move(moves: Sequence[Move], asked: Asked) -> Answer:
    if not asked.tools:
        return Answer(say("ok"))
    turns = 0
    wanted: list[str] = []
    for move in moves:
        if "expect" in move:
            wanted.append(move["expect"])
        elif turns == asked.turns:
            return checked(move, wanted, asked)
        else:
            turns += 1
            wanted = []
    return Answer(say(OVER), over=True)


def checked(move: Move, wanted: list[str], asked: Asked) -> Answer:
    """The move, or the end of the turn where the program has not sent what the script waits for."""
    sent = "\n".join(asked.results + asked.texts)
    missing = next((text for text in wanted if text not in sent), "")
    return Answer(say(f"I was not told: {missing}"), unmet=missing) if missing else Answer(move)
