"""Boards, questions and reports of workers, for people."""

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding

from rookery.core.text import one_line, plain

from .showing import new_table, say

MARKS = {"todo": ("[ ]", "dim"), "doing": ("[>]", "cyan"), "done": ("[x]", "green")}
REPORT = {"done": "green", "failed": "bold red", "asking": "yellow"}
RISK = {"high": "bold red", "medium": "yellow", "low": "dim"}


def _progress(result: dict[str, Any]) -> RenderableType:
    lines = [say(MARKS[each["state"]], " ", each["text"]) for each in result["board"]]
    if not result["changed"]:
        lines.append(say(("As before.", "dim")))
    elif result["note"]:
        lines.append(say(("Noted.", "dim")))
    return Group(*lines or [say("The board is empty.")])


def _report(result: dict[str, Any]) -> RenderableType:
    what = f" ({result['outcome']})" if result["outcome"] else ""
    lines = [say((result["id"], "bold cyan"), " reported ", (result["report"], REPORT[result["report"]]), what, ".")]
    if result["task"]:
        judged = "; it waits for a review" if result["review"] == "pending" else ""
        lines.append(say(f"{result['task']} is {result['status']}{judged}."))
    if result.get("replayed"):
        lines.append(say(("It was reported before.", "dim")))
    return Group(*lines)


def _asked(result: dict[str, Any]) -> RenderableType:
    again = " It was asked before." if result.get("replayed") else ""
    return Group(
        say((result["id"], "bold cyan"), f" was put before {result['askedOf']}.{again}"),
        say(("The answer comes to you; `rook wait` waits for it. Do nothing that depends on it until then.", "dim")),
    )


def _question(result: dict[str, Any]) -> RenderableType:
    """What the worker wrote stands apart from what is ours."""
    risk = result["risk"]
    lines: list[RenderableType] = [
        say(
            (result["id"], "bold cyan"),
            f" {result['worker']} ({result['name']}) asks {result['askedOf']}",
            *([", risk ", (risk, RISK[risk])] if risk else []),
            f": {result['state']}",
        )
    ]
    lines.append(Padding(say(plain(result["question"])), (0, 0, 0, 2)))
    for at, option in enumerate(result["options"], 1):
        lines.append(Padding(say((f"{at}  ", "bold"), one_line(option, 300)), (0, 0, 0, 2)))
    if result["recommendation"]:
        lines.append(Padding(say(("it recommends: ", "dim"), plain(result["recommendation"])), (0, 0, 0, 2)))
    return Group(*lines, *_answer(result))


def _answer(result: dict[str, Any]) -> list[RenderableType]:
    if result["state"] == "withdrawn":
        return [say(("Withdrawn: ", "dim"), one_line(result["answer"], 200))]
    if result["state"] == "open":
        return []
    how = "" if result["approved"] is None else ("approved" if result["approved"] else "rejected")
    chosen = result["choice"]
    option = f"option {chosen}: {one_line(result['options'][chosen - 1], 300)}" if chosen else ""
    head = say((f"{result['answeredBy']} answers: ", "bold"), "; ".join(filter(None, (how, option))))
    return [head, *([Padding(say(plain(result["answer"])), (0, 0, 0, 2))] if result["answer"] else [])]


def _questions(result: dict[str, Any]) -> RenderableType:
    if not result["questions"]:
        return say("Nobody waits for an answer.")
    table = new_table("id", "worker", "of", "risk", "question")
    for each in result["questions"]:
        risk = each["risk"]
        plan = "plan: " if each["kind"] == "plan" else ""
        table.add_row(
            say((each["id"], "cyan")), say(f"{each['worker']} {each['name']}"), say(each["askedOf"]),
            say((risk, RISK.get(risk, ""))), say(f"{plan}{one_line(each['question'], 200)}"),
        )  # fmt: skip
    return table


SHOWS = {
    "progress": _progress, "done": _report, "fail": _report, "ask": _asked, "answer": _question,
    "question.show": _question, "questions": _questions,
}  # fmt: skip
