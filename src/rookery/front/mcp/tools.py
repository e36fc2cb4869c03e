"""What a model may do: each tool is a verb (or two that belong together) with the arguments a model needs of it.

Types, choices and explanations come from the table of verbs; a word of its own stands here only where the command
line's would mislead. Everything a tool says costs every turn of every agent, so each of them says little.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin

from rookery.core import errors, protocol, tasks, tokens
from rookery.core.record import NamedTuple
from rookery.front.http.openapi import schema_of
from rookery.service import verbs

from . import words
from .seat import Seat

Args = Mapping[str, Any]


class Tool(NamedTuple):
    name: str
    help: str
    verb: str  # whose arguments it takes
    takes: tuple[str, ...]
    run: Callable[[Seat, dict[str, Any]], Awaitable[str]]
    needs: tuple[str, ...] = ()  # besides what the verb cannot do without
    spare: tuple[str, ...] = ()  # required by the verb, found out here when left out
    says: Mapping[str, str] = {}  # an argument explained in other words
    writes: bool = True
    other: str = ""  # the verb for those who are no workers: its arguments are taken, too


# -- how each is done --------------------------------------------------------------------------------------------


async def _join(seat: Seat, args: dict[str, Any]) -> str:
    return words.joined(await seat.join(args))


async def _who(seat: Seat, args: dict[str, Any]) -> str:
    return words.people(await seat.call("who", args))


async def _send(seat: Seat, args: dict[str, Any]) -> str:
    await seat.me()
    answered = args.pop("reply_to", "")
    if answered.startswith(protocol.QUESTION):
        return words.decided(await seat.call("answer", {"id": answered, **_decision(args)}))
    if answered:
        said = args.get("body") or args.get("subject", "")
        return words.sent(await seat.call("reply", {"id": answered, "body": said}))
    return words.sent(await seat.call("send", args))


def _decision(args: dict[str, Any]) -> dict[str, Any]:
    """An answer as a model writes it: a number chooses, `approve` and `reject: why` decide about a plan."""
    said = (args.get("body") or args.get("subject", "")).strip()
    word, _, rest = said.partition(":")
    if said.isdecimal() and len(said) == 1:
        return {"option": int(said)}
    if word.strip().lower() in ("approve", "reject"):
        return {word.strip().lower(): True, "said": rest.strip()}
    return {"said": said}


async def _inbox(seat: Seat, args: dict[str, Any]) -> str:
    await seat.me()
    if id := args.pop("id", ""):
        return words.letter(await seat.call("read", {"id": id}))
    return words.letters(await seat.call("inbox", {"limit": words.SHOWN.full, **args}))


async def _ack(seat: Seat, args: dict[str, Any]) -> str:
    await seat.me()
    return words.acked(await seat.call("ack", args))


async def _tasks(seat: Seat, args: dict[str, Any]) -> str:
    if id := args.pop("id", ""):
        return words.task(await seat.call("task.show", {"id": id}))
    return words.board(await seat.call("task.list", {"limit": words.LISTED, **args}))


async def _claim(seat: Seat, args: dict[str, Any]) -> str:
    await seat.me()
    return words.claimed(await seat.call("task.claim", args if args.get("id") else {**args, "next": True}))


async def _progress(seat: Seat, args: dict[str, Any]) -> str:
    steps = args.pop("steps", None)
    if await _is_report(seat, args):
        told = {"note": args.get("said", ""), "run": seat.run} | ({} if steps is None else {"steps": steps})
        return words.progress(await seat.call("progress", told))
    said = "; ".join([*(steps or ()), *filter(None, [args.get("said")])])
    return words.noted(await seat.call("task.progress", {**await _of_my_task(seat, args), "said": said}))


async def _done(seat: Seat, args: dict[str, Any]) -> str:
    """A reviewer's report is its verdict. A program that lets it write nothing has no shell to give it in."""
    worker = await seat.worker()
    if worker is not None and worker["role"] == "review" and args.get("outcome") in tuple(tasks.Verdict):
        verdict = {"id": worker["task"], "verdict": args["outcome"], "feedback": args["summary"]}
        return words.task_line(await seat.call("task.review", verdict))
    if await _is_report(seat, args):
        shown = [*args.pop("evidence", []), *args.pop("prs", [])]
        return words.reported(await seat.call("done", {**args, "evidence": shown, "run": seat.run}))
    for each in ("outcome", "unchanged"):
        args.pop(each, None)
    return words.task_line(await seat.call("task.done", await _of_my_task(seat, args)))


async def _fail(seat: Seat, args: dict[str, Any]) -> str:
    if await _is_report(seat, args):
        return words.reported(await seat.call("fail", {**args, "run": seat.run}))
    return words.task_line(await seat.call("task.fail", await _of_my_task(seat, args)))


async def _ask(seat: Seat, args: dict[str, Any]) -> str:
    """Of a worker: of whoever started it. Of others: of the person, and the options are part of the text."""
    await seat.me()
    title, body = args.pop("title"), args.pop("body", "")
    if await _is_report(seat, args):
        args.pop("priority", None)
        question = f"{title}\n\n{body}" if body else title
        return words.question(await seat.call("ask", {**args, "question": question, "run": seat.run}))
    options = [f"Option {at}: {each}" for at, each in enumerate(args.get("options", ()), 1)]
    advice = [f"Recommended: {args['recommendation']}"] if args.get("recommendation") else []
    told = {"title": title, "body": "\n".join(filter(None, (body, *options, *advice)))}
    how = {"priority": args["priority"]} if args.get("priority") else {}
    return words.asked(await seat.call("escalate", {"level": "person", **told, **how}))


async def _is_report(seat: Seat, args: dict[str, Any]) -> bool:
    """Does a worker speak of what it was started for? Of another task that it holds, it speaks as everyone does."""
    worker = await seat.worker()
    if worker is None or args.get("id") not in (None, worker["task"]):
        return False
    args.pop("id", None)
    return True


async def _spawn(seat: Seat, args: dict[str, Any]) -> str:
    await seat.me()
    return words.spawned(await seat.call("spawn", args))


async def _reserve(seat: Seat, args: dict[str, Any]) -> str:
    await seat.me()
    return words.reserved(await seat.call("reserve", args))


async def _release(seat: Seat, args: dict[str, Any]) -> str:
    await seat.me()
    return words.released(await seat.call("release", args))


async def _of_my_task(seat: Seat, args: dict[str, Any]) -> dict[str, Any]:
    """Whoever holds one task need not name it."""
    name = await seat.me()
    if args.get("id"):
        return args
    mine = await seat.call("task.list", {"mine": True, "limit": 10})
    held = [task["id"] for task in mine["tasks"]]
    if len(held) == 1:
        return {**args, "id": held[0]}
    told = f"{name} holds {', '.join(held)}." if held else f"{name} holds no task."
    raise errors.BadInput(told, "Say which: id." if held else "Call claim first.", code="WHICH_TASK")


# -- the table ---------------------------------------------------------------------------------------------------

MINE = {"id": "the task; left out: the one you hold"}
OUTCOME = "completed, findings, proposal or no_evidence; of a reviewer SHIP, NEEDS_WORK or MAJOR_RETHINK"
TABLE: tuple[Tool, ...] = (
    Tool("join", "Take a name in the team. Once, before anything else.", "join", ("name", "role", "takeover"), _join),
    Tool("who", "Who is in the team and what they do.", "who", ("all",), _who, writes=False),
    Tool("send", "Send mail to agents, or answer one with reply_to.", "send",
         ("to", "subject", "body", "priority", "reply_to"), _send, spare=("to", "subject"),
         says={"to": "names, broadcast:GROUP or any:ROLE", "body": "the message",
               "reply_to": "the mail or question it answers"}),
    Tool("inbox", "Unread mail, most urgent first; with id one mail in full, marked read.", "inbox",
         ("id", "open", "sender"), _inbox, says={"id": "one mail", "open": "also what was read but not acked"}),
    Tool("ack", "Say that mail is dealt with.", "ack", ("ids", "state", "reason"), _ack),
    Tool("tasks", "The team's tasks; with id everything about one.", "task.list",
         ("id", "status", "mine", "after"), _tasks, says={"id": "one task"}, writes=False),
    Tool("claim", "Take a task; exactly one agent holds it. Without id the best that is ready.", "task.claim",
         ("id", "plan"), _claim, says={"id": "the task", "plan": "only of this plan"}),
    Tool("progress", "Show how far you are: your steps, and a note.", "progress", ("id", "steps", "said"), _progress,
         other="task.progress", spare=("id", "said"), says=MINE | {"steps": "all of them, as `doing: the parser`"}),
    Tool("done", "Complete your task. A worker says the outcome; evidence must be there.", "done",
         ("id", "outcome", "summary", "commits", "tests", "prs", "evidence", "unchanged"), _done, other="task.done",
         needs=("summary",), spare=("id",), says=MINE | {"outcome": OUTCOME}),
    Tool("ask", "Ask whoever decides: a worker its parent, others the person. The answer comes by mail.", "ask",
         ("title", "body", "priority", "risk", "options", "recommendation", "plan"), _ask, other="escalate",
         needs=("title",), says={"title": "the question, one line", "body": "what was tried, what is needed"}),
    Tool("fail", "Give up your task and say why.", "fail", ("id", "reason"), _fail, other="task.fail",
         needs=("reason",), spare=("id",), says=MINE),
    Tool("reserve", "Keep files for yourself before you edit them: all of them or none.", "reserve",
         ("paths", "shared", "reason"), _reserve, says={"reason": "what for"}),
    Tool("release", "Give reserved paths back.", "release", ("paths", "all"), _release,
         says={"all": "everything you reserved"}),
    Tool("spawn", "Start a worker for a part that stands alone; it reports to you.", "spawn",
         ("assignment", "kind", "host"), _spawn, needs=("assignment",), says={"kind": "as scout or implementer",
         "host": "its agent program"}),
)  # fmt: skip
BY_NAME = {tool.name: tool for tool in TABLE}


# -- what the protocol is told -----------------------------------------------------------------------------------


@cache
def schema(name: str) -> dict[str, Any]:
    tool = BY_NAME[name]
    known = {each.name: each for verb in (tool.other, tool.verb) if verb
             for each in verbs.parameters(verbs.find(verb).load())}  # fmt: skip
    properties: dict[str, Any] = {}
    for each in tool.takes:
        parameter = known.get(each)
        shape = _shape(parameter) if parameter else {"type": "string"}
        told = tool.says.get(each) or (parameter.arg.help if parameter else "")
        properties[each] = shape | {"description": told.replace(" (repeatable)", "")}
    needed = [each for each in tool.takes if each in tool.needs or (each in known and known[each].required)]
    required = {"required": found} if (found := [each for each in needed if each not in tool.spare]) else {}
    return {"type": "object", "properties": properties, **required, "additionalProperties": False}


def _shape(parameter: verbs.Parameter) -> dict[str, Any]:
    """An argument that may be null is one that may be left out: a model needs no second way to say so."""
    kind = parameter.type
    if get_origin(kind) in (Union, UnionType):
        kind = next(each for each in get_args(kind) if each is not type(None))
    shape = {key: value for key, value in schema_of(kind).items() if key not in ("minimum", "maximum")}
    return shape | ({"enum": [str(each) for each in parameter.arg.choices]} if parameter.arg.choices else {})


def is_for(seat: Seat, tool: Tool) -> bool:
    return not (tool.writes and seat.reads_only)


async def call(seat: Seat, name: str, args: Args) -> str:
    """One tool call; a refusal is raised as an error with its hint."""
    tool = BY_NAME.get(name)
    if tool is None:
        raise errors.UnknownName(f"There is no tool {name[:40]!r}.", f"Known: {', '.join(BY_NAME)}.")
    shape = schema(name)
    given = {key: value for key, value in args.items() if value is not None}
    if unknown := [key for key in given if key not in shape["properties"]]:
        raise errors.BadInput(f"{name} takes no {unknown[0][:40]!r}.", f"It takes {', '.join(shape['properties'])}.")
    if missing := [key for key in shape.get("required", ()) if key not in given]:
        raise errors.BadInput(f"{name} needs {', '.join(missing)}.", "Give every required argument.")
    if not is_for(seat, tool):
        raise tokens.read_only()
    return await tool.run(seat, given)
