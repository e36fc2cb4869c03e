"""Handoffs: work passed on with its context, rendered as Markdown, optionally from a template."""

from collections.abc import Mapping, Sequence
from typing import Any

from rookery.core.record import NamedTuple

from . import errors, text

LISTS = ("files_modified", "files_created", "next_steps", "blockers", "dependencies", "related_escalations")
TEXTS = ("work_completed", "current_state", "state_file", "job_id", "notes")
FIELDS = (*TEXTS, *LISTS)


class Template(NamedTuple):
    """A predefined form: what must be filled in, and what stands there already."""

    help: str
    needs: tuple[str, ...] = ()
    presets: Mapping[str, Any] = {}
    tags: tuple[str, ...] = ()


BUILT_IN: Mapping[str, Template] = {
    "implement": Template(
        "a design is ready to be built",
        ("work_completed", "next_steps"),
        {"current_state": "Design approved, ready for implementation"},
        ("implement",),
    ),
    "review": Template(
        "a change is ready to be judged",
        ("work_completed", "files_modified"),
        {"current_state": "Ready for review", "next_steps": ["Review the change", "Answer with your verdict"]},
        ("review",),
    ),
    "bugfix": Template(
        "a fault was found and narrowed down",
        ("work_completed", "current_state"),
        {"next_steps": ["Write a test that fails", "Fix the cause", "Show the test passing"]},
        ("bug",),
    ),
    "resume": Template(
        "work stops here and someone else goes on",
        ("work_completed", "current_state", "next_steps"),
        {},
        ("resume",),
    ),
}


def templates(own: Mapping[str, Mapping[str, Any]]) -> dict[str, Template]:
    """The built-in ones and the team's own (`[templates.NAME]` with help, needs, presets, tags)."""
    made = dict(BUILT_IN)
    for name, table in own.items():
        made[name] = Template(
            str(table.get("help", "")),
            tuple(table.get("needs", ())),
            dict(table.get("presets", {})),
            tuple(table.get("tags", ())),
        )
    return made


def chosen(own: Mapping[str, Mapping[str, Any]], name: str) -> Template | None:
    """The one of that name; None where none is asked for."""
    if not name:
        return None
    known = templates(own)
    if name not in known:
        said = f"No handoff template {text.one_line(name, 40)}."
        raise errors.UnknownName(said, f"Known: {', '.join(sorted(known))}.")
    return known[name]


def fill(context: Mapping[str, Any], template: Template | None) -> dict[str, Any]:
    """A complete context: every field present, presets where nothing was given, nothing unknown."""
    unknown = [name for name in context if name not in FIELDS]
    if unknown:
        raise errors.BadInput(f"A handoff has no {unknown[0]!r}.", f"Its fields: {', '.join(FIELDS)}.")
    presets: Mapping[str, Any] = template.presets if template else {}
    filled: dict[str, Any] = {}
    for name in FIELDS:
        value: Any = context.get(name) or presets.get(name)
        filled[name] = (
            list(value or []) if name in LISTS else (value or (None if name in ("state_file", "job_id") else ""))
        )
    needed = template.needs if template else ("work_completed",)
    missing = [name for name in needed if not filled[name]]
    if missing:
        flags = " ".join(f"--{name.replace('_', '-')}" for name in missing)
        raise errors.BadInput(f"The handoff lacks {', '.join(missing)}.", f"Say it with {flags}.")
    return filled


def render(sender: str, recipients: Sequence[str], context: Mapping[str, Any]) -> str:
    """The body of a handoff, as Markdown."""
    lines = [f"Work passed from {sender} to {', '.join(recipients)}.", "", f"**Done:** {context['work_completed']}"]
    if context["current_state"]:
        lines += ["", f"**Where it stands:** {context['current_state']}"]
    for name, title in (
        ("next_steps", "Next"),
        ("blockers", "Blocked by"),
        ("dependencies", "Depends on"),
        ("files_modified", "Files changed"),
        ("files_created", "Files added"),
        ("related_escalations", "Escalations"),
    ):
        if context[name]:
            lines += ["", f"**{title}:**", *(f"- {item}" for item in context[name])]
    if context["notes"]:
        lines += ["", "**Notes:**", context["notes"]]
    return "\n".join(lines)
