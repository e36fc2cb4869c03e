"""The shapes of what is answered about the docket: items, cards, verdicts, versions, decisions and rules."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from .shapes_mail import Counts, Words
from .shapes_protocol import Question


class DocketLine(TypedDict):
    subject: str
    item: str
    rank: str
    kind: str
    ref: str
    worker: str | None
    title: str
    otherwise: str
    risk: str
    pinned: bool
    askedOf: str
    askedBy: str
    ageMs: int
    at: str


class Decision(TypedDict):
    id: str
    n: int
    verb: str
    by: str
    rule: str
    subject: str
    item: str
    worker: str | None
    task: str | None
    head: str
    option: str
    said: str
    risk: str
    evidence: Words
    effect: dict[str, Any]
    waitedMs: int
    at: str


class Lately(TypedDict):
    id: str
    rank: str
    kind: str
    title: str
    worker: str | None
    by: str
    at: str


class Docket(TypedDict):
    of: str
    items: list[DocketLine]
    waiting: int
    others: int
    counts: Counts
    lately: list[Lately]
    recent: list[Decision]
    debt: int


class AboutWorker(TypedDict):
    id: str
    name: str
    kind: str
    host: str
    model: str
    status: str
    task: str | None
    title: str
    crew: str | None
    run: int | None
    ending: str
    exitCode: int | None


class TokensUsed(TypedDict):
    input: int
    output: int


class Provenance(TypedDict):
    kind: str
    host: str
    machine: str
    model: str
    base: str
    patch: str
    tokens: TokensUsed
    runs: int
    ms: int


class DeliverableHead(TypedDict):
    id: str
    worker: str
    version: int
    author: str
    task: str | None
    outcome: str
    summary: str
    change: str | None
    head: str
    provenance: Provenance
    digest: str
    state: str
    corrupt: bool
    at: str


class CheckSeen(TypedDict):
    """A recorded one has `passed`, `stale` and `counts`; of one that was only told, `said`."""

    command: str
    claimed: bool
    ref: str
    passed: NotRequired[bool]
    stale: NotRequired[bool]
    counts: NotRequired[Counts]
    said: NotRequired[str]


class Deliverable(DeliverableHead):
    evidence: Words
    checks: list[CheckSeen]
    file: NotRequired[str]
    fileState: NotRequired[str]


class Deliverables(TypedDict):
    deliverables: list[Deliverable]


class ResultShown(DeliverableHead):
    cut: bool


class LandingShown(TypedDict):
    id: str
    state: str
    reason: str
    branch: str
    log: str


class ChangeOnCard(TypedDict):
    id: str
    base: str
    head: str
    branch: str
    paths: int
    added: int
    removed: int
    files: list[dict[str, Any]]
    patch: str
    behind: int
    landing: LandingShown | None


class EvidenceLine(TypedDict):
    ref: str
    kind: str
    title: str
    failed: bool


class BudgetUsed(TypedDict):
    input: int
    output: int
    runs: int
    ms: int
    maxTokens: int | None


class ActionShown(TypedDict):
    action: str
    needs: str
    destructive: bool
    help: str
    command: str


class Card(DocketLine):
    matter: str
    state: str
    detail: str
    about: AboutWorker | None
    question: Question | None
    result: ResultShown | None
    change: ChangeOnCard | None
    conflicts: list[dict[str, Any]]
    checks: list[CheckSeen]
    evidence: list[EvidenceLine]
    budget: BudgetUsed | None
    tail: Words
    actions: list[ActionShown]
    decision: Decision | None
    earlier: list[Decision]


class ItemPinned(TypedDict):
    subject: str
    pinned: bool
    changed: bool


class VerdictGiven(TypedDict):
    subject: str
    action: str
    effect: dict[str, Any]
    decision: str | None
    worker: str | None
    open: bool
    replayed: NotRequired[bool]


class Decisions(TypedDict):
    decisions: list[Decision]


class DecisionSummary(TypedDict):
    windowMs: int
    count: int
    verbs: Counts
    actors: Counts
    rules: Counts
    risks: Counts
    automatic: int
    medianMs: int
    longestMs: int
    debt: int


class Owed(TypedDict):
    worker: str
    subject: str
    task: str | None
    summary: str
    at: str


class Debt(TypedDict):
    count: int
    debt: list[Owed]


class Matches(TypedDict):
    kinds: Words
    hosts: Words
    policies: Words
    paths: Words
    files: int | None
    lines: int | None
    checks: str
    risk: str


class Rule(TypedDict):
    name: str
    position: int
    matches: Matches
    told: str
    verdict: str
    active: bool
    by: str
    at: str


class Rules(TypedDict):
    rules: list[Rule]


class RuleGone(TypedDict):
    name: str
    removed: bool


RESULTS: Mapping[str, Any] = {
    "docket": Docket, "card": Card, "docket.pin": ItemPinned, "verdict": VerdictGiven, "deliverables": Deliverables,
    "decisions": Decisions, "decisions.summary": DecisionSummary, "debt": Debt, "rule.add": Rule, "rule.list": Rules,
    "rule.remove": RuleGone,
}  # fmt: skip
