"""How things are, for people: a verdict with its reasons, and everyone by group with a mark that means something."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from rookery.core.text import one_line
from rookery.core.times import ago

from .showing import clock, say, taken

VERDICT = {"healthy": "bold green", "degraded": "bold yellow", "unhealthy": "bold red"}
LEVEL = {"degraded": ("!", "yellow"), "unhealthy": ("x", "bold red")}
DOING = 60
DOES, GAP, LEAST = 1, 2, 8  # the column of what an agent does, between columns, and how narrow that one may be


# -- health ----------------------------------------------------------------------------------------------------------


def health(result: dict[str, Any]) -> RenderableType:
    parts: list[RenderableType] = [say((result["status"], VERDICT[result["status"]]), f"  team {result['team']}")]
    parts += [_concern(each) for each in result["concerns"]]
    facts = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    facts.add_column(style="dim", min_width=9)
    facts.add_column(overflow="fold")
    for name, seen in _facts(result):
        if seen:
            facts.add_row(name, seen)
    return Group(*parts, Text(""), facts)


def _concern(each: Mapping[str, str]) -> Text:
    mark, colour = LEVEL[each["level"]]
    do = (f"  `{one_line(each['do'], 80)}`", "dim") if each["do"] else ""
    return say((f"{mark} ", colour), one_line(each["what"], 160), do)


def _facts(result: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    return (
        ("sessions", _counted(result["sessions"])), ("mail", _mail(result)), ("retries", _retries(result["retries"])),
        ("store", _store(result["store"])), ("daemon", _daemons(result["daemons"])),
        ("services", _services(result["daemons"])), ("log", _logs(result["logs"])),
        ("disk", _disk(result["disk"])),
    )  # fmt: skip


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count or name == "live")


def _mail(result: Mapping[str, Any]) -> str:
    if result["unread"] is None:
        return ""
    pending = result["oldest_pending"]
    oldest = f"; the oldest waits {ago(pending['waited_s'] * 1000)} for {pending['to']}" if pending else ""
    told = [f"{result['unread']:,} unread", f"{result['failed']} failed", f"{result['dead_letters']} dead letters"]
    return ", ".join(told) + oldest


def _retries(retries: Mapping[str, Any] | None) -> str:
    if not retries or not retries["total"]:
        return "none" if retries else ""
    by = ", ".join(f"{name} {count}" for name, count in list(retries["bySession"].items())[:5])
    since = f", since {clock(retries['oldestRetry'])}" if retries["oldestRetry"] else ""
    return f"{retries['total']} ({by}){since}"


def _store(store: Mapping[str, Any] | None) -> str:
    if not store:
        return ""
    whole = {True: "whole", False: "damaged", None: one_line(store["seen"], 60)}[store["whole"]]
    return f"{_size(store['bytes'])}, journal {_size(store['wal_bytes'])}, {whole}  {one_line(store['path'], 200)}"


def _daemons(daemons: Sequence[Mapping[str, Any]]) -> str:
    if not daemons:
        return "none runs"
    return ", ".join(
        f"{each['state']} for the {each['scope']}, pid {each['pid']}, "
        + (each["url"] if each["answers"] else "does not answer")
        for each in daemons
    )


def _services(daemons: Sequence[Mapping[str, Any]]) -> str:
    """How many, when the last look succeeded, and the last error of each that had one."""
    found = [service for each in daemons for service in each["services"] or ()]
    if not found:
        return ""
    last = max((each["last_success"] for each in found if each["last_success"]), default="")
    running = sum(each["state"] == "running" for each in found)
    lines = [f"{running} of {len(found)} run" + (f", last success {clock(last)}" if last else "")]
    for each in found:
        if each["last_error"]:
            success = f", last success {clock(each['last_success'])}" if each["last_success"] else ""
            lines.append(
                f"{each['name']} {each['state']}{success}, failures {each['failures']}, last "
                f"{clock(each['last_error_at'])}: {one_line(each['last_error'], 200)}"
            )
    return "\n".join(lines)


def _logs(logs: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(
        f"{_size(each['bytes'])}, {each['errors']} errors within an hour" if each["bytes"] is not None else "missing"
        for each in logs
    )


def _disk(disk: Mapping[str, Any] | None) -> str:
    return f"{_size(disk['free_bytes'])} free" if disk else ""


def _size(size: int | None) -> str:
    if size is None:
        return "none"
    for unit, bits in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >> bits:
            return f"{size / (1 << bits):,.1f} {unit}"
    return f"{size} bytes"


# -- everyone by group -----------------------------------------------------------------------------------------------

# What is wrong comes before what is shown otherwise. The mark says it without its colour too.
MARKS = {
    "died": ("x", "bold red"), "terminal-gone": ("!", "bold red"), "stopped": ("!", "bold red"),
    "blocked": ("?", "bold yellow"), "stuck": ("!", "bold red"), "stalled": ("!", "bold yellow"),
    "active": ("●", "green"), "idle": ("○", "cyan"), "away": ("·", "dim"), "offline": ("x", "dim"),
}  # fmt: skip


def tree(result: dict[str, Any]) -> RenderableType:
    if not result["agents"]:
        return say(f"Nobody is here in team {result['team']}. ", ("`rook join NAME` to be first.", "dim"))
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for agent in result["agents"]:
        group, _, _name = agent["name"].rpartition("/")
        groups.setdefault(group, []).append(agent)
    return _Groups({group or result["team"]: [_agent(each) for each in agents] for group, agents in groups.items()})


class _Groups:
    """Groups with their agents in columns of one width. Where there is too little room, what an agent does is cut."""

    def __init__(self, rows: Mapping[str, Sequence[Sequence[Text]]]) -> None:
        self._rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        every = [row for rows in self._rows.values() for row in rows]
        widths = [max(len(row[place]) for row in every) for place in range(len(every[0]))]
        others = sum(widths) - widths[DOES] + GAP * (len(widths) - 1)
        widths[DOES] = min(widths[DOES], max(LEAST, options.max_width - others))
        for group, rows in sorted(self._rows.items()):
            yield Text(group, "bold")
            table = Table(box=None, show_header=False, pad_edge=False, padding=(0, GAP, 0, 0))
            for width in widths:
                table.add_column(no_wrap=True, overflow="ellipsis", width=width)
            for row in rows:
                table.add_row(*row)
            yield table


def _agent(agent: Mapping[str, Any]) -> Sequence[Text]:
    state = agent.get("finding") or agent["status"]
    mark, colour = MARKS.get(state, ("!", "bold red"))
    doing = one_line(agent["message"] or agent.get("task", ""), DOING)
    unread = f"{agent['unread']:,} unread" if agent["unread"] else ""
    name = say((f"  {mark} ", colour), agent["name"].rpartition("/")[2])
    return name, Text(doing), Text(_since(agent, state), colour), Text(unread), Text(taken(agent), "dim")


def _since(agent: Mapping[str, Any], state: str) -> str:
    if agent.get("active_ago_s") is None:
        return state
    age = ago(agent["active_ago_s"] * 1000)
    if state in ("active", "died", "offline"):
        return f"{state} {age} ago"
    gate = f" ({one_line(agent['gate'], 24)})" if state == "blocked" and agent["gate"] else ""
    return f"{state}{gate} for {age}"


SHOWS: Mapping[str, Callable[[Any], RenderableType]] = {"health": health, "who.tree": tree}
