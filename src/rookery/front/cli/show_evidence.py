"""Evidence for people: a line each, coloured by what it means; and one of them with its text, fenced."""

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from rookery.core.text import fence, one_line

from .showing import clock, giving_way, new_table, say, short

LINES, CHARACTERS = 120, 12_000  # of a text on a terminal
KINDS = {
    "error": "red", "edit": "yellow", "command": "cyan", "code": "magenta", "prompt": "blue", "response": "",
    "test": "cyan", "commit": "green", "status": "dim", "tail": "dim", "bundle": "magenta",
}  # fmt: skip


def _kind(piece: dict[str, Any]) -> Text:
    failed = piece.get("failed", False)
    return Text(piece["kind"] + (" failed" if failed and piece["kind"] != "error" else ""),
                "bold red" if failed else KINDS.get(piece["kind"], "green"))  # fmt: skip


def _artifacts(result: dict[str, Any]) -> RenderableType:
    if not result["artifacts"]:
        hint = "`rook artifacts add NAME --file FILE` shares something."
        return Text(f"Nothing of this kind was recorded or shared. {hint}", "dim")
    table = new_table("id", "kind", "by", "when", "what")
    table.columns[0].min_width = None  # short ids, mostly
    for each in result["artifacts"]:
        pin = "* " if each.get("pinned") else ""
        table.add_row(
            Text(each["id"], "bold"), _kind(each), one_line(each.get("worker") or each["by"], 16),
            Text(short(each["at"]), "dim"), one_line(f"{pin}{each.get('title') or each['name']}", 160),
        )  # fmt: skip
    gone = f"{result['dropped']:,} older ones were let go of. " if result["dropped"] else ""
    return Group(giving_way(table, "what"), Text(f"{gone}`rook show ID` shows one.", "dim"))


def _shown(result: dict[str, Any]) -> RenderableType:
    about = [result["worker"] or "", result["taskId"] or "", f"by {result['by']}", clock(result["at"])]
    facts = [f"{name}: {one_line(str(value), 100)}" for name, value in result["data"].items()]
    kind = _kind(result)
    pinned = " (pinned)" if result["pinned"] else ""
    head = say((result["id"], "bold cyan"), " ", (kind.plain, str(kind.style)), " ",
               (one_line(result["title"], 200), "bold"), (pinned, "yellow"))  # fmt: skip
    parts: list[RenderableType] = [
        head,
        Text(", ".join(filter(None, about)), "dim"),
        *([Text(", ".join(facts), "dim")] if facts else []),
    ]
    if result["encoding"] != "text":
        return Group(*parts, Text("(not text)", "dim"))
    if result["body"]:
        parts += [Text(""), *_text(result)]
    return Group(*parts)


def _text(result: dict[str, Any]) -> list[RenderableType]:
    """Agents' text is data: every line is marked, and there is an end to it."""
    body = result["body"][:CHARACTERS]
    lines = body.split("\n")[:LINES]
    shown: list[RenderableType] = [Text(fence("\n".join(lines)))]
    if not result["whole"]:
        shown.append(Text(f"Not all of {result['bytes']:,} bytes: `rook show {result['short']} --full`.", "dim"))
    if len("\n".join(lines)) < len(result["body"]):
        shown.append(Text(f"The first {len(lines)} lines; --json has all that was asked for.", "dim"))
    return shown


def _pinned(result: dict[str, Any]) -> RenderableType:
    word = "Pinned" if result["pinned"] else "No longer pinned"
    return say(f"{word}: {', '.join(result['ids'])}.")


# -- search ------------------------------------------------------------------------------------------------------------


def _search(result: dict[str, Any]) -> RenderableType:
    lines: list[RenderableType] = []
    for kind, head in (("artifacts", _found), ("messages", _letter), ("tasks", _task), ("decisions", _decision)):
        for hit in result[kind]:
            lines += [head(hit), Padding(Text(one_line(hit["snippet"], 160)), (0, 0, 0, 4))]
    return Group(*lines) if lines else say(f"Nothing found for {one_line(result['query'], 60)!r}.")


def _found(hit: dict[str, Any]) -> Text:
    kind = _kind(hit)
    return say((hit["id"], "bold"), "  ", (kind.plain, str(kind.style)), "  ", one_line(hit["title"], 80),
               (f"  {hit['worker'] or hit['by']}  {clock(hit['at'])}", "dim"))  # fmt: skip


def _letter(hit: dict[str, Any]) -> Text:
    return say((hit["id"], "bold"), "  ", (one_line(hit["subject"], 60), "cyan"),
               (f"  {hit['from']} \u2192 {hit['to']}  {clock(hit['created_at'])}", "dim"))  # fmt: skip


def _task(hit: dict[str, Any]) -> Text:
    return say((hit["id"], "bold"), "  ", (one_line(hit["title"], 80), "cyan"), (f"  {hit['status']}", "dim"))


def _decision(hit: dict[str, Any]) -> Text:
    return say((hit["id"], "bold"), f"  {hit['verb']} ", (hit["subject"], "bold"),
               (f"  {hit['by']}  {clock(hit['at'])}", "dim"))  # fmt: skip


SHOWS = {"search": _search, "artifacts": _artifacts, "show": _shown, "pin": _pinned, "unpin": _pinned}
