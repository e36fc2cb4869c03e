"""Which command was meant, and how its result or its refusal is told."""

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rookery import door
from rookery.core import errors, names
from rookery.core.record import NamedTuple
from rookery.service import verbs

from .call import Call, Desk, Extra, Later, Options, Reply

if TYPE_CHECKING:
    from .parser import Parser

Act = Callable[[Desk, dict[str, Any]], Reply]


class Command(NamedTuple):
    name: str
    group: str
    act: str = ""  # a function of this door, where a command is more than one call
    help: str = ""  # for commands without a verb
    extras: tuple[Extra, ...] = ()  # arguments besides the verb's
    optional: tuple[str, ...] = ()  # arguments of the verb that may be left out here
    verb: str = ""  # where it is not the command's own words


FOLLOW = Extra(("-f", "--follow"), "go on as things happen")
WATCH = Extra(("--watch",), "show it again whenever something happens, and every other second, until interrupted")
SPEC = Extra(("--spec",), "ID is an item of this document, which has its own list", metavar="FILE")
TREE = (
    Extra(("what",), "mailboxes: a folder per agent, a JSON file per message", choices=("mailboxes",)),
    Extra(("folder",), "the folder", metavar="DIR"),
)

WORKSPACE = Extra(("--workspace-root",), "keep store and runtime.json in DIR/TEAM instead of the home", metavar="DIR")

TTL = Extra(("--ttl",), "how long it lasts if nothing is heard of you: seconds, or 10m", metavar="SPAN")
WAIT = Extra(("--wait",), "stand in line for so long where others hold it: seconds, or 5m", metavar="S")
COMMAND = Extra(("command",), "run this while holding it; its exit code is ours", metavar="COMMAND...", rest=True)

COMMANDS = (
    Command("up", "start", "daemon.up", "Keep a daemon running: HTTP, and looking after what expired", (
        Extra(("--detach",), "in the background"),
        Extra(("--port",), "where to listen; 0 takes any free port", metavar="N"),
        WORKSPACE,
        Extra(("--token",), "the bearer token; a new one when left out. Other users see it in the list of processes",
              metavar="TOKEN"),
        Extra(("--token-file",), "the same from a file, or from standard input: -", metavar="FILE"),
    )),
    Command("down", "start", "daemon.down", "Stop the daemon, and the workers it started", (
        WORKSPACE, Extra(("--keep-workers",), "leave the workers running; the next daemon goes on with them"),
    )),
    Command("mcp", "start", "special.serve_mcp", "Serve a model's tools on standard input and output (MCP)"),
    Command("demo", "start", "demo.run", "Watch a crew work off a plan, on a repository of its own", (
        Extra(("--keep",), "keep the demo's folder to look around in"),
        Extra(("--interactive",), "answer the crew's question yourself"),
    )),
    Command("hook", "start", "special_hook.answered", "Answer a hook of an agent program, its event on stdin", (
        Extra(("host",), "the agent program: claude, codex, gemini, opencode, copilot, pi, or one of your own"),
        Extra(("moment",), "start, prompt, before, after, stop, rest, blocked or end, where the event does not say; "
              "idle: stay until there is mail to wake the program with", may_lack=True),
        Extra(("--closed",), "refuse the tool when no answer can be had in time; otherwise it runs"),
    )),
    Command("init", "start", "special_init.run", "Have the agent programs of this repository ask Rookery", (
        Extra(("--host",), "only this agent program (claude, codex, gemini, opencode, copilot, pi), or all of them; "
              "otherwise those that are found", metavar="NAME", repeats=True),
        Extra(("--closed",), "a tool is refused when its hook gets no answer; otherwise it runs"),
        Extra(("--http",), "Claude Code asks the daemon, with ROOK_TOKEN; where no daemon is up, its tools run"),
        Extra(("--git-hook",), "have git refuse commits that touch what another agent holds"),
        Extra(("--undo",), "bring back what was there before"),
        Extra(("--dry-run",), "only show what would be changed"),
        Extra(("--yes",), "do not ask"),
    )),
    Command("trust", "start", "special_trust.run", "Show what this repository asks for, and accept it", (
        Extra(("--show",), "only show it"),
        Extra(("--yes",), "accept it without asking"),
        Extra(("--revoke",), "take back everything that was accepted of this repository"),
    )),
    Command("doctor", "start", "special.doctor", "Check this machine, the home and the store"),
    Command("config", "start", "special.show_config", "Every setting, its value and where it came from",
            (Extra(("name",), "only this setting, or those under it", metavar="NAME", may_lack=True),)),
    Command("config set", "start"),
    Command("join", "mesh", "special.join",
            extras=(Extra(("--auto",), "only where mesh.auto_join says so; silent otherwise"),)),
    Command("leave", "mesh"),
    Command("who", "mesh", "special_health.who", extras=(
        Extra(("--tree",), "by group, with what each is at and what it takes"), WATCH,
    )),
    Command("whois", "mesh"),
    Command("rename", "mesh"),
    Command("status", "mesh"),
    Command("feed", "mesh", "special.feed", extras=(FOLLOW,)),
    Command("send", "mail"),
    Command("inbox", "mail"),
    Command("read", "mail"),
    Command("ack", "mail"),
    Command("reply", "mail"),
    Command("thread", "mail"),
    Command("thread new", "mail"),
    Command("thread post", "mail"),
    Command("thread list", "mail"),
    Command("thread tail", "mail"),
    Command("thread search", "mail"),
    Command("thread link", "mail"),
    Command("broadcast", "mail"),
    Command("handoff", "mail"),
    Command("escalate", "mail", "special.escalate", optional=("title",),
            extras=(Extra(("--list",), "show the escalations instead, open ones first"),)),
    Command("search", "mail"),
    Command("archive", "mail"),
    Command("wait", "mail", "special.wait", "Block until unread mail is there, then show it", (
        Extra(("--timeout",), "give up after so long (exit 1): seconds, or 5m", metavar="S"),
        Extra(("-p", "--priority"), "only for this priority or higher", metavar="PRIORITY"),
        Extra(("--from",), "only for mail from this agent", metavar="NAME"),
    )),
    Command("receipts", "mail"),
    Command("wake", "mail", "special_delivery.wake", extras=(
        Extra(("--test",), "send a message and follow it until the agent has it"),
        Extra(("--timeout",), "how long to follow it: seconds, or 5m (default 60)", metavar="S"),
    )),
    Command("dead", "mail"),
    Command("dead list", "mail", verb="dead"),
    Command("dead show", "mail"),
    Command("dead resend", "mail"),
    Command("dead drop", "mail"),
    Command("lenses", "mail"),
    Command("maildrop", "mail", "special_maildrop.run", "Take in messages that were written as files", (
        Extra(("--follow",), "go on as files arrive, where no daemon does"),
        Extra(("--folder",), "this folder instead of the workspace's own", metavar="DIR", repeats=True),
    )),
    Command("team show", "tasks"),
    Command("team set", "tasks", "special_team.define", extras=(
        Extra(("--file",), "a team.json; options are written over it", metavar="FILE"),
        Extra(("--strict",), "only what a lease of yours covers may be written"),
        Extra(("--advisory",), "the guard advises and does not refuse"),
    )),
    Command("task add", "tasks"),
    Command("task list", "tasks"),
    Command("task show", "tasks"),
    Command("task claim", "tasks", "special_tasks.claim", extras=(SPEC,)),
    Command("task renew", "tasks"),
    Command("task release", "tasks", "special_tasks.release", extras=(SPEC,)),
    Command("task assign", "tasks"),
    Command("task progress", "tasks"),
    Command("task done", "tasks", "special_tasks.done", extras=(SPEC,)),
    Command("task fail", "tasks"),
    Command("task block", "tasks"),
    Command("task unblock", "tasks"),
    Command("task cancel", "tasks"),
    Command("task reset", "tasks"),
    Command("task revise", "tasks"),
    Command("task split", "tasks"),
    Command("task delete", "tasks"),
    Command("task review", "tasks"),
    Command("task claims", "tasks"),
    Command("plan new", "tasks"),
    Command("plan import", "tasks", "special_tasks.import_plan", "Make a plan of a checklist, JSON or YAML file", (
        Extra(("file",), "the file", metavar="FILE"),
        Extra(("--goal",), "the goal; default: the first heading, or the file's own", metavar="GOAL"),
        Extra(("--advisory",), "dependencies advise, they do not bind"),
        Extra(("--review",), "every task is reviewed before its dependents start"),
    )),
    Command("plan list", "tasks"),
    Command("plan show", "tasks"),
    Command("plan graph", "tasks", "special_tasks.graph"),
    Command("plan cancel", "tasks"),
    Command("reserve", "guard", "special_guard.reserve", extras=(TTL, WAIT)),
    Command("release", "guard"),
    Command("transfer", "guard"),
    Command("reservations", "guard"),
    Command("can-write", "guard", "special.can_write"),
    Command("can-commit", "guard", "special_init.can_commit",
            "May these files be committed? Their names on stdin, with NUL between them; for a git hook"),
    Command("slot take", "guard", "special_guard.slot_take", extras=(TTL, WAIT, COMMAND)),
    Command("slot give", "guard"),
    Command("slot list", "guard"),
    Command("slot set", "guard"),
    Command("spawn", "workers", "special_workers.spawn"),
    Command("workers", "workers", "special_workers.listed", extras=(WATCH,)),
    Command("worker show", "workers"),
    Command("tell", "workers"),
    Command("stop", "workers"),
    Command("respawn", "workers"),
    Command("delete", "workers"),
    Command("peek", "workers", "special_workers.peek", "The last lines of what a worker shows, or showed", (
        Extra(("id",), "the worker, as w1 or by its name", metavar="ID"),
        Extra(("-n", "--lines"), "how many lines (default 40)", metavar="N"),
    )),
    Command("attach", "workers", "special_workers.attach", "A worker's terminal in this one; its program goes on", (
        Extra(("id",), "the worker, as w1 or by its name", metavar="ID"),
    )),
    Command("crew run", "workers", "special_crews.run", extras=(
        Extra(("--detach",), "do not show it as it goes"),
    )),
    Command("crew status", "workers", "special_crews.status", extras=(WATCH,)),
    Command("crew list", "workers"),
    Command("crew scale", "workers"),
    Command("crew stop", "workers"),
    Command("kinds", "workers"),
    Command("kinds show", "workers", verb="kind.show"),
    Command("kinds add", "workers", "special_kinds.add", verb="kind.add",
            extras=(Extra(("file",), "the Markdown; - reads it from standard input", metavar="FILE"),)),
    Command("kinds drop", "workers", verb="kind.drop"),
    Command("progress", "workers", "reporting.progress"),
    Command("ask", "workers", "reporting.ask", extras=(
        Extra(("--wait",), "stay until it is answered, at most so long: seconds, or 10m", metavar="S"),
    )),
    Command("done", "workers", "reporting.done"),
    Command("fail", "workers", "reporting.fail"),
    Command("questions", "workers"),
    Command("questions show", "workers", verb="question.show"),
    Command("answer", "workers"),
    Command("artifacts", "docket"),
    Command("artifacts add", "docket", "sharing.add", optional=("content",),
            extras=(Extra(("--file",), "take the content from this file", metavar="FILE"),)),
    Command("artifacts show", "docket", "sharing.show",
            extras=(Extra(("--raw",), "the content alone, as it was put"),)),
    Command("docket", "docket", "special_docket.docket", extras=(
        Extra(("subject",), "the card of this one instead: w3, w3/q1, w3/2 ...", metavar="SUBJECT", may_lack=True),
        WATCH,
    )),
    Command("docket pin", "docket"),
    Command("verdict", "docket", "special_docket.verdict", optional=("action",)),
    Command("decisions", "docket", "special_docket.decisions", extras=(
        Extra(("--summary",), "how many, by whom and how quickly, over a window"),
        Extra(("--debt",), "what was put away before anybody judged it"),
        Extra(("--export",), "all of them, as lines of JSON, the oldest first"),
    )),
    Command("deliverables", "docket"),
    Command("rule add", "docket"),
    Command("rule list", "docket"),
    Command("rule remove", "docket"),
    Command("bundle save", "docket", "special_bundles.save", extras=(
        Extra(("--yes",), "do not ask what to keep"),
    )),
    Command("bundle candidates", "docket"),
    Command("bundle list", "docket"),
    Command("bundle show", "docket"),
    Command("bundle load", "docket"),
    Command("bundle unload", "docket"),
    Command("bundle consume", "docket"),
    Command("bundle delete", "docket"),
    Command("load", "docket"),
    Command("unload", "docket"),
    Command("loaded", "docket"),
    Command("expand", "docket"),
    Command("show", "docket", "special_bundles.shown"),
    Command("pin", "docket"),
    Command("unpin", "docket"),
    Command("changes", "docket"),
    Command("changes show", "docket"),
    Command("conflicts", "docket"),
    Command("land list", "docket"),
    Command("land add", "docket"),
    Command("land retry", "docket"),
    Command("land undo", "docket"),
    Command("land drop", "docket"),
    Command("token new", "ops"),
    Command("token list", "ops"),
    Command("token revoke", "ops"),
    Command("health", "ops", "special_health.health", extras=(WATCH,)),
    Command("stats", "ops", "special_health.stats", extras=(WATCH,)),
    Command("budget", "ops"),
    Command("budget set", "ops"),
    Command("budget report", "ops", verb="usage_report"),
    Command("logs", "ops", "daemon.logs_shown", "The end of the daemon's log", (
        FOLLOW, Extra(("-n", "--lines"), "how many lines (default 100)", metavar="N"), WORKSPACE,
    )),
    Command("events", "ops", "special.events", extras=(FOLLOW,)),
    Command("export", "ops", "special.export_tree", "Write the mail as a tree of files", TREE),
    Command("export audit", "ops", "exports.export_audit", "Write the log as lines of JSON, an event each", (
        Extra(("file",), "where to (private, whole or not at all); - or nothing: standard output", "FILE",
              may_lack=True),
        Extra(("--since",), "only after this event number: the last one of the export before", metavar="SEQ"),
    )),
    Command("import", "ops", "special.import_tree", "Read a tree of mail files", TREE),
    Command("backup", "ops", "special.backup", "Copy the store while others go on writing",
            (Extra(("path",), "where to; default: backups/ in the home", metavar="FILE", may_lack=True),)),
)  # fmt: skip
BY_NAME = {command.name: command for command in COMMANDS}
GROUPS = {"start": "Start", "mesh": "The mesh", "mail": "Mail", "tasks": "Tasks and plans", "guard": "Files and slots",
          "workers": "Workers and crews", "docket": "Evidence", "ops": "Operations"}  # fmt: skip


def run(call: Call) -> Reply:
    """One command from its words to its reply. Refusals are replies too."""
    wants_json = "--json" in call.argv
    desk: Desk | None = None
    argv = call.argv
    try:
        argv, options = _leading(call.argv)
        if not argv or argv[0] in ("-h", "--help", "help"):
            return _general_help(call, argv[1:])
        if argv[0] in ("--version", "-V"):
            from rookery.version import VERSION

            return Reply(f"rook {VERSION}\n")
        desk = Desk(call, options)
        command, rest = find(argv)
        return _with_note(desk, command, _command(desk, command, rest))
    except errors.RookError as error:
        return hook_failed(call, error) if door.is_hook(call.argv) else refused(error, wants_json)
    except Exception as error:
        if not door.is_hook(call.argv):
            raise
        return hook_failed(call, error)
    finally:
        if desk is not None:
            desk.close()


QUIET = ("hook", "mcp", "trust", "config", "doctor")  # what programs read, and what tells all of it anyway


def _with_note(desk: Desk, command: Command, reply: Reply) -> Reply:
    """What the repository's file asks for and does not get is said once, on standard error."""
    if command.name in QUIET or "house" not in desk.__dict__ or not desk.house.settings.requests:
        return reply
    from . import special_trust

    return reply._replace(err=reply.err + special_trust.note(desk))


def hook_failed(call: Call, error: Exception) -> Reply:
    """To an agent program any exit code but 2 is a yes, so a hook that breaks is answered by policy."""
    from rookery.front.hook import failures

    return failures.of_command(call, call.argv, error)


def follow_up(call: Call, later: Later) -> None:
    """After the reply of a call was written."""
    desk = Desk(call._replace(cwd=later.cwd), later.options)
    try:
        desk.verb(later.verb, later.args)
    except errors.RookError:
        pass  # nobody is left to be told; what was not recorded happens again
    except Exception:
        if not door.is_hook(call.argv):
            raise  # a hook has given its answer, and a second one would be none
    finally:
        desk.close()


def find(argv: list[str]) -> tuple[Command, list[str]]:
    """The command of one word or two, and what follows it."""
    for length in (2, 1):
        words = " ".join(argv[:length])
        if len(argv) >= length and words in BY_NAME:
            return BY_NAME[words], argv[length:]
    family = [name for name in BY_NAME if name.startswith(f"{argv[0]} ")]
    if family:
        known = [name.partition(" ")[2] for name in family]
        near = names.did_you_mean(argv[1], known) if len(argv) > 1 else ""
        raise errors.BadInput(
            f"`rook {argv[0]}` takes one of: {', '.join(known)}.", near or f"`rook {family[0]} --help` tells more.",
            code="USAGE",
        )  # fmt: skip
    hint = names.did_you_mean(argv[0], BY_NAME) or "`rook --help` lists the commands."
    raise errors.BadInput(f"There is no command {argv[0]!r}.", hint, code="USAGE")


def _leading(argv: list[str]) -> tuple[list[str], Options]:
    """Shared options may stand before the command: `rook --team x inbox`."""
    rest, options = list(argv), Options()
    while rest and rest[0] in ("--team", "--as", "--json"):
        flag = rest.pop(0)
        if flag == "--json":
            options = options._replace(json=True)
            continue
        if not rest:
            raise errors.BadInput(f"{flag} needs a value.", "rook --help", code="USAGE")
        options = options._replace(**{"team" if flag == "--team" else "agent": rest.pop(0)})
    return rest, options


def verb_of(command: Command) -> str:
    return command.verb or command.name.replace(" ", ".")


def parser_of(command: Command, width: int) -> "Parser":
    from . import parser as parsing  # argparse: not for those who can do without

    verb = verbs.VERBS.get(verb_of(command))
    parser = parsing.Parser(command.name, command.help or (verb.help if verb else ""), width)
    if verb is not None:
        parser.add_verb(verb, command.optional)
    for extra in command.extras:
        parser.add_extra(extra)
    return parser


def _command(desk: Desk, command: Command, argv: list[str]) -> Reply:
    read = _plain(command, argv)
    if read is None:
        parser = parser_of(command, desk.call.width)
        read = parser.read(argv)
        if read is None:
            return Reply(parser.format_help())
    before = desk.options
    desk.options = Options(
        read.pop("in_team") or before.team, read.pop("as_agent") or before.agent, read.pop("as_json") or before.json
    )
    if not command.act:
        return answer(desk, verb_of(command), call_verb(desk, verb_of(command), read))
    module, _, function = command.act.partition(".")
    act: Act = getattr(import_module(f"rookery.front.cli.{module}"), function)
    return act(desk, read)


def _plain(command: Command, argv: list[str]) -> dict[str, Any] | None:
    """The arguments of a command without a verb, where they are words and switches and nothing is wrong with them; a
    hook has no time for more. None: whoever can tell what is wrong reads them."""
    if verb_of(command) in verbs.VERBS or any(each.metavar or each.rest for each in command.extras):
        return None
    switches = {each.names[-1]: each.names[-1].strip("-") for each in command.extras if each.names[-1][0] == "-"}
    places = [each for each in command.extras if each.names[-1] not in switches]
    words = [word for word in argv if word not in switches]
    needed = sum(not each.may_lack for each in places)
    if any(word[:1] == "-" for word in words) or not needed <= len(words) <= len(places):
        return None
    if any(each.choices and word not in each.choices for each, word in zip(places, words, strict=False)):
        return None
    read: dict[str, Any] = {each.names[0]: None for each in places}
    read |= {each.names[0]: word for each, word in zip(places, words, strict=False)}
    read |= {name.replace("-", "_"): flag in argv for flag, name in switches.items()}
    return read | {"in_team": None, "as_agent": None, "as_json": False}


def call_verb(desk: Desk, name: str, read: Mapping[str, Any]) -> Any:
    return desk.verb(name, typed(desk, name, read))


def typed(desk: Desk, name: str, read: Mapping[str, Any]) -> dict[str, Any]:
    """What was typed, as the verb wants it."""
    from . import parser as parsing

    return parsing.arguments(verbs.VERBS[name], read, desk.call, desk.house.clock.wall_ms())


def answer(desk: Desk, shown_as: str, result: Any, code: int = 0) -> Reply:
    """The result, as a document for programs or as text for people."""
    if desk.options.json:
        return Reply(document(result), code=code)
    from . import show

    return Reply(show.text(shown_as, result, desk.call.width, terminal=desk.call.terminal), code=code)


def document(result: Any) -> str:
    return json.dumps(result) + "\n"


def refused(error: errors.RookError, wants_json: bool) -> Reply:
    from rookery.core.text import plain  # what a refusal repeats may come from a file name or an argument

    told = plain(f"rook: {error.message}\n" + (f"      {error.hint}\n" if error.hint else ""))
    return Reply(document(error.as_dict()) if wants_json else "", told, error.exit_code)


def _general_help(call: Call, words: list[str]) -> Reply:
    if words:
        command, _ = find(words)
        return run(call._replace(argv=[*command.name.split(), "--help"]))
    from . import show

    rows = [(GROUPS[c.group], c.name, c.help or verbs.VERBS[verb_of(c)].help) for c in COMMANDS]
    return Reply(show.help_page(rows, call.width, terminal=call.terminal))
