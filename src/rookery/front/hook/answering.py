"""What is done at each moment of a turn."""

import json
import os
from collections.abc import Mapping
from typing import Any, cast

from rookery.core import errors, hooks
from rookery.core.caller import Caller
from rookery.core.hooks import NOTHING, Answer, Deed, Event, Moment
from rookery.core.record import NamedTuple
from rookery.front.cli.call import Desk, Later, terminal_of
from rookery.hosts.profile import Profile, record_of
from rookery.runtime import git, lineage, process

MAIL_LIMIT = 4_000  # characters put before an agent in the middle of its turn


class Answered(NamedTuple):
    answer: Answer = NOTHING
    later: Later | None = None


def parsed(raw: str) -> Mapping[str, Any]:
    try:
        given = json.loads(raw)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise errors.BadInput("Standard input is no JSON object.", "A hook gets its event there.", code="BAD_EVENT")
    return cast("dict[str, Any]", given)


def placed(desk: Desk, event: Event) -> Desk:
    """The desk where the event says the agent is: an agent program changes folders, and its hooks need not."""
    if not os.path.isabs(event.cwd) or "\0" in event.cwd or event.cwd == desk.call.cwd:
        return desk
    return Desk(desk.call._replace(cwd=event.cwd), desk.options)


def at(desk: Desk, profile: Profile, event: Event, *, closed: bool = False) -> Answered:
    if event.moment is Moment.START:
        return _start(desk, profile, event)
    if event.moment is Moment.BEFORE:
        from . import guard

        return Answered(_deciding(desk, event) or guard.judged(desk, event, closed=closed))
    if event.moment is Moment.AFTER:
        return _after(desk, profile, event)
    if event.moment is Moment.PROMPT and _is_mail(event.prompt):
        return _entered(desk, event)
    if event.moment in (Moment.PROMPT, Moment.STOP):
        offered = desk.verb("turn.offer", _asked(profile, event))
        if offered.get("watched"):
            from . import watch

            if watch.look_again(desk, event, offered["watched"]):
                offered = desk.verb("turn.offer", _asked(profile, event))
        late = offered.get("absent") and desk.joins_by_itself
        return _late(desk, profile, event, offered) if late else _offered(desk, event, offered)
    return _entered(desk, event)


def _deciding(desk: Desk, event: Event) -> Answer | None:
    """A command in which the agent would decide for the user, or land its own work with git."""
    if event.deed is not Deed.SHELL:
        return None
    if "rook" in event.command:
        from rookery.core import deciding_commands  # few commands speak of us

        if part := deciding_commands.find(event.command):
            return Answer(deny=deciding_commands.denial(part))
    branch, tree = desk.call.environ.get("ROOK_BRANCH", ""), desk.call.environ.get("ROOK_TREE", "")
    if branch and tree and "git" in event.command:
        from rookery.core import branch_moves

        if part := branch_moves.find(event.command, branch, tree):
            return Answer(deny=branch_moves.denial(part, branch))
    return None


def _is_mail(prompt: str) -> bool:
    """A prompt that a courier typed or queued has the mail in it. Who put it there writes that down, maybe not yet."""
    if "Rookery: " not in prompt:
        return False
    from rookery.core import digest  # few prompts speak of us

    return digest.is_mail(prompt)


def _asked(profile: Profile, event: Event) -> dict[str, Any]:
    asked: dict[str, Any] = {"moment": event.moment, "limit": mail_limit(profile)}
    if "#" in event.prompt:
        from rookery.core import bundles  # few prompts name a reference

        asked["named"] = bundles.named(event.prompt)
    return asked


def mail_limit(profile: Profile) -> int:
    return min(MAIL_LIMIT, profile.context_limit)


def _start(desk: Desk, profile: Profile, event: Event) -> Answered:
    note_program(desk)
    if desk.joins_by_itself:
        try:
            _join(desk, profile, event)
        except errors.RookError as error:
            return Answered(Answer(context=f"Rookery: you have no name in this team. {error.message} {error.hint}"))
    return _greeted(desk, profile, event)


def note_program(desk: Desk) -> None:
    """What runs below this program acts as its agent from now on, whether or not it joins."""
    if desk.call.peer:
        desk.house.client.call("turn.program", {}, desk.joining())


def _greeted(desk: Desk, profile: Profile, event: Event) -> Answered:
    limit = min(hooks.GREETING_LIMIT, profile.context_limit)
    return _offered(desk, event, desk.verb("turn.offer", {"moment": Moment.START, "limit": limit}))


def _late(desk: Desk, profile: Profile, event: Event, offered: Mapping[str, Any]) -> Answered:
    """A program whose start nobody heard of, or not in time, on a machine that had much to do: it joins with its first
    prompt. Why it could not is told at a start, and not at every prompt."""
    try:
        _join(desk, profile, event)
    except errors.RookError:
        return _offered(desk, event, offered)
    return _greeted(desk, profile, event)


def _join(desk: Desk, profile: Profile, event: Event) -> None:
    bound = lineage.binding(desk.chain)
    caller: Caller = desk.joining()
    if desk.call.environ.get("ROOK_WORKER"):  # its session was begun for it, with a process above its program's
        caller = caller._replace(lineage=desk.caller().lineage)
    record = event.transcript or record_of(profile, event.session, desk.call.environ)
    args = {"host": profile.name, "host_id": event.session[:200], "transcript": record[:1000],
            "name": desk.options.agent or desk.call.environ.get("ROOK_AGENT") or "", "model": event.model[:100],
            "branch": git.branch(desk.call.cwd) or "", "terminal": terminal_of(desk.call.environ, desk.call.peer),
            "ways": _ways(desk, profile, event, bound) if bound else None}  # fmt: skip
    desk.house.client.call("turn.start", args, caller)


def _ways(desk: Desk, profile: Profile, event: Event, program: process.Process) -> dict[str, Any] | None:
    """How this session of the program is reached through the program itself, as far as that can be told."""
    from rookery.hosts import reaching

    known = reaching.ways(profile.name)
    if not known:
        return None
    environ = {**process.variables(program.pid, reaching.VARIABLES), **_ours(desk.call.environ)}
    words = process.command_of(program.pid) or _on_path(profile.name, environ)
    found = reaching.address(profile.name, words, event.session, desk.call.cwd, environ)
    return dict.fromkeys(known, found) if found else None


def _on_path(name: str, environ: Mapping[str, str]) -> list[str]:
    """Where its own process does not tell: a program may write over the words it was started with."""
    from rookery.runtime import installed

    found = installed.on_path([name], environ).get(name, "")
    return [found] if os.path.isabs(found) else []


def _ours(environ: Mapping[str, str]) -> dict[str, str]:
    """What tells `rook` where it is. An address is kept in the ledger, so no secret is part of it."""
    return {name: value for name, value in environ.items() if name.startswith("ROOK_") and name != "ROOK_TOKEN"}


def _entered(desk: Desk, event: Event) -> Answered:
    """There is nothing to say; where the program is by now is written down."""
    phase = hooks.phase_of(event)
    if phase is None:
        return Answered()
    return Answered(later=Later("turn.phase", {"phase": phase, "gate": event.gate}, desk.call.cwd, desk.options))


def _after(desk: Desk, profile: Profile, event: Event) -> Answered:
    kind, target = hooks.activity_of(event)
    args = {"kind": kind, "target": _shown(desk, target), "limit": mail_limit(profile), "call": event.call[:200],
            "inner": event.inner}  # fmt: skip
    offered = desk.verb("turn.step", args)
    done = _offered(desk, event, offered)
    if not offered["watched"]:
        return done
    from . import watch

    seen = watch.end(desk, event, offered["watched"])
    context = "\n\n".join(filter(None, (seen, done.answer.context)))
    return done._replace(answer=Answer(context=context))


def _shown(desk: Desk, target: str) -> str:
    """A file as the team calls it."""
    root = desk.house.places.root.rstrip("/") + "/"
    return target.removeprefix(root)[:500].replace("\0", "")


def _offered(desk: Desk, event: Event, offered: Mapping[str, Any]) -> Answered:
    """What was offered, and what is written down once it was shown: that it was, and where the program is by then."""
    text, held = offered["text"], offered["hold"]
    answer = Answer(hold=text) if held else Answer(context=text)
    phase = None if event.moment is Moment.AFTER else hooks.phase_of(event, held=held)  # a step has written it down
    moved = phase is not None and offered["phase"] not in (None, phase)
    loaded = {name: offered[name] for name in ("chips", "used") if offered.get(name)}
    if not (offered["upto"] or offered["settle"] or offered["nudge"] or moved or loaded):
        return Answered(answer)
    told = {"moment": event.moment, "shown": offered["shown"], "upto": offered["upto"], "hold": held, **loaded}
    if offered["nudge"]:
        told["nudge"] = True
    if moved:
        told["phase"] = phase
    return Answered(answer, Later("turn.told", told, desk.call.cwd, desk.options))
