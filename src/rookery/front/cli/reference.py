"""docs/cli.md, drawn from the commands themselves: `python -m rookery.front.cli.reference > docs/cli.md`."""

import argparse
from collections.abc import Iterator

from rookery.service import verbs

from .router import COMMANDS, GROUPS, Command, parser_of, verb_of

SHARED = ("in_team", "as_agent", "as_json", "wants_help")


def markdown() -> str:
    lines = [
        "# Commands",
        "",
        "Written from the commands themselves; `make docs` writes it anew, a test holds it current.",
        "",
        "Every command takes `--team TEAM`, `--as NAME` (speak as that agent), `--json` and `--help`.",
        "Exit codes: 0 done, 1 refused by a rule, 2 wrong usage, 3 store unreachable.",
    ]
    group = ""
    for command in COMMANDS:
        if command.group != group:
            group = command.group
            lines += ["", f"## {GROUPS[group]}"]
        lines += ["", *_section(command)]
    return "\n".join(lines) + "\n"


def _section(command: Command) -> Iterator[str]:
    parser = parser_of(command, 100)
    yield f"### `rook {command.name}`"
    yield ""
    yield f"{command.help or verbs.VERBS[verb_of(command)].help}."
    rows = [_row(action) for action in parser._actions if action.dest not in SHARED]
    if rows:
        yield ""
        yield "| argument | what it is |"
        yield "|---|---|"
        yield from rows


def _row(action: argparse.Action) -> str:
    shown = action.metavar or ("/".join(action.choices) if action.choices else action.dest.upper())
    takes_value = action.nargs != 0
    names = ", ".join(f"`{flag}{f' {shown}' if takes_value else ''}`" for flag in action.option_strings) or f"`{shown}`"
    return f"| {names} | {(action.help or '').replace('%%', '%').replace('|', chr(92) + '|')} |"


if __name__ == "__main__":
    print(markdown(), end="")
