"""A hook whose decision failed: read the policy, let `core.hook_failures` decide, write the answer for the host."""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from rookery.core import hook_failures
from rookery.core.hook_failures import Failure, Policy
from rookery.core.hooks import Answer, Event, Moment
from rookery.front.cli.call import Call, Desk, Options, Reply
from rookery.hosts import known, profile

from .seen import Seen

REFUSED = 2  # what every agent program takes for a no
CLOSED = "--closed"


def reply(desk: Desk | None, seen: Seen, error: BaseException) -> Reply:
    """The reply of `rook hook`: exit code 2 refuses, anything else lets the tool run; 1 is never used."""
    failure, reason = hook_failures.kind_of(error), hook_failures.describe(error)
    moment = seen.event.moment if seen.event else seen.moment
    answer = hook_failures.decide(moment, failure, reason, policy_of(desk, seen.closed, failure))
    return render(seen, answer) if any(answer) else Reply(err=f"rook: {reason}\n")


def render(seen: Seen, answer: Answer) -> Reply:
    """Exit code 2 and the reason on stderr; as JSON to a host that does not read the reason there."""
    said = answer.deny or answer.ask or answer.context
    text = written(seen, answer)
    if answer.deny and not (text and seen.host and not seen.host.reads_complaints):
        return Reply(err=f"{said}\n", code=REFUSED)
    if answer.ask and not text:
        return Reply(err=f"{said}\n", code=REFUSED)
    if seen.host is None:
        text = json.dumps({"systemMessage": said}) + "\n"  # most programs show that to their user
    return Reply(text, f"{said}\n")


def written(seen: Seen, answer: Answer) -> str:
    moment = seen.moment or (Moment.BEFORE if seen.closed else None)
    if seen.host is None or (seen.event is None and moment is None):
        return ""
    event = seen.event or Event(moment or Moment.BEFORE, profile.word_for(seen.host, moment or Moment.BEFORE))
    with suppress(Exception):  # then the exit code is all that is left
        return profile.write(seen.host, event, answer)
    return ""


def policy_of(desk: Desk | None, closed: bool, failure: Failure) -> Policy:
    """As far as it can be read: the settings, else those of the environment; then the team's stored definition, unless
    it is the store that failed."""
    settings = _settings(desk)
    found = Policy(closed, bool(settings.get("guard.strict")), str(settings.get("guard.opaque", "check")))
    if desk is None or found.reason or failure in (Failure.STORE, Failure.LATE, Failure.USAGE):
        return found
    with suppress(Exception):
        return found._replace(strict=bool(desk.verb("turn.others", {})["strict"]))
    return found


def _settings(desk: Desk | None) -> Mapping[str, Any]:
    wanted = ("guard.strict", "guard.opaque")
    if desk is None:
        return {}
    with suppress(Exception):  # a file of settings is broken, the folder is gone ...
        return {name: desk.house.settings[name] for name in wanted}
    with suppress(Exception):
        from rookery import config

        read = config.load(environ=desk.call.environ, user_file=None, repo_file=None)
        return {name: read[name] for name in wanted}
    return {}


# -- where no command ran to its end ---------------------------------------------------------------------------------


def without_answer(argv: Sequence[str], given: bytes | None, error: Exception) -> tuple[int, str, str]:
    """For `rookery.door`: (exit code, stdout, stderr) of a hook that was too late, lost its daemon or broke."""
    call = Call(list(argv), _folder(), os.environ, str, print)
    told = of_command(call, argv, error, given)
    return told.code, told.out, told.err


def of_command(call: Call, argv: Sequence[str], error: BaseException, given: bytes | None = None) -> Reply:
    """The same for a command that failed before or beside its own answer; `argv` may begin with shared options."""
    seen = _seen(argv, given)
    desk = Desk(call, Options())
    try:
        return reply(desk, seen, error)
    finally:
        with suppress(Exception):  # it was opened to read the policy, and goes with the process
            desk.close()


def _seen(argv: Sequence[str], given: bytes | None) -> Seen:
    """The host and the moment, by the words of the command line and by the event, as far as either can be read."""
    seen = Seen(CLOSED in argv)
    words = [word for word in argv[list(argv).index("hook") + 1 :] if word[:1] != "-"] if "hook" in argv else []
    with suppress(Exception):  # a host of the user's own, or no such moment
        seen.moment = Moment(words[1]) if len(words) > 1 else None
        seen.host = known.find(words[0]) if words else None
    if seen.host is None or given is None:
        return seen
    with suppress(Exception):  # no event: it counts as one before a tool
        from . import answering

        seen.event = profile.read(seen.host, answering.parsed(given.decode("utf-8", "surrogateescape")), seen.moment)
    return seen


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return os.environ.get("PWD", "/")
