"""What is known of an agent program, as data, and the two things done with it: read an event, write an answer."""

import json
from collections.abc import Mapping
from typing import Any, cast

from rookery.core import errors
from rookery.core.hooks import Answer, Deed, Event, Moment
from rookery.core.record import NamedTuple
from rookery.core.text import well_formed

TEXT, EVENT = "{text}", "{event}"  # in a form: what is said, and the program's word for the moment
SESSION = "{session}"
COMPLAINT = "complaint"  # a form: plain text on standard error, and exit code 2
PERMISSION = "permission"  # the usual dialog
PATHS_LIMIT = 1000
_FOLDER_KEYS = ("cwd", "workdir", "working_directory", "working_dir", "workingDirectory", "directory", "dir_path")


class Tool(NamedTuple):
    """A tool that writes, reads or runs something, and the fields of its input that say what."""

    deed: Deed
    paths: tuple[str, ...] = ()  # of fields with a path, or a list of them
    command: str = ""
    patch: str = ""  # a field with a patch that names its files


class Fields(NamedTuple):
    """Where an event has what: names, with dots between those of nested objects."""

    event: str = "hook_event_name"
    session: str = "session_id"
    cwd: str = "cwd"
    transcript: str = "transcript_path"
    model: str = "model"
    tool: str = "tool_name"
    input: str = "tool_input"
    call: str = "tool_use_id"
    again: str = "stop_hook_active"
    notice: str = "notification_type"
    inner: str = "agent_id"
    source: str = "source"
    prompt: str = "prompt"


class Forms(NamedTuple):
    """How an answer is written: JSON with TEXT and EVENT in it. None: the program can not be told that."""

    deny: Any = None
    ask: Any = None
    hold: Any = None
    context: Any = None
    warn: Any = None  # context before a tool that runs all the same, where that is another form
    wake: Any = None  # what wakes it when it is idle, said by a process that waits beside it; or COMPLAINT


class Profile(NamedTuple):
    name: str
    title: str
    events: Mapping[str, Moment]
    tools: Mapping[str, Tool]
    forms: Forms
    fields: Fields = Fields()
    context_limit: int = 10_000  # characters that the program takes
    speaks_at: frozenset[Moment] = frozenset(
        (Moment.START, Moment.PROMPT, Moment.BEFORE, Moment.AFTER)
    )  # where context arrives
    notices: Mapping[str, str] = {}  # what a notice calls a dialog: our word for it, or "" where the program rests
    stays: tuple[str, str] = ("", "")  # a variable and its value where the program goes on after a turn; else always
    home: tuple[str, str] = ("", "")  # its own folder: what this variable says, or this one in the user's home
    record: str = ""  # where it writes a session down in there, if its events do not tell: with SESSION in it
    reads_complaints: bool = True  # of a hook that exits with 2, stderr is the reason that the model is given
    rests_later: bool = False  # a stop may be in the middle of a turn: that it rests is told otherwise


def record_of(profile: Profile, session: str, environ: Mapping[str, str]) -> str:
    """Where a program writes this session down; "" if that is not known, or the session has no plain name."""
    if not profile.record or not (session.isascii() and session.replace("-", "").isalnum()):
        return ""
    variable, folder = profile.home
    home = environ.get(variable) or f"{environ.get('HOME', '')}/{folder}"
    return f"{home}/{profile.record.replace(SESSION, session)}" if home.startswith("/") else ""


# -- an event --------------------------------------------------------------------------------------------------------


def read(profile: Profile, given: Mapping[str, Any], moment: Moment | None = None) -> Event:
    """The event, as far as it is one. What is missing or of another kind than expected is taken as not said; but
    before a tool the decision hangs on it, so there it is refused (BAD_EVENT)."""
    at = profile.fields
    name = _text(given, at.event)
    moment, gate = _noticed(profile, moment or profile.events.get(name, Moment.OTHER), _text(given, at.notice))
    tool = _text(given, at.tool)
    known = profile.tools.get(tool) or _in_other_case(profile, tool)
    put = _at(given, at.input)
    fields = cast("Mapping[str, Any]", put) if isinstance(put, Mapping) else {}
    if moment is Moment.BEFORE:
        _check(given, at, known, put)
    paths, untold = _paths(known, fields)
    deed, command = known.deed, _command(fields.get(known.command))
    if deed is Deed.OTHER and moment is Moment.BEFORE:
        from rookery.core import other_tools  # few tools are in no table

        deed, paths, command, untold = other_tools.judge(tool, fields)
    if deed is Deed.SHELL and moment is Moment.BEFORE:
        command = _placed(command, fields)
    return Event(
        moment=moment, name=name or word_for(profile, moment), session=_text(given, at.session),
        cwd=_text(given, at.cwd), transcript=_text(given, at.transcript), model=_text(given, at.model),
        tool=tool, deed=deed, paths=paths, command=command,
        prompt=_text(given, at.prompt) if moment is Moment.PROMPT else "",
        call=_text(given, at.call), again=_at(given, at.again) is True, untold=untold, gate=gate,
        inner=bool(_text(given, at.inner)), midway=_is_midway(profile, moment, _text(given, at.source)),
    )  # fmt: skip


def _in_other_case(profile: Profile, tool: str) -> Tool:
    folded = tool.casefold()
    return next((known for name, known in profile.tools.items() if name.casefold() == folded), Tool(Deed.OTHER))


def _check(given: Mapping[str, Any], at: Fields, tool: Tool, put: Any) -> None:
    """Is everything that the decision hangs on there, and of the type it should be?"""
    if not _text(given, at.tool):
        raise _no_event(at.tool)
    cwd = _at(given, at.cwd)
    if not isinstance(cwd, str | None) or (cwd and not _is_name(cwd)):
        raise _no_event(at.cwd)
    if tool.deed not in (Deed.EDIT, Deed.SHELL):
        return
    if not isinstance(put, Mapping):
        raise _no_event(at.input)
    fields = cast("Mapping[str, Any]", put)
    if tool.deed is Deed.SHELL and (fields.get(tool.command) == [] or not _is_text(fields.get(tool.command))):
        raise _no_event(f"{at.input}.{tool.command}")
    wrong = [name for name in (*tool.paths, tool.patch) if fields.get(name) is not None and not _is_text(fields[name])]
    if wrong:
        raise _no_event(f"{at.input}.{wrong[0]}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(each, str) for each in cast("list[Any]", value))
    )


def _is_name(text: str) -> bool:
    """Whether a file can be called that: nothing blank, no NUL, no half of a surrogate pair."""
    return bool(text.strip()) and "\0" not in text and well_formed(text) == text


def _no_event(field: str) -> errors.BadInput:
    return errors.BadInput(
        f"The event has no {field} that can be read.", "An agent program gives it before a tool.", code="BAD_EVENT"
    )


def _noticed(profile: Profile, moment: Moment, notice: str) -> tuple[Moment, str]:
    """A program may have one event for all its notices: which dialog it is, or that there is none."""
    if moment is not Moment.BLOCKED:
        return moment, ""
    gate = profile.notices.get(notice) if notice else PERMISSION
    return (Moment.OTHER, "") if gate is None else (moment, gate) if gate else (Moment.REST, "")


def _is_midway(profile: Profile, moment: Moment, source: str) -> bool:
    return (moment is Moment.START and source == "compact") or (moment is Moment.STOP and profile.rests_later)


def word_for(profile: Profile, moment: Moment) -> str:
    return next((name for name, known in profile.events.items() if known is moment), moment.value)


def _at(given: Mapping[str, Any], place: str) -> Any:
    value: Any = given
    for name in place.split("."):
        if not isinstance(value, Mapping):
            return None
        value = cast("Mapping[str, Any]", value).get(name)
    return value


def _text(given: Mapping[str, Any], place: str) -> str:
    value = _at(given, place)
    return value if isinstance(value, str) else ""


def _command(value: Any) -> str:
    """As one line of shell; some programs give the words one by one."""
    if isinstance(value, list):
        from shlex import join

        words = [str(word) for word in cast("list[Any]", value)]
        is_text = bool(words) and any(char.isspace() for char in words[0])  # no program is called that
        return " ".join(words) if is_text else join(words)
    return value if isinstance(value, str) else ""


def _placed(command: str, fields: Mapping[str, Any]) -> str:
    """The command as one that goes to its folder first, if the tool is told to run it in one."""
    folder = next((fields[key] for key in _FOLDER_KEYS if isinstance(fields.get(key), str) and fields[key]), "")
    if not folder or not command:
        return command
    from shlex import quote

    return f"cd {quote(folder)} && {command}"


def _paths(tool: Tool, fields: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    """What the tool writes or reads, and why that can not be told, if so."""
    found: list[str] = []
    for name in tool.paths:
        value = fields.get(name)
        each = cast("list[Any]", value) if isinstance(value, list) else [value]
        found += [path for path in each if isinstance(path, str) and path]
    odd = [path for path in found if not _is_name(path)] if tool.deed is Deed.EDIT else []
    if tool.patch:
        from rookery.core.shell.edits import patched  # few tools have one

        named = patched(_command(fields.get(tool.patch)))
        if named is None:
            return (), "the patch does not tell its files"
        found += named
    if len(found) > PATHS_LIMIT:
        return (), "it names too many files"
    if tool.deed is Deed.EDIT and not found:
        return (), "its input names no file"
    return tuple(found), "a path in its input can not be read" if odd else ""


# -- an answer -------------------------------------------------------------------------------------------------------


def write(profile: Profile, event: Event, answer: Answer) -> str:
    """What is printed for the program; nothing where there is nothing to say or no way to say it."""
    form, text = _form(profile, event, answer)
    if form is None or not text:
        return ""
    return json.dumps(_filled(form, text, event.name)) + "\n"


def wake(profile: Profile, text: str) -> tuple[str, str, int]:
    """What a process says that ends to wake its program: standard output, standard error, and its exit code."""
    if profile.forms.wake == COMPLAINT:
        return "", text, 2
    return json.dumps(_filled(profile.forms.wake, text, Moment.IDLE.value)) + "\n", "", 0


def _form(profile: Profile, event: Event, answer: Answer) -> tuple[Any, str]:
    forms, more = profile.forms, f"\n\n{answer.context}" if answer.context else ""
    if answer.deny:
        return forms.deny, answer.deny + more
    if answer.ask:
        return (forms.ask or forms.deny), answer.ask + more
    if answer.hold:
        return forms.hold, answer.hold
    if event.moment not in profile.speaks_at:
        return None, ""
    return (event.moment is Moment.BEFORE and forms.warn) or forms.context, answer.context


def _filled(form: Any, text: str, event: str) -> Any:
    if isinstance(form, Mapping):
        return {key: _filled(value, text, event) for key, value in cast("Mapping[str, Any]", form).items()}
    if isinstance(form, (list, tuple)):
        return [_filled(value, text, event) for value in cast("list[Any]", form)]
    if not isinstance(form, str):
        return form
    return text if form == TEXT else form.replace(EVENT, event)
