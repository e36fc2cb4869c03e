"""Dead letters, ways to agents and tests of them, for people."""

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rookery.core.text import one_line

from .showing import clock, new_table, say, short, time_of

STATE = {"dead": "bold red", "resent": "cyan", "dropped": "dim", "reached": "green"}
CIRCUIT = {
    "closed": ("ready", "green"),
    "open": ("resting after failures", "bold red"),
    "half-open": ("tried once", "yellow"),
}
STAGE = {
    "accepted": "",
    "handed-over": "cyan",
    "announced": "cyan",
    "seen": "green",
    "acknowledged": "green",
    "dead": "red",
}


def ways(rows: list[dict[str, Any]]) -> RenderableType:
    """How an agent can be woken, best first."""
    if not rows:
        return Text("no way to wake it: it sees mail when it looks", "yellow")
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for row in rows:
        word, colour = CIRCUIT[row["circuit"]] if row["works"] else ("not from here", "dim")
        failed = f"{row['reason']} {one_line(row['detail'], 60)}".strip() if row["reason"] else ""
        table.add_row(Text(row["channel"], "bold"), row["how"], Text(word, colour), Text(failed, "dim"))
    return table


def woken(result: dict[str, Any]) -> RenderableType:
    waits = f"{result['waiting']} waiting" if result["waiting"] else "nothing waits for it"
    parts: list[RenderableType] = [say((result["name"], "bold cyan"), f": {waits}."), ways(result["ways"])]
    if result["waiting"] and result["ways"] and not result["kept"]:
        parts.append(Text("No daemon delivers here: `rook up --detach` starts one.", "yellow"))
    return Group(*parts)


def tested(result: dict[str, Any]) -> RenderableType:
    table = new_table("step", "after", "how")
    for step in result["steps"]:
        stage = Text(step["stage"], STAGE.get(step["stage"], ""))
        table.add_row(stage, f"{step['after_ms']} ms", one_line(f"{step['channel']} {step['detail']}", 60))
    last = say(("It was woken.", "bold green")) if result["woken"] else say(("It was not woken in time.", "bold red"))
    return Group(say((result["id"], "bold"), f" to {result['name']}: {result['how']}"), table, last)


def letters(result: dict[str, Any]) -> RenderableType:
    if not result["letters"]:
        return say("No dead letters. ", ("What waits, and for whom: `rook health`.", "dim"))
    table = new_table("id", "to", "from", "subject", "why", "tries", "when", "state")
    for row in result["letters"]:
        table.add_row(
            row["id"], row["to"], row["from"], one_line(row["subject"], 60), row["reason"], str(row["attempts"]),
            short(row["at"]), Text(row["state"], STATE[row["state"]]),
        )  # fmt: skip
    hint = (
        "`rook dead show ID` tells what was tried, `rook dead resend ID` tries again, `rook dead drop ID` lets it be."
    )
    return Group(table, Text(hint, "dim"))


def letter(result: dict[str, Any]) -> RenderableType:
    parts: list[RenderableType] = [
        say((result["id"], "bold"), f" from {result['from']}: {one_line(result['subject'], 80)}")
    ]
    for row in result["letters"]:
        parts.append(
            say("\nto ", (row["to"], "bold cyan"), ": ", (row["state"], STATE[row["state"]]), f", {row['reason']}")
        )
        table = new_table("when", "way", "what happened")
        for tried in row["tried"]:
            table.add_row(time_of(tried["at"]), tried["channel"], one_line(f"{tried['reason']} {tried['detail']}", 100))
        parts.append(table)
        parts.append(Text(f"given up {clock(row['at'])}", "dim"))
    return Group(*parts)


def resent(result: dict[str, Any]) -> RenderableType:
    return say((result["id"], "bold"), f" is tried again for {', '.join(result['resent'])}.")


def dropped(result: dict[str, Any]) -> RenderableType:
    return say((result["id"], "bold"), f" waits in the mailbox of {', '.join(result['dropped'])}; nobody is woken.")


SHOWS = {"dead": letters, "dead.show": letter, "dead.resend": resent, "dead.drop": dropped, "wake": woken,
         "wake.test": tested}  # fmt: skip
