"""The law of the docket: what an item is about, what comes first, what may be decided about it and what that needs.

    item        open ──verdict, or whatever settles it──> resolved
    result      open ──> promoted, accepted, revised, rejected, discarded, dismissed
                  └── its worker reports again, or its task is taken up anew ──> superseded

A subject names what exactly is judged, and never comes to mean another thing: `w3/q1` is the first question of w3,
`w3/x2` the end of its second run, `w3/2` its second result, `e3` a piece of evidence, `item-...` anything else. `w3`
alone is whatever is asked about w3 now: good enough to look at, and never to decide by (H35).
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum, StrEnum
from typing import Any

from rookery.core.record import NamedTuple

from . import errors, patterns, text

ITEM = "item-"
QUESTION = "q-"
WORKER = "w"
MOST_NUMBER = 10**9


class Rank(IntEnum):
    """What comes first."""

    NEEDS_INPUT = 10
    FAILED = 20
    ERROR = 30
    CHANGE = 40
    FILE = 50
    READY = 60


class Risk(IntEnum):
    NONE = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3


RISKS = {"": Risk.NONE, "low": Risk.LOW, "medium": Risk.MEDIUM, "high": Risk.HIGH}


def risk_name(risk: int) -> str:
    return Risk(risk).name.lower() if risk else ""


# -- subjects --------------------------------------------------------------------------------------------------------


class About(StrEnum):
    WORKER = "worker"  # whatever is asked about it now
    QUESTION = "question"
    RUN = "run"
    RESULT = "result"
    EVIDENCE = "evidence"
    ITEM = "item"
    NAME = "name"  # perhaps of a worker, as `ada`


class Subject(NamedTuple):
    text: str
    about: About
    worker: str = ""
    number: int = 0

    @property
    def is_exact(self) -> bool:
        return self.about not in (About.WORKER, About.NAME)


def subject(written: str) -> Subject:
    """What was meant, as far as its spelling tells."""
    said = written.strip()
    head, slash, rest = said.partition("/")
    if slash:
        return _of_worker(said, head, rest)
    if said.startswith(ITEM) and len(said) > len(ITEM):
        return Subject(said, About.ITEM)
    if _number(said.removeprefix(WORKER)) and said.startswith(WORKER):
        return Subject(said, About.WORKER, said)
    if said[:1].isalpha() and said[:1].islower() and said.isascii() and _number(said[1:]):
        return Subject(said, About.EVIDENCE)
    if not said or len(said) > 100 or not said.isprintable():
        raise unknown(written)
    return Subject(said, About.NAME)


def _of_worker(said: str, worker: str, rest: str) -> Subject:
    if not worker:
        raise unknown(said)
    for letter, about in (("q", About.QUESTION), ("x", About.RUN), ("", About.RESULT)):
        if rest.startswith(letter) and (number := _number(rest.removeprefix(letter))):
            return Subject(said, about, worker, number)
    raise unknown(said)


def _number(written: str) -> int:
    """A number as we write it: no sign, no leading zero; 0 if it is none."""
    good = written.isascii() and written.isdecimal() and written[0] != "0" and len(written) <= 9
    return int(written) if good else 0


def question_of(worker: str, number: int) -> str:
    return f"{worker}/q{number}"


def run_of(worker: str, number: int) -> str:
    return f"{worker}/x{number}"


def result_of(worker: str, version: int) -> str:
    return f"{worker}/{version}"


def unknown(written: str) -> errors.UnknownName:
    return errors.UnknownName(
        f"{text.quoted(written, 60)} is nothing that can be judged.",
        "A worker (w3), its question (w3/q1), failed run (w3/x2) or result (w3/2), evidence (e3), or item-...: "
        "`rook docket` lists them.", code="UNKNOWN_SUBJECT",
    )  # fmt: skip


# -- what an item is about -------------------------------------------------------------------------------------------


class Matter(StrEnum):
    QUESTION = "question"
    PLAN = "plan"
    RUN = "failed run"
    CHANGE = "change set"
    RESULT = "result"
    ERROR = "error"
    FILE = "changed file"
    LANDING = "failed landing"
    TASK = "task"
    SESSION = "session"


LANDING, TASK = "land-", "task-"


def matter(about: About, ref: str, rank: int, *, plan: bool = False) -> Matter:
    """Read from what the row says; nothing is kept twice."""
    if about is About.QUESTION:
        return Matter.PLAN if plan else Matter.QUESTION
    if about is About.RUN:
        return Matter.RUN
    if about is About.RESULT:
        return Matter.CHANGE if rank == Rank.CHANGE else Matter.RESULT
    if about is About.EVIDENCE:
        return Matter.FILE if rank == Rank.FILE else Matter.ERROR
    if ref.startswith(LANDING):
        return Matter.LANDING
    return Matter.TASK if ref.startswith(TASK) else Matter.SESSION


# -- what may be decided ---------------------------------------------------------------------------------------------


class Action(StrEnum):
    ANSWER = "answer"
    APPROVE = "approve"
    PROMOTE = "promote"
    ACCEPT = "accept"
    RETRY = "retry"
    REVISE = "revise"
    STEER = "steer"
    DISMISS = "dismiss"

    BUNDLE = "bundle"
    CHAT = "chat"
    REJECT = "reject"
    DISCARD = "discard"
    STOP = "stop"


class Needs(StrEnum):
    NOTHING = ""
    WORDS = "words"  # there is no deciding without them
    ANSWER = "answer"  # words, or one of the options
    MAY = "may"  # words are passed on, and need not be


class Terms(NamedTuple):
    needs: Needs
    help: str
    destructive: bool = False  # work is thrown away or ended: never by a single key


TERMS: Mapping[Action, Terms] = {
    Action.ANSWER: Terms(Needs.ANSWER, "answer it, in words or with an option"),
    Action.APPROVE: Terms(Needs.MAY, "the plan is good: it may write now"),
    Action.PROMOTE: Terms(Needs.MAY, "it is good: merge this very commit"),
    Action.ACCEPT: Terms(Needs.MAY, "it is good"),
    Action.RETRY: Terms(Needs.MAY, "try again"),
    Action.REVISE: Terms(Needs.WORDS, "send it back: say what must be otherwise"),
    Action.STEER: Terms(Needs.WORDS, "say something to it; nothing is decided"),
    Action.DISMISS: Terms(Needs.MAY, "take it from the list; nothing else happens"),
    Action.BUNDLE: Terms(Needs.MAY, "save it as a bundle; nothing is decided"),
    Action.CHAT: Terms(Needs.NOTHING, "how to get into its terminal"),
    Action.REJECT: Terms(Needs.WORDS, "it is not wanted: say why", destructive=True),
    Action.DISCARD: Terms(Needs.MAY, "throw it away: it does not land, and its worktree may go", destructive=True),
    Action.STOP: Terms(Needs.MAY, "have the worker stopped", destructive=True),
}
OPEN_ENDED = frozenset((Action.STEER, Action.BUNDLE, Action.CHAT))  # the item stays: nothing was decided about it

_WITH_WORKER = (Action.STEER, Action.CHAT)
_ALLOWED: Mapping[Matter, tuple[Action, ...]] = {
    Matter.QUESTION: (Action.ANSWER, *_WITH_WORKER, Action.STOP),
    Matter.PLAN: (Action.APPROVE, Action.REVISE, *_WITH_WORKER, Action.STOP),
    Matter.RUN: (Action.RETRY, Action.DISMISS, Action.BUNDLE, *_WITH_WORKER, Action.DISCARD),
    Matter.CHANGE: (Action.PROMOTE, Action.REVISE, Action.DISMISS, Action.BUNDLE, *_WITH_WORKER, Action.REJECT,
                    Action.DISCARD),
    Matter.RESULT: (Action.ACCEPT, Action.REVISE, Action.DISMISS, Action.BUNDLE, *_WITH_WORKER, Action.REJECT),
    Matter.ERROR: (Action.DISMISS, Action.BUNDLE, Action.STEER),
    Matter.FILE: (Action.DISMISS, Action.BUNDLE, Action.STEER),
    Matter.LANDING: (Action.RETRY, Action.REVISE, Action.DISMISS, Action.DISCARD),
    Matter.TASK: (Action.RETRY, Action.DISMISS, Action.REJECT),
    Matter.SESSION: (Action.STEER, Action.DISMISS),
}  # fmt: skip


def allowed(about: Matter, *, lives: bool = True) -> tuple[Action, ...]:
    """What may be decided; a worker whose program is over hears nothing."""
    return tuple(each for each in _ALLOWED[about] if lives or each not in (*_WITH_WORKER, Action.STOP))


def action(written: str) -> Action:
    said = written.strip().lower()
    if said not in tuple(Action):
        from . import names

        raise errors.BadInput(
            f"There is no action {text.quoted(written, 40)}.",
            names.did_you_mean(said, list(Action)) or f"One of: {', '.join(Action)}.", code="BAD_ACTION",
        )  # fmt: skip
    return Action(said)


def check(chosen: Action, about: Matter, can: Sequence[Action], said: str, option: int | None) -> None:
    """Is that a decision about this? What it lacks is said before anything is done."""
    if chosen not in can:
        raise errors.Refused(
            f"A {about} can not be decided with {chosen}.", f"One of: {', '.join(can)}.", code="BAD_ACTION"
        )
    terms = TERMS[chosen]
    if option is not None and terms.needs is not Needs.ANSWER:
        raise errors.BadInput(f"{chosen} takes no option.", "Options are for answers.", code="BAD_OPTION")
    if terms.needs is Needs.WORDS and not said.strip():
        raise errors.BadInput(f"{chosen} needs words.", f"It means: {terms.help}.", code="WORDS_WANTED")


class Typed(NamedTuple):
    """What a person typed at a card."""

    action: Action | None
    words: str = ""
    option: int | None = None


def typed(line: str, can: Sequence[Action], options: int) -> Typed:
    """A line at a card: a digit is an option and nothing else, a word or its beginning an action.

    A destructive action is only meant when it is written out; which one, and that it is meant, is asked besides.
    """
    said = line.strip()
    if said.isascii() and said.isdecimal():
        chosen = int(said) if len(said) <= 2 else 0
        return Typed(Action.ANSWER, option=chosen) if Action.ANSWER in can and 1 <= chosen <= options else Typed(None)
    word, _, rest = said.partition(" ")
    found = [each for each in can if each == word.lower()] or [
        each for each in can if word and each.startswith(word.lower()) and not TERMS[each].destructive
    ]
    return Typed(found[0], rest.strip()) if len(found) == 1 else Typed(None)


# -- results ---------------------------------------------------------------------------------------------------------


class Standing(StrEnum):
    OPEN = "open"
    PROMOTED = "promoted"
    ACCEPTED = "accepted"
    REVISED = "revised"
    REJECTED = "rejected"
    DISCARDED = "discarded"
    DISMISSED = "dismissed"
    SUPERSEDED = "superseded"  # its worker reported again, or its task goes on without it
    UNJUDGED = "unjudged"  # its worker is forgotten, and nobody looked (debt)


SETTLES: Mapping[Action, Standing] = {
    Action.PROMOTE: Standing.PROMOTED, Action.ACCEPT: Standing.ACCEPTED, Action.REVISE: Standing.REVISED,
    Action.REJECT: Standing.REJECTED, Action.DISCARD: Standing.DISCARDED, Action.DISMISS: Standing.DISMISSED,
}  # fmt: skip


class Check(NamedTuple):
    """A test run as it was recorded, never as it was told."""

    command: str
    passed: bool
    stale: bool = False  # something was changed after it


def are_green(checks: Sequence[Check]) -> bool:
    """At least one, all of them passed, and nothing was changed since."""
    return bool(checks) and all(each.passed and not each.stale for each in checks)


MANY_FILES, MANY_LINES = 10, 300
FEW_FILES, FEW_LINES = 5, 100
STEERING = ("rookery.toml", "AGENTS.md", "CLAUDE.md", "GEMINI.md", "Makefile", "conftest.py")


class Size(NamedTuple):
    """How much a change set is."""

    files: int = 0
    lines: int = 0
    deleted: int = 0
    steers: bool = False  # it changes what agents and builds are told to do
    binary: int = 0  # files of which no lines are counted


def steers(path: str) -> bool:
    """Does a file say what programs do here: settings of agents, hooks, builds? Such folders begin with a dot."""
    return path.startswith(".") or path.rpartition("/")[2] in STEERING


def risk_of(size: Size, checks: Sequence[Check], contested: int, outcome: str) -> Risk:
    """How much a result wants to be looked at, from what is known of it and not from what it says of itself."""
    failed = any(not each.passed for each in checks)
    files, lines = size.files, size.lines
    if failed or contested or size.steers or files > MANY_FILES or lines > MANY_LINES:
        return Risk.HIGH
    small = files <= FEW_FILES and lines <= FEW_LINES and not size.deleted and not size.binary
    if small and (not files or are_green(checks)):
        return Risk.LOW
    return Risk.MEDIUM if files or outcome == "completed" else Risk.LOW


# -- rules -----------------------------------------------------------------------------------------------------------

RULE_LISTS = ("kinds", "paths", "hosts", "policies")
RULE_NUMBERS = ("files", "lines")
GREEN, ANY = "green", "any"


class Seen(NamedTuple):
    """A result as rules look at it: only what was recorded."""

    kind: str
    host: str
    outcome: str
    paths: Sequence[str]
    every_path: bool  # these are all
    files: int
    lines: int
    checks: Sequence[Check]
    risk: Risk
    has_change: bool
    binary: int = 0  # files of which no lines are counted: git, or an attribute of the repository, calls them binary


def facts(seen: Seen) -> dict[str, Any]:
    """The same as plain values, for policies of others."""
    risk = next(word for word, each in RISKS.items() if each == seen.risk)
    checks = [each._asdict() for each in seen.checks]
    return {**seen._asdict(), "paths": [*seen.paths], "checks": checks, "risk": risk}


def check_rule(matches: Mapping[str, Any]) -> None:
    """A rule that would match everything is a mistake, and so is one that decides by nothing that was recorded."""
    if not any(matches.get(name) for name in RULE_LISTS) and matches.get("checks") != GREEN:
        raise errors.BadInput(
            "That rule would decide about everything.", "Narrow it: --kind, --path, --host or --checks green.",
            code="BAD_RULE",
        )  # fmt: skip
    if matches.get("risk") not in ("", *RISKS):
        raise errors.BadInput("There is no such risk.", f"One of: {', '.join(filter(None, RISKS))}.", code="BAD_RULE")
    for each in matches.get("paths", ()):
        patterns.parse(each)


def fits(matches: Mapping[str, Any], seen: Seen) -> bool:
    """Does a rule decide about it? Whatever is not known does not match."""
    if seen.outcome != "completed" and seen.has_change:
        return False  # kept to be looked at: what is no completed work lands by nobody's rule
    if (kinds := matches.get("kinds")) and seen.kind not in kinds:
        return False
    if (hosts := matches.get("hosts")) and seen.host not in hosts:
        return False
    if (paths := matches.get("paths")) and not _all_within(paths, seen):
        return False
    if not _is_within_size(matches, seen):
        return False
    if matches.get("checks") == GREEN and not are_green(seen.checks):
        return False
    return not (risk := matches.get("risk")) or seen.risk <= RISKS[risk]


def _is_within_size(matches: Mapping[str, Any], seen: Seen) -> bool:
    """How large a change with a binary file is, or with more files than are recorded, is not known."""
    files, lines = (matches.get(name) for name in RULE_NUMBERS)
    if files is None and lines is None:
        return True
    known = not seen.binary and seen.every_path
    return known and (files is None or seen.files <= files) and (lines is None or seen.lines <= lines)


def _all_within(written: Sequence[str], seen: Seen) -> bool:
    """Every path of it, and that there is any."""
    known = [patterns.parse(each) for each in written]
    covered = all(any(patterns.covers(each, path) for each in known) for path in seen.paths)
    return bool(seen.paths) and seen.every_path and covered


# -- refusals --------------------------------------------------------------------------------------------------------


def say_which(worker: str, exact: str, card: Mapping[str, Any]) -> errors.Refused:
    """A decision names what was looked at (H35)."""
    return errors.Refused(
        f"Which of {worker}? What is asked about it now is {exact}.",
        f"Look at it (`rook docket {exact}`), then say `rook verdict {exact} ACTION`.",
        code="SAY_WHICH", subject=exact, card=dict(card),
    )  # fmt: skip


def stale(named: str, why: str, now: str, card: Mapping[str, Any] | None) -> errors.Refused:
    """What was judged is not what is there any more: nothing was sent, and nothing was decided."""
    hint = f"Look again: `rook docket {now}`." if now else "`rook docket` lists what waits."
    return errors.Refused(
        f"{named} {why}. Nothing was done.", hint, code="STALE_CARD", subject=now or named,
        card=dict(card) if card is not None else None,
    )  # fmt: skip


def own_work(named: str) -> errors.NotYours:
    return errors.NotYours(
        f"{named} is your own work.", "Whoever asked for it decides: `rook wait` waits for that.", code="OWN_WORK"
    )


def not_asked(named: str, of: str) -> errors.NotYours:
    return errors.NotYours(
        f"{named} is for {of} to decide.", f"`rook send {of}` says what you think of it.", code="NOT_ASKED"
    )
