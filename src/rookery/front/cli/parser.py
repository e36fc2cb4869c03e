"""A command line drawn from a verb: positionals, flags and help come from its signature."""

import argparse
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, get_args, get_origin

from rookery.core import errors, names, times
from rookery.service.verbs import Parameter, Verb, parameters

from .call import Call, Extra

KINDS = {"json": "JSON", "when": "WHEN", "past": "WHEN", "span": "SPAN", "money": "AMOUNT"}
_CHOICE = re.compile(r"invalid choice: '?(.*?)'? \(choose from (.*)\)")
STDIN_ARGUMENTS = (
    "body", "notes", "description", "summary", "said", "reason", "feedback", "spec", "content", "question",
)  # fmt: skip


class Parser(argparse.ArgumentParser):
    """argparse without its habit of printing and exiting."""

    def __init__(self, name: str, help: str, width: int) -> None:
        super().__init__(
            prog=f"rook {name}", description=help if help.endswith("?") else f"{help}.", add_help=False,
            allow_abbrev=False,
            formatter_class=lambda prog: argparse.HelpFormatter(prog, width=min(width, 110), max_help_position=30),
        )  # fmt: skip
        self._rest = ""  # the argument that takes what follows `--`
        shared = self.add_argument_group("for every command")
        shared.add_argument("--team", dest="in_team", metavar="TEAM", help="another team than this repository's")
        shared.add_argument("--as", dest="as_agent", metavar="NAME", help="speak as this agent")
        shared.add_argument("--json", dest="as_json", action="store_true", help="one JSON document, for programs")
        shared.add_argument("-h", "--help", dest="wants_help", action="store_true", help="show this help")

    def error(self, message: str) -> NoReturn:
        needed = [_written(action) for action in self._actions if action.required]
        hint = f"It needs {' '.join(needed)}. " if needed and "required" in message else ""
        if "expected one argument" in message:
            hint = "A value that begins with a dash is joined to its flag: --flag=-value. "
        if chosen := _CHOICE.search(message):
            near = names.did_you_mean(chosen[1], chosen[2].replace("'", "").split(", "))
            hint = f"{near} " if near else ""
        said = f"{message[:1].upper()}{message[1:]}"
        raise errors.BadInput(f"{said}.", f"{hint}`{self.prog} --help` tells more.", code="USAGE")

    def read(self, argv: Sequence[str]) -> dict[str, Any] | None:
        """The arguments, or None if help is wanted (wherever it stands, whatever else is wrong)."""
        before_dashes = argv[: argv.index("--")] if "--" in argv else argv
        if "-h" in before_dashes or "--help" in before_dashes:
            return None
        if self._rest:
            return vars(self.parse_args(before_dashes)) | {self._rest: list(argv[len(before_dashes) + 1 :])}
        return vars(self.parse_intermixed_args(argv) if self._mixes() else self.parse_args(argv))

    def add_verb(self, verb: Verb, optional: Sequence[str]) -> None:
        for parameter in visible(verb):
            _add(self, parameter._replace(required=False) if parameter.name in optional else parameter)

    def add_extra(self, extra: Extra) -> None:
        if extra.rest:
            self._rest = extra.names[0]
            self.usage = f"{self.format_usage().removeprefix('usage: ').strip()} [-- {extra.metavar}]"
            self.epilog = f"{extra.metavar}: {extra.help}"
            return
        is_flag = extra.names[0].startswith("-")
        options: dict[str, Any] = {"help": extra.help}
        if is_flag and not extra.metavar:
            options["action"] = "store_true"
        elif extra.metavar:
            options["metavar"] = extra.metavar
        if extra.choices:
            options["choices"] = list(extra.choices)
        if extra.may_lack:
            options["nargs"] = "?"
        if extra.repeats:
            options |= {"action": "append", "default": []}
        self.add_argument(*extra.names, **options)

    def _mixes(self) -> bool:
        """`send bob -s x alice` reads both names, and `answer ID --reject TEXT` the text; argparse can do it where
        positionals are plain."""
        return any(action.nargs in ("+", "?") for action in self._get_positional_actions())


def _written(action: argparse.Action) -> str:
    shown = str(action.metavar or action.dest.upper())
    return f"{action.option_strings[0]} {shown}" if action.option_strings else shown


def visible(verb: Verb) -> list[Parameter]:
    return [p for p in parameters(verb.load()) if not p.arg.hidden]


def _add(parser: Parser, parameter: Parameter) -> None:
    kind, optional = _plain(parameter.type)
    options: dict[str, Any] = {"help": _help(parameter)}
    if parameter.arg.choices and kind is str:
        options["choices"] = [str(choice) for choice in parameter.arg.choices if choice]
        if len(options["choices"]) > 4:
            options["metavar"] = parameter.name.upper()
            options["help"] += f": {', '.join(options['choices'])}"
    if kind is int and not parameter.arg.kind:
        options["type"] = int
    if parameter.arg.positional:
        shape = {"nargs": "+" if parameter.required else "*"} if kind is list else {}
        shape |= {"nargs": "?", "default": None} if kind is not list and not parameter.required else {}
        if "choices" not in options:
            options["metavar"] = parameter.arg.metavar or parameter.name.upper()
        parser.add_argument(parameter.name, **shape, **options)
        return
    flags = [f for f in (parameter.arg.flag, f"--{parameter.name.replace('_', '-')}") if f]
    if kind is bool:
        options["action"] = argparse.BooleanOptionalAction if optional else "store_true"
    elif kind is list:
        options |= {"action": "append", "metavar": parameter.arg.metavar or "X"}
    elif "choices" not in options:
        options["metavar"] = parameter.arg.metavar or KINDS.get(parameter.arg.kind) or parameter.name.upper()
    parser.add_argument(
        *dict.fromkeys(flags), dest=parameter.name, required=parameter.required, default=None, **options
    )


def _help(parameter: Parameter) -> str:
    told = parameter.arg.help
    if parameter.default not in (None, "", False, []) and not parameter.arg.positional:
        told += f" (default {parameter.default})"
    return told.replace("%", "%%")


def _plain(kind: Any) -> tuple[Any, bool]:
    """(list, dict, bool, int or str; may it be None)."""
    inner = [k for k in get_args(kind) if k is not type(None)]
    if get_origin(kind) in (list, dict):
        return get_origin(kind), False
    if inner:
        return (get_origin(inner[0]) or inner[0]), True
    return kind, False


def arguments(verb: Verb, read: Mapping[str, Any], call: Call, wall_ms: int) -> dict[str, Any]:
    """What was typed, as the verb wants it; what was not typed is left to the verb's defaults."""
    args: dict[str, Any] = {}
    for parameter in visible(verb):
        value = read.get(parameter.name)
        if value is None or (value is False and parameter.default is False) or value == []:
            continue
        args[parameter.name] = _value(parameter, value, call, wall_ms)
    return args


def _value(parameter: Parameter, value: Any, call: Call, wall_ms: int) -> Any:
    if parameter.name in STDIN_ARGUMENTS and value == "-":
        return call.read_stdin()
    convert: Callable[[], Any] | None = {
        "json": lambda: json_object(value, parameter.name),
        "when": lambda: times.parse_when(value, wall_ms),
        "past": lambda: past(value, wall_ms),
        "span": lambda: times.parse_span(value),
        "money": lambda: _money(value),
    }.get(parameter.arg.kind)
    if convert:
        return convert()
    if parameter.name == "attachments":
        check_files(value, call.cwd)
    return value


def _money(written: str) -> int:
    from rookery.core.budget import parse_money

    return parse_money(written)


def json_object(written: str, what: str) -> dict[str, Any]:
    import json

    try:
        value = json.loads(written, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise errors.BadInput(
            f"--{what} is not JSON: {error}.", f"""Quote it for the shell: --{what} '{{"a": 1}}'."""
        ) from None
    if not isinstance(value, dict):
        raise errors.BadInput(f"--{what} must be a JSON object.", f"""For example --{what} '{{"a": 1}}'.""")
    return value


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def past(written: str, wall_ms: int) -> int:
    """`2h` means two hours ago; anything else is a time."""
    try:
        return wall_ms - times.parse_span(written)
    except errors.BadInput:
        return times.parse_when(written, wall_ms)


def check_files(paths: Sequence[str], cwd: str) -> None:
    for path in paths:
        if "\0" in path or not os.path.exists(os.path.join(cwd, path)):
            raise errors.BadInput(f"No such file to attach: {path!r}.", "Paths are relative to where you are.")
