"""What a hook answers when its own decision fails (H46): an error is a decision, made by policy.

| policy                                                     | answer before a tool                    |
|------------------------------------------------------------|-----------------------------------------|
| installed with `--closed`, a strict team, guard.opaque=deny| deny                                    |
| guard.opaque=ask                                           | ask the user (deny where nobody can be) |
| anything else                                              | warn; the tool runs                     |

At other moments nothing is about to be written: only `--closed` refuses then. A moment that is not known counts as
before a tool. Every interface (own process, resident process, HTTP, the deadline) asks here and renders the answer.
"""

from enum import StrEnum

from rookery.core.record import NamedTuple

from . import errors
from .hooks import NOTHING, Answer, Moment
from .text import well_formed

REASON_LIMIT = 300


class Failure(StrEnum):
    """What kind of error it was; it decides the advice, never whether the tool runs."""

    EVENT = "event"  # the event can not be read
    USAGE = "usage"  # the hook's own command line is wrong
    STORE = "store"  # the ledger can not be asked
    CALLER = "caller"  # who asks is not known, or no longer who it was
    TARGET = "target"  # what would be written can not be found out
    LATE = "late"  # no answer in time
    INTERNAL = "internal"  # anything else: a defect


class Policy(NamedTuple):
    """What the answer depends on, as far as it could be read."""

    closed: bool = False
    strict: bool = False
    opaque: str = "check"

    @property
    def reason(self) -> str:
        """Why the tool is refused; "" if it is not."""
        if self.closed:
            return "its hook was installed with --closed"
        if self.strict:
            return "this team is strict"
        return "guard.opaque is deny" if self.opaque == "deny" else ""


_ADVICE = {
    Failure.EVENT: "`rook init` installs the hooks anew; `rook doctor` checks them.",
    Failure.USAGE: "`rook hook --help` shows how it is called.",
    Failure.STORE: "`rook doctor` checks the store.",
    Failure.CALLER: "`rook who` shows who is here; `rook join NAME` gives you a name.",
    Failure.TARGET: "Name the files by plain paths, or use the edit tool.",
    Failure.LATE: "Try again; `rook doctor` checks the store.",
    Failure.INTERNAL: "This is a defect of Rookery: `rook logs` shows the daemon's log.",
}
_USAGE_CODES = frozenset(("USAGE", "UNKNOWN_HOST", "BAD_SETTING", "BAD_PROFILE", "BAD_TEAM", "BAD_NAME"))


def kind_of(error: BaseException) -> Failure:
    word: object = getattr(error, "failure", None)  # of an error that says itself what it is
    if isinstance(word, str):
        return Failure(word)
    if isinstance(error, errors.RookError):
        if error.code == "BAD_EVENT":
            return Failure.EVENT
        if error.code in _USAGE_CODES:
            return Failure.USAGE
        if isinstance(error, errors.Unreachable):
            return Failure.STORE
        return Failure.TARGET if isinstance(error, errors.BadInput) else Failure.CALLER
    return Failure.TARGET if isinstance(error, OSError | UnicodeError) else Failure.INTERNAL


def describe(error: BaseException) -> str:
    """One line. Of an error that is not ours only its kind: its text may hold anything."""
    if isinstance(error, errors.RookError):
        text = f"{error.message} {error.hint}".strip()
    elif hasattr(error, "failure"):
        text = str(error)
    else:
        text = getattr(error, "strerror", None) or type(error).__name__
    return " ".join(well_formed(str(text)).split())[:REASON_LIMIT]


def decide(moment: Moment | None, failure: Failure, reason: str, policy: Policy) -> Answer:
    """The answer of a hook whose decision failed."""
    refuses = policy.reason
    if not policy.closed and moment not in (None, Moment.BEFORE):
        return NOTHING
    said = f"Rookery could not check what this writes: {reason.rstrip('.')}."
    if refuses:
        return Answer(deny=f"{said} The tool is refused: {refuses}. {_ADVICE[failure]}")
    if policy.opaque == "ask":
        return Answer(ask=f"{said} {_ADVICE[failure]}")
    return Answer(context=f"{said} It was let through unchecked. {_ADVICE[failure]}")
