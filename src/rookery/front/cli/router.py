"""Which command was meant, and how its result or its refusal is told."""

import json
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from rookery.core import errors, names
from rookery.service import verbs

from . import parser as parsing
from .call import Call, Desk, Options, Reply

Special = Callable[[Desk, list[str]], Reply]


class Command(NamedTuple):
    name: str
    group: str
    special: str = ""  # a function in special.py or demo.py, where a command is more than one call
    help: str = ""  # for commands without a verb


COMMANDS = (
    Command("demo", "start", "demo.run", "Watch a small crew of real processes work together"),
    Command("doctor", "start", "special.doctor", "Check this machine, the home and the store"),
    Command("config", "start", "special.show_config", "Every setting, its value and where it came from"),
    Command("join", "mesh", "special.join"),
    Command("leave", "mesh"),
    Command("who", "mesh"),
    Command("whois", "mesh"),
    Command("rename", "mesh"),
    Command("status", "mesh"),
    Command("feed", "mesh", "special.feed"),
    Command("send", "mail"),
    Command("inbox", "mail"),
    Command("read", "mail"),
    Command("ack", "mail"),
    Command("reply", "mail"),
    Command("thread", "mail"),
    Command("broadcast", "mail"),
    Command("handoff", "mail"),
    Command("escalate", "mail", "special.escalate"),
    Command("search", "mail"),
    Command("archive", "mail"),
    Command("wait", "mail", "special.wait", "Block until mail comes, then show it"),
    Command("receipts", "mail"),
    Command("health", "ops"),
    Command("stats", "ops"),
    Command("events", "ops", "special.events"),
    Command("export", "ops", "special.export_tree", "Write the mail as a tree of files"),
    Command("import", "ops", "special.import_tree", "Read a tree of mail files"),
    Command("backup", "ops", "special.backup", "Copy the store while others go on writing"),
)
BY_NAME = {command.name: command for command in COMMANDS}
GROUPS = {"start": "Start", "mesh": "The mesh", "mail": "Mail", "ops": "Operations"}


def run(call: Call) -> Reply:
    """One command from its words to its reply. Refusals are replies too."""
    wants_json = "--json" in call.argv
    desk: Desk | None = None
    try:
        argv, options = _leading(call.argv)
        if not argv or argv[0] in ("-h", "--help", "help"):
            return _general_help(call, argv[1:])
        if argv[0] in ("--version", "-V"):
            from rookery.version import VERSION

            return Reply(f"rook {VERSION}\n")
        desk = Desk(call, options)
        return _command(desk, find(argv[0]), argv[1:])
    except errors.RookError as error:
        return refused(error, wants_json)
    finally:
        if desk is not None:
            desk.close()


def find(word: str) -> Command:
    if word not in BY_NAME:
        hint = names.did_you_mean(word, BY_NAME) or "`rook --help` lists the commands."
        raise errors.BadInput(f"There is no command {word!r}.", hint, code="USAGE")
    return BY_NAME[word]


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


def _command(desk: Desk, command: Command, argv: list[str]) -> Reply:
    if command.special:
        module, _, function = command.special.partition(".")
        special: Special = getattr(import_module(f"rookery.front.cli.{module}"), function)
        return special(desk, argv)
    verb = verbs.VERBS[command.name]
    read = read_arguments(desk, parsing.for_verb(command.name, verb, desk.call.width), argv)
    if isinstance(read, Reply):
        return read
    return answer(desk, verb.name, call_verb(desk, verb, read))


def read_arguments(desk: Desk, parser: parsing.Parser, argv: list[str]) -> dict[str, Any] | Reply:
    """The command's arguments; the shared options among them go to the desk."""
    read = parser.read(argv)
    if read is None:
        return Reply(parser.format_help())
    before = desk.options
    desk.options = Options(
        read.pop("team") or before.team, read.pop("agent") or before.agent, read.pop("json") or before.json
    )
    return read


def call_verb(desk: Desk, verb: verbs.Verb, read: dict[str, Any], **caller: Any) -> Any:
    return desk.verb(verb.name, parsing.arguments(verb, read, desk.call, desk.house.clock.wall_ms()), **caller)


def answer(desk: Desk, shown_as: str, result: Any, code: int = 0) -> Reply:
    """The result, as a document for programs or as text for people."""
    if desk.options.json:
        return Reply(document(result), code=code)
    from . import show

    return Reply(show.text(shown_as, result, desk.call.width, terminal=desk.call.terminal), code=code)


def document(result: Any) -> str:
    return json.dumps(result) + "\n"


def refused(error: errors.RookError, wants_json: bool) -> Reply:
    told = f"rook: {error.message}\n" + (f"      {error.hint}\n" if error.hint else "")
    return Reply(document(error.as_dict()) if wants_json else "", told, error.exit_code)


def _general_help(call: Call, words: list[str]) -> Reply:
    if words and words[0] in BY_NAME:
        return run(call._replace(argv=[words[0], "--help"]))
    from . import show

    rows = [(GROUPS[c.group], c.name, c.help or verbs.VERBS[c.name].help) for c in COMMANDS]
    return Reply(show.help_page(rows, call.width, terminal=call.terminal))
