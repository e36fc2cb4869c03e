"""What a worker is started with: its brief, its words, its variables. Made from the order that `worker.begin` gives."""

from collections.abc import Mapping
from typing import Any

from rookery.core import errors, text
from rookery.core.record import NamedTuple

Order = Mapping[str, Any]
SCRIPT = "script"


class Launch(NamedTuple):
    argv: tuple[str, ...]
    stdin: str = ""
    environ: Mapping[str, str] = {}
    streams: bool = False  # what it says is lines of JSON


def wants_tree(order: Order) -> bool:
    """Whether it works in a worktree of its own: as its kind says, unless the request said otherwise."""
    said = order["extra"]
    if said.get("no_worktree"):
        return False
    return bool(said.get("worktree") or order["profile"].get("worktree", True))


def launch(order: Order, brief: str) -> Launch:
    """How its program is started; a refusal where that is not known."""
    if order["host"] != SCRIPT:
        raise errors.Refused(
            f"It is not known how {text.one_line(order['host'], 40)} is started as a worker.",
            "Host script runs a program of yours: --host script --program PATH.", code="NO_LAUNCH",
        )  # fmt: skip
    words = order["extra"].get("program") or []
    if not words:
        raise errors.BadInput("Host script runs a program of yours.", "Name it: --program PATH.", code="NO_PROGRAM")
    return Launch(tuple(map(str, words)), stdin=brief)


def brief(order: Order, tree: str) -> str:
    """The text of `task.md`."""
    words = text.plain(order["assignment"] or order["description"] or order["title"])
    lines = [f"# {order['id']}: {text.one_line(order['title'], 120) or 'an assignment'}", ""]
    lines += [f"You are {order['name']}, a worker of kind {order['kind']}; you work in {tree}.", ""]
    lines += [f"| {line}" for line in words.split("\n")]
    return "\n".join([*lines, *before(order)]) + "\n"


def before(order: Order) -> list[str]:
    """What the run before did, for the one that goes on."""
    told = order["before"]
    if not told["reason"]:
        return []
    code = f", exit code {told['exit_code']}" if told["exit_code"] is not None else ""
    lines = ["", f"An earlier run of you ended: {told['reason']}{code}. Look at what it left before you go on."]
    lines += [f"- {text.one_line(str(step), 200)}" for step in told["board"]]
    lines += [f"| {note['by']}: {text.one_line(note['note'], 300)}" for note in told["notes"]]
    last = text.plain(told["tail"]).strip().splitlines()[-20:]
    return [*lines, *(["", "Its last lines:"] if last else []), *(f"| {line}" for line in last)]
