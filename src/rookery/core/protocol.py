"""What a worker says of its work, and what counts as saying it.

    report   ''  ──ask──> asking ──the last answer──> ''      ──done──> done       ──fail──> failed
             └── whatever was still asked is withdrawn by done, by fail, and when its program is over ──┘

A result that says nothing is not a result (H33): it is turned back with everything that is missing, at once. Evidence
is what someone else can look up: an artifact, a commit, a file, a command with what came of it.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, cast

from rookery.core.record import NamedTuple

from . import errors, text
from .workers import Report, State

STEPS = 12
OPTIONS = 9
STEP_LIMIT = 200
OPTION_LIMIT = 300
NOTE_LIMIT = 10_000
QUESTION_LIMIT = 10_000
SUMMARY_LIMIT = 50_000  # a planner answers with a whole plan
EVIDENCE = 100
OPEN = 5  # questions of one worker that wait at once
WORDS = 8  # of a summary
TELLING = 4  # of them, other words than those that say "done" in more words
WHY_WORDS = 12  # where there is nothing to show, the words have to
REASON_WORDS = 3
QUESTION = "q-"
NUMBERED = ("artifact-", "bundle-")
_HEX = frozenset("0123456789abcdef")


class Outcome(StrEnum):
    COMPLETED = "completed"
    FINDINGS = "findings"
    PROPOSAL = "proposal"
    NO_EVIDENCE = "no_evidence"


class Risk(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


# -- the board -------------------------------------------------------------------------------------------------------


class Stage(StrEnum):
    TODO = "todo"
    DOING = "doing"
    DONE = "done"


_MARKS = {"[ ]": Stage.TODO, "[]": Stage.TODO, "[>]": Stage.DOING, "[-]": Stage.DOING, "[x]": Stage.DONE}


def board(steps: Sequence[Any]) -> list[dict[str, str]]:
    """A list of steps: `{text, state}` each, or a line as `doing: write the tests` or `[x] read the code`."""
    if len(steps) > STEPS:
        raise errors.BadInput(f"{len(steps)} steps.", f"At most {STEPS}: the larger ones.", code="TOO_MANY_STEPS")
    return [_step(each) for each in steps]


def _step(given: Any) -> dict[str, str]:
    if isinstance(given, Mapping):
        fields = cast("Mapping[str, Any]", given)
        said, state = fields.get("text", ""), fields.get("state", Stage.TODO)
        if set(fields) - {"text", "state"} or not isinstance(said, str) or state not in tuple(Stage):
            raise _bad_step(str(state) if state not in tuple(Stage) else "")
    elif isinstance(given, str):
        said, state = _written_step(given)
    else:
        raise _bad_step("")
    line = text.one_line(text.check_text(said, "a step"), STEP_LIMIT)
    if not line:
        raise errors.BadInput("A step has no words.", "As `doing: write the tests`.", code="BAD_STEP")
    return {"text": line, "state": str(state)}


def _written_step(line: str) -> tuple[str, str]:
    head, colon, rest = line.strip().partition(":")
    if colon and head.strip().lower() in tuple(Stage):
        return rest, head.strip().lower()
    for mark, state in _MARKS.items():
        if line.strip().lower().startswith(mark):
            return line.strip()[len(mark) :], state
    return line, Stage.TODO


def _bad_step(state: str) -> errors.BadInput:
    told = f"A step can not be {text.quoted(state, 40)}." if state else "A step is a text and how far it is."
    return errors.BadInput(told, f'{{"text": ..., "state": one of {", ".join(Stage)}}}.', code="BAD_STEP")


# -- questions -------------------------------------------------------------------------------------------------------

ASK, PLAN = "ask", "plan"
OPENED, ANSWERED, WITHDRAWN = "open", "answered", "withdrawn"


class Question(NamedTuple):
    question: str
    kind: str
    risk: str
    options: tuple[str, ...]
    advice: str


def question(said: str, *, risk: str, options: Sequence[str], advice: str, plan: bool) -> Question:
    asked = limited(said, "the question", QUESTION_LIMIT).strip()
    if not asked:
        raise errors.BadInput("What is the question?", "Say what you need to know, and what it decides.")
    if risk and risk not in tuple(Risk):
        raise errors.BadInput(f"There is no risk {text.quoted(risk, 40)}.", f"One of: {', '.join(Risk)}.")
    if len(options) > OPTIONS:
        raise errors.BadInput(f"{len(options)} options.", f"At most {OPTIONS}.", code="TOO_MANY_OPTIONS")
    if plan and options:
        raise errors.BadInput("A plan is approved or rejected.", "Leave the options out, or ask without plan.")
    chosen = tuple(text.one_line(limited(each, "an option", NOTE_LIMIT), OPTION_LIMIT) for each in options)
    if not all(chosen) or len(set(chosen)) < len(chosen):
        raise errors.BadInput("Two options are the same, or one is empty.", "Each says something of its own.")
    advised = limited(advice, "the recommendation", NOTE_LIMIT).strip()
    return Question(asked, PLAN if plan else ASK, risk, chosen, advised)


class Answer(NamedTuple):
    words: str
    choice: int | None  # which option, from 1
    approved: bool | None  # of a plan


def answer(kind: str, options: Sequence[str], said: str, option: int | None, approve: bool, reject: bool) -> Answer:
    """What was answered, or why that is no answer to this question."""
    words = limited(said, "the answer", NOTE_LIMIT).strip()
    if approve and reject:
        raise errors.BadInput("Approved or rejected?", "One of the two.", code="BAD_ANSWER")
    if kind == PLAN:
        return _plan_answer(words, option, approve, reject)
    if approve or reject:
        raise errors.BadInput("It is no plan.", "Answer in words, or with --option N.", code="BAD_ANSWER")
    if option is not None and not 1 <= option <= len(options):
        known = "; ".join(f"{at}: {text.one_line(each, 60)}" for at, each in enumerate(options, 1))
        raise errors.BadInput(f"There is no option {option}.", known or "It has none: answer in words.",
                              code="BAD_ANSWER")  # fmt: skip
    if option is None and not words:
        raise errors.BadInput("What is the answer?", "Words, or --option N.", code="BAD_ANSWER")
    return Answer(words, option, None)


def _plan_answer(words: str, option: int | None, approve: bool, reject: bool) -> Answer:
    if option is not None or not (approve or reject):
        raise errors.BadInput("It is a plan.", "--approve or --reject, and words if you like.", code="BAD_ANSWER")
    if reject and not words:
        raise errors.BadInput("A plan that is rejected needs a reason.", "Say what must be otherwise.",
                              code="BAD_ANSWER")  # fmt: skip
    return Answer(words, None, approve)


def not_open(id: str, state: str, by: str, at: str, said: str) -> errors.Refused:
    """An answer is bound to its question: one that is no longer open takes none (H35)."""
    if state == ANSWERED:
        told = f"{id} was answered by {by} at {at}: {text.one_line(said, 120)}"
        return errors.Refused(told, "`rook tell` says more to the worker.", code="QUESTION_ANSWERED")
    return errors.Refused(
        f"{id} was withdrawn: {text.one_line(said, 120) or 'its worker went on'}.", "Nobody waits for an answer.",
        code="QUESTION_WITHDRAWN",
    )  # fmt: skip


# -- results ---------------------------------------------------------------------------------------------------------


class Evidence(NamedTuple):
    artifacts: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not any(self)


class Result(NamedTuple):
    """What a worker reports, as it said it."""

    outcome: str
    summary: str
    evidence: Evidence
    unchanged: str = ""  # why nothing had to be changed
    problems: tuple[str, ...] = ()  # of the evidence as it was written


def result(
    outcome: str,
    summary: str,
    evidence: Sequence[str],
    commits: Sequence[str],
    tests: Sequence[str],
    unchanged: str,
) -> Result:
    shown, problems = _sorted(evidence, commits, tests)
    return Result(outcome.strip().lower(), limited(summary, "the summary", SUMMARY_LIMIT).strip(), shown,
                  limited(unchanged, "the reason", NOTE_LIMIT).strip(), tuple(problems))  # fmt: skip


def _sorted(evidence: Sequence[str], commits: Sequence[str], tests: Sequence[str]) -> tuple[Evidence, list[str]]:
    """Each word of evidence by what it names; and what is wrong with how it is written."""
    found: dict[str, list[str]] = {name: [] for name in Evidence._fields}
    problems: list[str] = []
    given = [*(("", each) for each in evidence), *(("commits", each) for each in commits),
             *(("tests", each) for each in tests)]  # fmt: skip
    if len(given) > EVIDENCE:
        raise errors.TooLarge(f"{len(given)} pieces of evidence.", f"At most {EVIDENCE}: those that show it.")
    for named, each in given:
        word = limited(each, "the evidence", 1_000).strip()
        kind = named or _kind(word)
        problem = _problem(kind, word)
        if problem:
            problems.append(problem)
        elif word and word not in found[kind]:
            found[kind].append(word.lower() if kind == "commits" else word)
    return Evidence(*(tuple(found[name]) for name in Evidence._fields)), problems


def _kind(word: str) -> str:
    if any(word.startswith(prefix) and word.removeprefix(prefix).isdecimal() for prefix in NUMBERED):
        return "artifacts"
    if is_commit(word):
        return "commits"
    return "tests" if is_run(word) else "files"


def _problem(kind: str, word: str) -> str:
    shown = text.one_line(word, 60)
    if kind == "tests" and not is_run(word):
        return (
            f"{text.quoted(shown)} is no test run: the command, a colon, and what came of it, as `pytest -q: 12 passed`"
        )
    if kind == "commits" and not is_commit(word):
        return f"{text.quoted(shown)} is no commit id"
    if kind == "files" and "://" in word:
        return f"{shown} is an address that may change: share what it shows (`rook artifacts add`)"
    return ""


def is_commit(word: str) -> bool:
    return 7 <= len(word) <= 64 and _HEX.issuperset(word.lower()) and any(each.isdigit() for each in word)


_RESULTS = frozenset(("ok", "pass", "passed", "passes", "green", "fail", "failed", "fails", "red", "error", "errors",
                      "clean", "success", "successful", "succeeded"))  # fmt: skip


def is_run(word: str) -> bool:
    """A command and what came of it: `pytest -q: 12 passed`."""
    command, colon, came = word.rpartition(": ")
    told = _words(came)
    return bool(colon and _words(command)) and any(each in _RESULTS or each.isdecimal() for each in told)


_SAID_IN_MORE_WORDS = """
    a all an and as asked assigned assignment been complete completed completely correctly did do done everything
    expected finished fixed for fully good great had has have i implemented in is issue it made my need needed now
    of ok okay on problem properly ready requested requirements should solved success successful successfully task
    tested tests that the there this to was well were with work worked working works you your
"""
_SAYING_NOTHING = frozenset(_SAID_IN_MORE_WORDS.split())
_IDEOGRAPHS = 0x2E80  # from here on a letter is about a word


def _words(said: str) -> list[str]:
    found: list[str] = []
    for run in "".join(each if each.isalnum() else " " for each in text.plain(said).casefold()).split():
        found += list(run) if any(ord(each) >= _IDEOGRAPHS for each in run) else [run]
    return found


class Around(NamedTuple):
    """What is known of the worker and of what it left, besides its words."""

    writes: bool  # its kind is there to change something
    changed: bool  # and something was
    lacking: tuple[str, ...] = ()  # evidence that was looked up and is not there


def missing(said: Result, around: Around | None = None) -> list[str]:
    """Everything that keeps this from being a result, in words that say what to do. Without `around`: by its words
    alone, before anything is looked up."""
    lacks: list[str] = []
    if said.outcome not in tuple(Outcome):
        known = ", ".join(list(Outcome)[:-1]) + f" or {Outcome.NO_EVIDENCE}"
        lacks.append(f"an outcome: {known}")
    lacks += _about_summary(said)
    lacks += said.problems
    if said.outcome == Outcome.NO_EVIDENCE and not said.evidence.is_empty:
        lacks.append("another outcome: there is evidence (findings), or leave the evidence out")
    if around is None:
        return lacks
    lacks += around.lacking
    if said.outcome != Outcome.NO_EVIDENCE and said.evidence.is_empty and not around.changed and not said.problems:
        lacks.append("evidence: a commit, a test run (`pytest -q: 12 passed`), a file, or an artifact")
    if said.outcome == Outcome.COMPLETED and around.writes and not around.changed and len(_words(said.unchanged)) < 3:
        lacks.append("a change: nothing differs from where you began; --unchanged says why that is right")
    return lacks


def _about_summary(said: Result) -> list[str]:
    words = _words(said.summary)
    telling = {each for each in words if each not in _SAYING_NOTHING}
    if not words:
        return ["a summary: what was done, and how you know"]
    if len(words) < WORDS or len(telling) < TELLING:
        return [f"a summary that says something: what was done, where, and how you know ({WORDS} words or more)"]
    if said.outcome == Outcome.NO_EVIDENCE and len(words) < WHY_WORDS:
        return [
            f"why there is nothing to show: where you looked, and what you found instead ({WHY_WORDS} words or more)"
        ]
    return []


def turned_back(lacks: Sequence[str]) -> errors.Refused:
    return errors.Refused(
        f"That is not a result yet. It needs {'; '.join(lacks)}.",
        "Report again with that: `rook done --help`. If you can not, `rook ask` or `rook fail`.",
        code="NOT_A_RESULT", http=422, missing=list(lacks),
    )  # fmt: skip


def reason(said: str) -> str:
    """Why something failed, in more than a word."""
    why = limited(said, "the reason", NOTE_LIMIT).strip()
    if len(_words(why)) < REASON_WORDS:
        raise errors.Refused(
            "A failure needs a reason.", "Say what stood in the way, and what you tried.",
            code="NOT_A_RESULT", http=422, missing=["a reason"],
        )  # fmt: skip
    return why


def limited(said: str, what: str, most: int) -> str:
    text.check_text(said, what)
    if len(said) > most:
        raise errors.TooLarge(
            f"{what[:1].upper()}{what[1:]} has {len(said):,} characters; {most:,} are allowed.",
            "Share the long part (`rook artifacts add`) and name it.",
        )
    return said


# -- refusals and reminders ------------------------------------------------------------------------------------------


def not_a_worker(name: str) -> errors.Refused:
    return errors.Refused(
        f"{name} is no worker.", "Others use `rook task done ID`, `task fail`, `task progress` and `rook escalate`.",
        code="NOT_A_WORKER",
    )  # fmt: skip


def over(id: str) -> errors.LeaseLost:
    return errors.LeaseLost(
        f"This run of {id} is over; another goes on.", "Stop: what you write now is refused.", code="RUN_OVER"
    )


def starting(id: str) -> errors.Refused:
    return errors.Refused(f"{id} is just being started.", "Again in a moment.", code="WORKER_STARTING")


def settled(id: str, report: str, summary: str) -> errors.Refused:
    return errors.Refused(
        f"{id} has reported already: {report}, {text.one_line(summary, 120)}",
        "One report a task. Work that came back is claimed again first: `rook task claim`.", code="REPORTED",
    )  # fmt: skip


NUDGE = """\
Rookery: your turn ends, and you have not reported. You are {id}, a worker: nobody knows that you are finished until you
say so, and everyone waits. One of these, now:

    rook done --outcome completed|findings|proposal|no_evidence -m SUMMARY [--commit ID] [--test "COMMAND: RESULT"]
    rook ask QUESTION [--risk low|medium|high] [--option TEXT] [--recommend TEXT]
    rook fail -m REASON

They are tools of the same names where you have Rookery's MCP server. If you are not finished, go on. This is said
once."""


def wants_nudge(state: str, report: str, wish: str, has_task: bool, nudged: bool) -> bool:
    """Is a turn of this worker that ends now one without a word? Told once; one that is to stop was told that."""
    return state == State.RUNNING and report == Report.NONE and not wish and has_task and not nudged


def nudge(id: str, judges: str = "") -> str:
    """`judges`: the task on which it was to give its verdict."""
    said = NUDGE.format(id=id)
    if not judges:
        return said
    by_shell = f"`rook task review {judges} SHIP|NEEDS_WORK|MAJOR_RETHINK -m FEEDBACK`"
    return f"{said}\n\nYours is a verdict: {by_shell}, or the tool `done` with it as outcome."
