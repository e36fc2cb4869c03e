"""The queue, cards, verdicts and the log, for people. What a worker wrote stands apart from what is ours."""

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rookery.core.text import one_line, plain
from rookery.core.times import ago

from .showing import clock, counted, new_table, say, short

RANK = {"needs_input": ("needs you", "bold yellow"), "failed": ("failed", "bold red"), "error": ("error", "red"),
        "change": ("change", "cyan"), "file": ("file", "cyan"), "ready": ("ready", "green")}  # fmt: skip
RISK = {"high": "bold red", "medium": "yellow", "low": "dim", "": "dim"}
FILE = {"A": "green", "D": "red", "M": "", "R": "cyan"}


def queue(result: dict[str, Any]) -> RenderableType:
    parts: list[RenderableType] = []
    if not result["items"]:
        parts.append(say("Nothing needs you."))
    else:
        parts.append(_lines(result["items"]))
    more = result["waiting"] - len(result["items"])
    if more > 0:
        parts.append(Text(f"and {more} more: -n shows more at once", "dim"))
    parts += _foot(result)
    return Group(*parts)


def _lines(items: list[dict[str, Any]]) -> RenderableType:
    """Two lines an item: what is asked, and what happens if nobody answers. What is long is on its card."""
    rows = [_cells(each) for each in items]
    table = Table.grid(padding=(0, 2), expand=True)  # what is long takes what the others leave, and not from them
    for at in (0, 1):
        table.add_column(no_wrap=True, width=max(max(map(len, str(row[at]).split("\n"))) for row in rows))
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for row in rows:
        table.add_row(*row)
    return table


def _cells(each: dict[str, Any]) -> tuple[Text, Text, Text]:
    (word, style), risk = RANK[each["rank"]], each["risk"]
    pin = [("\npinned", "bold")] if each["pinned"] else []
    more = [" ", (risk, RISK[risk])] if risk else []
    otherwise = f"\nif not: {each['otherwise']}" if each["otherwise"] else ""
    return (
        say((each["subject"], "bold cyan"), *pin), say((word, style), "\n", (ago(each["ageMs"]), "dim"), *more),
        say(one_line(each["title"], 300), (otherwise, "dim")),
    )  # fmt: skip


def _foot(result: dict[str, Any]) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if result["others"]:
        parts.append(Text(f"{result['others']} more wait for others: `rook docket --all`.", "dim"))
    if result["debt"]:
        parts.append(
            Text(
                f"{counted(result['debt'], 'result')} put away unjudged: `rook decisions --debt`.",
                "dim",
            )
        )
    if result["lately"]:
        head = say(("seen lately", "bold"), ("  asks nothing; `rook pin ID` puts one above", "dim"))
        parts += [Text(""), head, *(_seen(each) for each in result["lately"])]
    if result["recent"]:
        parts += [Text(""), Text("decided lately", "bold"), *(_decided(each) for each in result["recent"])]
    if result["items"]:
        parts.append(Text(f"\n`rook verdict {result['items'][0]['subject']}` shows the first, and asks.", "dim"))
    return parts


def _seen(each: dict[str, Any]) -> Text:
    word = "changed" if each["rank"] == "file" else "failed"
    who = each["worker"] or each["by"]
    return say((f"  {short(each['at'])}  ", "dim"), (each["id"], "cyan"), f" {each['kind']} ",
               (word, RANK[each["rank"]][1]), f" {one_line(each['title'], 80)}", (f"  {who}", "dim"))  # fmt: skip


def _decided(each: dict[str, Any]) -> Text:
    by = f"rule {each['rule']}" if each["rule"] else each["by"]
    option = f" {each['option']}" if each["option"] else ""
    said = f": {one_line(each['said'], 60)}" if each["said"] else ""
    waited = f", after {ago(each['waitedMs'])}" if each["item"] else ""
    return say((f"  {short(each['at'])}  ", "dim"), (each["subject"], "cyan"), f" {each['verb']}{option} by {by}",
               (waited, "dim"), said)  # fmt: skip


# -- a card ----------------------------------------------------------------------------------------------------------


def card(result: dict[str, Any]) -> RenderableType:
    parts = [*_head(result), *_asked(result), *_work(result), *_behind(result)]
    if result["decision"]:
        parts += [Text(""), Text("decided", "bold"), _decided(result["decision"])]
    if result["earlier"]:
        parts += [Text(""), Text("before", "bold"), *(_decided(each) for each in result["earlier"])]
    if result["actions"]:
        parts += [Text(""), *_actions(result)]
    return Group(*parts)


def _head(result: dict[str, Any]) -> list[RenderableType]:
    _, style = RANK[result["rank"]]
    risk, about = result["risk"], result["about"]
    parts: list[RenderableType] = [
        say(
            (result["subject"], "bold cyan"), "  ", (result["matter"], style), f"  {result['state']}",
            *([("  risk ", "dim"), (risk, RISK[risk])] if risk else []),
            (f"  {ago(result['ageMs'])}, asked of {result['askedOf'] or 'nobody'}", "dim"),
        )
    ]  # fmt: skip
    if about:
        task = f" on {about['task']} {one_line(about['title'], 80)}" if about["task"] else ""
        model = f" {about['model']}" if about["model"] else ""
        parts.append(say((f"{about['id']} {about['name']}, {about['kind']} ({about['host']}{model}), {about['status']}"
                          f"{task}", "dim")))  # fmt: skip
    return parts


def _asked(result: dict[str, Any]) -> list[RenderableType]:
    """What is asked: a question, a result, or what happened."""
    question, made = result["question"], result["result"]
    parts: list[RenderableType] = [Text("")]
    if question:
        parts.append(_quoted(question["question"]))
        parts += [Padding(say((f"{at}  ", "bold"), one_line(each, 300)), (0, 0, 0, 2))
                  for at, each in enumerate(question["options"], 1)]  # fmt: skip
        if question["recommendation"]:
            parts.append(Padding(say(("it recommends: ", "dim"), plain(question["recommendation"])), (0, 0, 0, 2)))
    elif made:
        cut = " (shortened)" if made["cut"] else ""
        parts += [say((f"{made['outcome']}{cut}", "bold")), _quoted(made["summary"])]
        if made["corrupt"]:
            parts.append(say(("What is stored is not what was reported.", "bold red")))
    else:
        parts.append(say(one_line(result["title"], 300)))
        if result["detail"] and not result["tail"]:
            parts.append(_quoted(result["detail"]))
    if result["otherwise"] and result["state"] == "open":
        parts.append(say(("if nobody answers: ", "dim"), result["otherwise"]))
    return parts


def _quoted(said: str) -> RenderableType:
    return Padding(say(plain(said)), (0, 0, 0, 2))


def _work(result: dict[str, Any]) -> list[RenderableType]:
    change = result["change"]
    if not change:
        return []
    onto = change["branch"] or "no branch"
    binary = sum(bool(file.get("binary")) for file in change["files"])
    parts: list[RenderableType] = [
        Text(""),
        say((change["id"], "bold"), f" {change['head'][:12]} for {onto}: {counted(change['paths'], 'file')} ",
            (f"+{change['added']}", "green"), " ", (f"-{change['removed']}", "red"),
            (f" and {binary} binary" if binary else "", "yellow")),
    ]  # fmt: skip
    table = new_table("", "lines", "file")
    table.show_header = False
    for file in change["files"]:
        lines = "binary" if file.get("binary") else f"+{file['added']} -{file['removed']}"
        table.add_row(Text(file["status"], FILE.get(file["status"], "")), lines, one_line(file["path"], 100))
    parts.append(Padding(table, (0, 0, 0, 2)))
    if change["paths"] > len(change["files"]):
        parts.append(
            Text(f"  and {change['paths'] - len(change['files'])} more: `rook changes show {change['id']}`", "dim")
        )
    if change["behind"]:
        parts.append(say((f"stale base: {change['behind']} landed on {onto} since", "yellow")))
    if change["landing"]:
        parts.append(
            say(f"{change['landing']['id']} {change['landing']['state']} {change['landing']['reason']}".rstrip())
        )
    parts += [_conflict(each) for each in result["conflicts"]]
    return parts


def _conflict(each: dict[str, Any]) -> Text:
    """How close another comes, as it was graded when the later of the two was reported."""
    files = ", ".join(one_line(path["path"] or "everything", 60) for path in each["paths"][:3])
    hint = f"; {one_line(each['hints'][0], 120)}" if each["hints"] else ""
    style = "bold red" if each["grade"] == "contested" else "yellow"
    return say(
        (f"{each['grade']} with {each['worker']} {each['change']}", style),
        (" (landed)" if each["landed"] else "", "dim"),
        f"{f': {files}' if files else ''}{hint}",
    )


def _behind(result: dict[str, Any]) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if result["result"] or result["checks"]:
        parts += [Text(""), *(_check(each) for each in result["checks"])]
        if not any(not each["claimed"] for each in result["checks"]):
            parts.append(Text("checks: no test run of it was recorded", "dim"))
    shown = [each for each in result["evidence"] if each["title"]]
    named = [each["ref"] for each in result["evidence"] if not each["title"]]
    for each in shown:
        parts.append(
            say((f"{each['ref']:<5} {each['kind']} ", "dim"), (each["title"], "red" if each["failed"] else ""))
        )
    if named:
        parts.append(say(("evidence: ", "dim"), ", ".join(named)))
    if result["budget"] and result["budget"]["runs"]:
        parts.append(_used(result["budget"]))
    if result["tail"]:
        parts += [Text("its last lines:", "dim"), *(say(("| ", "dim"), line) for line in result["tail"])]
    return parts


def _check(each: dict[str, Any]) -> Text:
    if each["claimed"]:
        return say(
            "check ", (each["command"], "bold"), ": ", (f"it says {each['said']}", "yellow"), (", not seen", "dim")
        )
    word = ("passed", "green") if each["passed"] else ("failed", "bold red")
    counts = ", ".join(f"{number} {name}" for name, number in each["counts"].items() if number)
    stale = (", before its last change", "yellow") if each["stale"] else ""
    return say("check ", (each["command"], "bold"), ": ", word, f" ({counts})" if counts else "", stale,
               (f" {each['ref']}", "dim"))  # fmt: skip


def _used(budget: dict[str, Any]) -> Text:
    tokens = budget["input"] + budget["output"]
    most = f" of {budget['maxTokens']:,}" if budget["maxTokens"] else ""
    runs = f"{budget['runs']} runs" if budget["runs"] > 1 else "1 run"
    return Text(f"used: {tokens:,}{most} tokens, {ago(budget['ms'])}, {runs}", "dim")


def _actions(result: dict[str, Any]) -> list[RenderableType]:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(style="dim")
    for each in result["actions"]:
        table.add_row(Text(f"  {each['action']}", "bold red" if each["destructive"] else "bold"), each["help"])
    return [say(("rook verdict ", "dim"), (result["subject"], "bold"), (" ...", "dim")), table]


# -- what was decided ------------------------------------------------------------------------------------------------


def verdict(result: dict[str, Any]) -> RenderableType:
    effect = result["effect"]
    if "command" in effect:
        return say("Its terminal: ", (f"`{effect['command']}`", "bold"))
    told = ", ".join(f"{name} {_value(value)}" for name, value in effect.items())
    again = " It was decided before." if result.get("replayed") else ""
    return Group(
        say((result["subject"], "bold cyan"), f": {result['action']}.{again}", (f" {result['decision']}", "dim")),
        *([Padding(say((told, "dim")), (0, 0, 0, 2))] if told else []),
    )  # fmt: skip


def _value(value: Any) -> str:
    if isinstance(value, str) and len(value) == 40 and value.isalnum():
        return value[:12]  # a commit
    return ", ".join(map(str, value)) if isinstance(value, list) else one_line(str(value), 60)


def decisions(result: dict[str, Any]) -> RenderableType:
    if not result["decisions"]:
        return say("Nothing was decided yet.")
    return Group(*(_decided(each) for each in result["decisions"]))


def summary(result: dict[str, Any]) -> RenderableType:
    lines: list[RenderableType] = [
        say((f"{result['count']}", "bold"), f" decided in the last {ago(result['windowMs'])}, "
            f"{result['automatic']} of them by rules; half within {ago(result['medianMs'])}, "
            f"the slowest after {ago(result['longestMs'])}.")
    ]  # fmt: skip
    for name in ("verbs", "actors", "rules", "risks"):
        if result[name]:
            told = ", ".join(f"{one_line(each, 40) or 'nobody'} {count}" for each, count in result[name].items())
            lines.append(say((f"{name:<7}", "dim"), told))
    lines.append(say(("debt   ", "dim"), f"{result['debt']} put away unjudged"))
    return Group(*lines)


def debt(result: dict[str, Any]) -> RenderableType:
    if not result["debt"]:
        return say("Nothing was put away unjudged.")
    table = new_table("subject", "when", "task", "what it said")
    for each in result["debt"]:
        table.add_row(Text(each["subject"], "cyan"), Text(short(each["at"]), "dim"), each["task"] or "",
                      one_line(each["summary"], 120))  # fmt: skip
    return table


def deliverables(result: dict[str, Any]) -> RenderableType:
    if not result["deliverables"]:
        return say("No worker has reported a result yet.")
    parts: list[RenderableType] = []
    for each in result["deliverables"]:
        change = f"  {each['change']} {each['head'][:12]}" if each["change"] else ""
        parts.append(say((each["id"], "bold cyan"), f"  {each['state']}  {each['outcome']}{change}",
                         (f"  {clock(each['at'])}", "dim")))  # fmt: skip
        if each["corrupt"] or each.get("fileState") == "corrupt":
            what = "What is stored" if each["corrupt"] else f"Its file ({each['file']})"
            parts.append(say((f"    {what} is not what was reported; it was left as it is.", "bold red")))
        parts.append(Padding(say(one_line(each["summary"], 300)), (0, 0, 0, 4)))
    return Group(*parts)


# -- rules -----------------------------------------------------------------------------------------------------------


def rules(result: dict[str, Any]) -> RenderableType:
    if not result["rules"]:
        return say("There are no rules: a person decides about everything.")
    return Group(*(rule(each) for each in result["rules"]))


def rule(each: dict[str, Any]) -> RenderableType:
    return say((each["name"], "bold"), f": {each['verdict']} if {each['told']}", (f"  set by {each['by']}", "dim"))


def removed(result: dict[str, Any]) -> RenderableType:
    return say((result["name"], "bold"), " decides no more.")


def pinned(result: dict[str, Any]) -> RenderableType:
    where = "stands before all others" if result["pinned"] else "stands in its place again"
    return say((result["subject"], "bold cyan"), f" {where}.")


SHOWS = {
    "docket": queue, "docket.pin": pinned, "card": card, "verdict": verdict, "decisions": decisions,
    "decisions.summary": summary, "debt": debt, "deliverables": deliverables, "rule.add": rule, "rule.list": rules,
    "rule.remove": removed,
}  # fmt: skip
