"""Results for people: tables and cards by rich. What an agent wrote is data here: no escapes, no markup."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from io import StringIO
from typing import Any, cast

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from rookery.core.text import one_line, plain

from .showing import clock, new_table, say, short, taken, time_of

PRIORITY = {"urgent": "bold red", "high": "yellow", "normal": "", "low": "dim"}
STATUS = {"active": "green", "idle": "cyan", "away": "dim", "stuck": "bold red", "offline": "dim"}
STATE = {"unread": "bold", "read": "", "processing": "cyan", "completed": "green", "failed": "red", "archived": "dim",
         "expired": "dim"}  # fmt: skip
LEAST = {"token.new": 80}  # however narrow the terminal: a token that is cut is lost
WELL = {True: ("ok", "green"), False: ("no", "bold red")}


def text(shown_as: str, result: Any, width: int, *, terminal: bool) -> str:
    return render(_show(shown_as)(_plain(result)), max(width, LEAST.get(shown_as, 0)), terminal=terminal)


def _plain(value: Any) -> Any:
    """What a verb answered, without anything that steers a terminal: names of files and folders among it."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {_plain(key): _plain(each) for key, each in cast("dict[Any, Any]", value).items()}
    if type(value) is list:
        return [_plain(each) for each in cast("list[Any]", value)]
    return value


# Which module shows what: words that a result is shown as, or begins with (those that end in a dot or a star).
PLACES: Mapping[str, str] = {
    "show_tasks": "task. plan. lease spec",
    "show_guard": "slot. reserve release transfer reservations",
    "show_health": "health who.tree",
    "show_workers": "workers worker.show spawn stop respawn delete",
    "show_delivery": "dead* wake*",
    "show_conflicts": "conflicts",
    "show_landing": "land. changes*",
    "show_docket": "docket* decisions* rule. card verdict debt deliverables",
    "show_demo": "demo",
    "show_crews": "crew.",
    "show_tokens": "token.",
    "show_team": "team. budget* usage_*",
    "show_threads": "thread. artifacts. can-write",
    "show_bundles": "bundle. load unload loaded expand",
    "show_evidence": "artifacts show pin unpin search",
    "show_kinds": "kind*",
    "show_reporting": "progress ask answer done fail questions question.show",
}


def _show(shown_as: str) -> Callable[[Any], RenderableType]:
    """Only the module that is needed is loaded."""
    for module, words in PLACES.items():
        if any(_is_meant(shown_as, word) for word in words.split()):
            shows: Mapping[str, Callable[[Any], RenderableType]] = import_module(f".{module}", __package__).SHOWS
            return shows.get(shown_as, _plain_values)
    return SHOWS.get(shown_as, _plain_values)


def _is_meant(shown_as: str, word: str) -> bool:
    if word.endswith((".", "*")):
        return shown_as.startswith(word.removesuffix("*"))
    return shown_as == word


def render(what: RenderableType, width: int, *, terminal: bool) -> str:
    out = StringIO()
    console = Console(
        file=out, width=width, force_terminal=terminal, color_system="standard" if terminal else None, highlight=False,
        emoji=False, markup=False, legacy_windows=False, _environ={},
    )  # fmt: skip
    console.print(what, soft_wrap=False)
    lines = out.getvalue().split("\n")
    return "\n".join(line.rstrip() for line in lines)


def help_page(rows: Iterable[tuple[str, str, str]], width: int, *, terminal: bool) -> str:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold cyan", min_width=12)
    table.add_column()
    last = ""
    for group, name, help in rows:
        if group != last:
            table.add_row(Text(""), Text(""))
            table.add_row(Text(group, "bold"), Text(""))
            last = group
        table.add_row(Text(f"  {name}"), Text(help))
    head = Text("rook: addresses, mail and tasks for crews of coding agents\n\nusage: rook COMMAND ... ")
    head.append("(rook COMMAND --help tells more)", "dim")
    foot = Text(
        "\nEvery command takes --team, --as and --json. Exit: 0 done, 1 refused, 2 wrong usage, 3 no store.", "dim"
    )
    return render(Group(head, table, foot), width, terminal=terminal)


# -- mesh --------------------------------------------------------------------------------------------------------


def _join(result: dict[str, Any]) -> RenderableType:
    lines = [say("You are ", (result["name"], "bold cyan"), f" in team {result['team']}.")]
    if result["arrival"] == "takeover":
        lines.append(say("The session that held this name was put out."))
    if result["inherited"]:
        lines.append(say(f"Left for this name and never acknowledged: {result['inherited']}. `rook inbox --open`."))
    elif result["unread"]:
        lines.append(say(f"Mail that waits: {result['unread']}. `rook inbox`."))
    peers = ", ".join(result["peers"]) or "nobody else yet"
    lines.append(say(("Here: ", "dim"), peers))
    return Group(*lines)


def _leave(result: dict[str, Any]) -> RenderableType:
    waiting = f" Unread mail keeps waiting: {result['unread']}." if result["unread"] else ""
    return say((result["name"], "bold cyan"), f" left.{waiting}")


def _rename(result: dict[str, Any]) -> RenderableType:
    return say(f"{result['was']} is now ", (result["name"], "bold cyan"), ". Its mail follows.")


def _who(result: dict[str, Any]) -> RenderableType:
    if not result["agents"]:
        return say(
            f"Nobody is here in team {result['team']}. ", ("`rook join NAME` to be first; `rook who --all`.", "dim")
        )
    table = new_table("name", "status", "doing", "role", "unread", "branch", "where")
    for agent in result["agents"]:
        doing = agent["message"] or agent.get("task", "")
        table.add_row(
            Text(agent["name"], "bold"), Text(agent["status"], STATUS[agent["status"]]), one_line(doing, 40),
            one_line(agent["role"], 20), str(agent["unread"] or ""), one_line(agent.get("branch", ""), 24),
            one_line(agent["cwd"], 50),
        )  # fmt: skip
    return table


def _whois(result: dict[str, Any]) -> RenderableType:
    facts = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    facts.add_column(style="dim")
    facts.add_column(overflow="fold")
    names = ("status", "message", "task", "role", "program", "model", "branch", "cwd", "host", "pid", "session",
             "coordination", "unread", "last_activity")  # fmt: skip
    for name in names:
        if result.get(name) not in (None, "", 0):
            facts.add_row(name.replace("_", " "), one_line(str(result[name]), 100))
    if result.get("finding"):
        facts.add_row("finding", Text(result["finding"], "bold red"))
    if result.get("memory"):
        facts.add_row("takes", taken(result))
    if result.get("stats"):
        facts.add_row("stats", ", ".join(f"{v:,} {k.replace('_', ' ')}" for k, v in result["stats"].items()))
    if result.get("unread_by_sender"):
        facts.add_row("unread from", ", ".join(f"{k} {v}" for k, v in result["unread_by_sender"].items()))
    parts: list[RenderableType] = [Text(result["name"], "bold cyan"), facts]
    if result.get("ways") or (result.get("session") and "ways" in result):
        from . import show_delivery

        parts += [Text("\nhow it is woken", "bold"), Padding(show_delivery.ways(result["ways"]), (0, 0, 0, 2))]
    if result.get("exchange"):
        parts.append(Text("\nwhat you two last said", "bold"))
        parts += [
            say((f"  {time_of(m['created_at'])} ", "dim"), (m["from"], "cyan"), f": {one_line(m['subject'], 60)}")
            for m in result["exchange"]
        ]
    return Group(*parts)


# -- mail --------------------------------------------------------------------------------------------------------


def _sent(result: dict[str, Any]) -> RenderableType:
    said = f"{'sent before' if result.get('replayed') else 'sent'} as {result['from']}"
    head = [(result["id"], "bold"), f" {said}"]
    if result.get("escalation"):
        head.append(f": {result['escalation']}")
    if result.get("closed"):
        head.append(f", closes {result['closed']}")
    lines = [say(*head)]
    for each in result["recipients"][:20]:
        chosen = f" ({each['chosen']})" if each.get("chosen") else ""
        lines.append(say("  to ", (each["name"], "cyan"), f"{chosen}: {each['state']}, {each['how']}"))
    if len(result["recipients"]) > 20:
        lines.append(say((f"  and {len(result['recipients']) - 20} more", "dim")))
    spawned = result.get("spawned", ())
    lines += [say("  asks for ", (each["id"], "bold"), f" {each['name']}, a {each['kind']}") for each in spawned]
    lines += [say((f"  {one_line(note, 300)}", "yellow")) for note in result.get("notes", ())]
    return Group(*lines)


ROOM = 25  # a subject of so many characters fits beside everything else


def _inbox(result: dict[str, Any]) -> RenderableType:
    if not result["agent"]:
        return say("This program has no name in the team, and so no mail. ", ("`rook join NAME` takes one.", "dim"))
    if not result["messages"]:
        return say(
            f"No mail waits for {result['agent']}. ",
            ("`rook inbox --open` shows what was read, --all everything.", "dim"),
        )
    tells_state = any(m["state"] != "unread" for m in result["messages"])  # otherwise it is no news
    state = ["state"] if tells_state else []
    table = new_table("id", "from", "subject", "priority", "type", *state, "sent", folded=())
    table.expand = any(len(m["subject"]) > ROOM for m in result["messages"])  # then it gets what the others leave
    for m in result["messages"]:
        table.add_row(
            m["id"], one_line(m["from"], 24), Text(one_line(m["subject"], 70), PRIORITY[m["priority"]]),
            Text(m["priority"], PRIORITY[m["priority"]]), m.get("label") or m["type"],
            *([Text(m["state"], STATE[m["state"]])] if tells_state else []), Text(short(m["created_at"]), "dim"),
        )  # fmt: skip
    more = " More wait: -n 100." if result["more"] else ""
    return Group(table, Text(f"`rook read ID`, `rook reply ID -m ...`, `rook ack ID`.{more}", "dim"))


def message(m: dict[str, Any]) -> RenderableType:
    facts = [f"{m['from']} to {m['to']}", m.get("label") or m["type"], m["priority"], clock(m["created_at"])]
    facts += [m["state"]] if m.get("state") else []
    facts += [f"expires {clock(m['expires_at'])}"] if m["expires_at"] else []
    parts: list[RenderableType] = [
        Text(one_line(m["subject"], 200), "bold"),
        Text(f"{m['id']}  ·  " + "  ·  ".join(one_line(f, 80) for f in facts), "dim"),
    ]
    if m.get("first_contact"):
        known = ", ".join(f"{k} {one_line(str(v), 60)}" for k, v in m["first_contact"].items())
        parts.append(Text(f"first mail from {m['from']}: {known}", "italic dim"))
    parts.append(Padding(Text(plain(m["body"]) or "(no text)"), (1, 2)))
    for lens in m.get("lenses") or ():
        written = plain(lens["text"]).strip() or "(not known here)"
        parts += [Text(f"perspective to take: {one_line(lens['name'], 60)}", "bold"), Padding(Text(written), (0, 4))]
    for title in ("tags", "attachments"):
        if m[title]:
            parts.append(say((f"{title}: ", "dim"), ", ".join(one_line(str(x), 80) for x in m[title])))
    for title in ("payload", "context"):
        if m[title] and not (title == "context" and m["type"] == "handoff"):  # its body tells it already
            parts.append(say((f"{title}: ", "dim"), one_line(_json(m[title]), 400)))
    return Group(*parts)


def _json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)


def _read(result: dict[str, Any]) -> RenderableType:
    done = f", `rook ack {result['id']}` completes" if result.get("state") else ""
    return Group(message(result), Text(f"`rook reply {result['id']} -m ...` answers{done}.", "dim"))


def _steps(result: dict[str, Any]) -> RenderableType:
    lines = [say((m["id"], "bold"), " ", (m["state"], STATE[m["state"]]), _after_step(m)) for m in result["messages"]]
    return Group(*lines) if lines else Text("Nothing to do.", "dim")


def _after_step(m: dict[str, Any]) -> str:
    if not m["changed"]:
        return " (already)"
    return f"; {m['next']} is round {m['round']} of {m['of']}" if m.get("next") else ""


def _lenses(result: dict[str, Any]) -> RenderableType:
    table = new_table("name", "what it is", "where")
    for each in result["lenses"]:
        table.add_row(Text(each["name"], "bold"), one_line(each["title"], 60), one_line(each["source"], 100))
    return table


def _thread(result: dict[str, Any]) -> RenderableType:
    parts: list[RenderableType] = [
        say(("thread ", "dim"), (result["thread"], "bold"), ("  ", ""), ", ".join(result["participants"]))
    ]
    for m in result["messages"]:
        parts += [Rule(style="dim"), message(m)]
    return Group(*parts)


def _receipts(result: dict[str, Any]) -> RenderableType:
    table = new_table("to", "state", "what happened")
    for each in result["recipients"]:
        story = "  →  ".join(map(_receipt, each["receipts"]))
        table.add_row(Text(each["name"], "bold"), Text(each["state"], STATE[each["state"]]), story)
    return Group(say((result["id"], "bold"), f"  {one_line(result['subject'], 70)}"), table)


def _receipt(receipt: dict[str, Any]) -> str:
    more = ", ".join(one_line(receipt[name], 40) for name in ("channel", "detail") if receipt.get(name))
    return f"{receipt['stage']} {time_of(receipt['at'])}" + (f" ({more})" if more else "")


def _escalations(result: dict[str, Any]) -> RenderableType:
    if not result["escalations"]:
        return Text("No escalations.")
    table = new_table("id", "state", "title", "by", "to", "priority", "message")
    for e in result["escalations"]:
        table.add_row(
            Text(e["id"], "bold"), Text(e["state"], "yellow" if e["state"] == "open" else "green"),
            one_line(e["title"], 50), e["by"], e["level"], Text(e["priority"], PRIORITY[e["priority"]]), e["message"],
        )  # fmt: skip
    for column, least in zip(table.columns, (17, 6, 0, 0, 0, 6, 16), strict=True):
        column.min_width = least  # ids are what one copies
    table.columns[2].ratio = 1
    return table


# -- the log and the house ---------------------------------------------------------------------------------------

EVENT = {
    "message": "cyan",
    "join": "green",
    "leave": "yellow",
    "commit": "bold green",
    "test": "magenta",
    "stuck": "bold red",
    "task.review": "blue",
    "worker.asked": "bold magenta",
    "worker.answered": "magenta",
    "land.landed": "bold green",
    "crew.finished": "bold green",
    **dict.fromkeys(("land.failed", "task.failed", "worker.failed", "worker.crashed", "crew.failed"), "bold red"),
}


def _event(event: dict[str, Any]) -> Text:
    """One line, however narrow: `--json` has all of it."""
    elses = event["target"] not in ("", event["actor"]) and event["type"] != "join"
    target = f" → {one_line(event['target'], 40)}" if elses else ""
    preview = "" if event["preview"] == event["target"] else f"  {one_line(event['preview'], 80)}"
    line = say(
        (f"{time_of(event['at'])}Z ", "dim"), (f"{event['seq']:>6} ", "dim"),
        (f"{event['type']:<16} ", EVENT.get(event["type"], "")), (one_line(event["actor"], 30), "bold"),
        target, preview,
    )  # fmt: skip
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def event_line(event: dict[str, Any], width: int, *, terminal: bool) -> str:
    return render(_event(event), width, terminal=terminal)


def _feed(result: dict[str, Any]) -> RenderableType:
    if not result["events"]:
        return Text("Nothing has happened that this would show.", "dim")
    return Group(*(_event(event) for event in result["events"]))


def _stats(result: dict[str, Any]) -> RenderableType:
    parts: list[RenderableType] = [
        say(("team ", "dim"), result["team"], f": {result['agents']} agents, {result['events']:,} events")
    ]
    for title in ("deliveries", "types", "senders"):
        if result[title]:
            parts += [Text(f"\n{title}", "bold"), _bars(list(result[title].items()))]
    return Group(*parts)


def _bars(rows: Sequence[tuple[str, int]]) -> Table:
    most = max(count for _, count in rows) or 1
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for name, count in rows:
        table.add_row(f"  {one_line(name, 30)}", f"{count:,}", Text("█" * max(1, round(30 * count / most)), "cyan"))
    return table


def _config(result: dict[str, Any]) -> RenderableType:
    table = new_table("setting", "value", "from", "what it is")
    for row in result["settings"]:
        changed = row["source"] != "default"
        value = _json(row["value"]) if isinstance(row["value"], (list, dict)) else str(row["value"])
        measured = f"{one_line(value, 40)} {row['unit']}".rstrip()
        table.add_row(
            Text(row["name"], "bold" if changed else ""), Text(measured, "cyan"),
            Text(row["source"], "yellow" if changed else "dim"), Text(row["help"], "dim"),
        )  # fmt: skip
    head = say(
        ("home ", "dim"),
        result["home"],
        ("   team ", "dim"),
        result["team"],
        (f" (from {result['team_source']})", "dim"),
    )
    waiting = [
        say(("! ", "bold yellow"), f"{one_line(each['key'], 60)} = {one_line(each['value'], 60)}",
            (f"  from {each['file']}: not in force, run `rook trust`", "yellow"))
        for each in result["not_in_force"]
    ]  # fmt: skip
    return Group(head, table, *waiting)


def _doctor(result: dict[str, Any]) -> RenderableType:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for check in result["checks"]:
        word, colour = WELL[check["ok"]]
        seen = Text(plain(check["seen"]))
        if check.get("do"):
            seen.append(f"\n{check['do']}", "dim")
        table.add_row(Text(word, colour), Text(check["check"], "bold"), seen)
    end = Text("All is well.", "green") if result["ok"] else Text("Something is wrong: see the lines marked no.", "red")
    return Group(table, end)


def _export(result: dict[str, Any]) -> RenderableType:
    return say(f"{result['exported']} messages in {result['folder']}")


def _export_audit(result: dict[str, Any]) -> RenderableType:
    told = f"{result['exported']:,} events in {result['file']}, up to {result['cursor']}."
    gone = f" Those up to {result['horizon']} may be gone." if result["horizon"] else ""
    return say(told, (gone, "yellow"))


def _import(result: dict[str, Any]) -> RenderableType:
    return say(f"{result['imported']} messages taken in, {result['skipped']} were here already.")


def _backup(result: dict[str, Any]) -> RenderableType:
    return say(result["path"], (f"  {result['bytes']:,} bytes", "dim"))


def _plain_values(result: Any) -> RenderableType:
    if not isinstance(result, dict):
        return Text(plain(str(result)))
    return Group(*(say((f"{key}: ", "dim"), one_line(str(value), 200)) for key, value in result.items()))


SHOWS: dict[str, Callable[[Any], RenderableType]] = {
    "join": _join, "leave": _leave, "rename": _rename, "who": _who, "whois": _whois, "status": _whois,
    "send": _sent, "tell": _sent, "broadcast": _sent, "reply": _sent, "handoff": _sent, "escalate": _sent,
    "inbox": _inbox,
    "read": _read, "ack": _steps, "archive": _steps, "thread": _thread, "receipts": _receipts,
    "escalations": _escalations, "lenses": _lenses, "feed": _feed, "events": _feed, "stats": _stats,
    "config": _config, "doctor": _doctor, "backup": _backup, "export": _export, "import": _import,
    "export.audit": _export_audit,
}  # fmt: skip
