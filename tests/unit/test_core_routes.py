"""The law of routes, beside a matcher that is too simple to be wrong."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import errors, routes
from rookery.core.routes import Party, Route, Verdict

WORDS = st.text("abA-*", max_size=6)
NAMES = st.sampled_from(["ada", "bob", "worker-1", "worker-2", "lead", "user", "system", "ops/bob"])
ROLES = st.sampled_from(["", "worker", "lead", "Reviewer"])
PARTIES = st.builds(Party, NAMES, ROLES, st.sampled_from(["", "claude", "codex"]), st.sampled_from(["", "scout"]))
PATTERNS = st.sampled_from(
    [
        "*",
        "ada",
        "worker-*",
        "*-1",
        "ops/*",
        "LEAD",
        "role:worker",
        "role:re*",
        "program:c*",
        "role:*",
        "kind:sc*",
        "kind:*",
        "nobody",
        "",
    ]
)
TYPES = st.sampled_from(["request", "task", "update", "*", "task*", "response"])
STATUS = st.sampled_from(["", "start", "complete", "blocked"])
LISTS = st.lists(PATTERNS, max_size=3).map(tuple)


@given(pattern=WORDS, word=st.text("abA-", max_size=8))
def test_a_pattern_matches_as_a_regular_expression_would(pattern: str, word: str) -> None:
    expression = ".*".join(re.escape(part) for part in pattern.split("*"))
    assert routes.matches(pattern, word) == bool(re.fullmatch(expression, word, re.IGNORECASE))


def naive(rules: list[Route], sender: Party, recipients: list[Party], types: list[str], status: str) -> Verdict:
    """Every rule, every pattern, one by one."""

    def hit(pattern: str, word: str) -> bool:
        return bool(re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), word, re.IGNORECASE))

    def covers(pattern: str, party: Party) -> bool:
        for prefix, value in (("role:", party.role), ("program:", party.program)):
            if pattern.startswith(prefix):
                return hit(pattern.removeprefix(prefix), value)
        if pattern.startswith("kind:"):  # whoever is no worker is of no kind, not even of any
            return bool(party.kind) and hit(pattern.removeprefix("kind:"), party.kind)
        return hit(pattern, party.name)

    if sender.name in ("user", "system"):
        return Verdict((), ())
    bound = []
    for rule in rules:
        for pattern in rule.senders:
            if covers(pattern, sender):
                bound.append(rule)
                break
    refused = []
    for recipient in recipients if bound else []:
        allowed = recipient.name == "user"
        for rule in bound:
            for pattern in rule.to:
                for type_pattern in rule.types:
                    for status_pattern in rule.status:
                        said = any(hit(type_pattern, word) for word in types) and hit(status_pattern, status)
                        allowed = allowed or (said and covers(pattern, recipient))
        if not allowed:
            refused.append(recipient.name)
    return Verdict(tuple(refused), tuple(rule.name for rule in bound))


@given(
    rules=st.lists(
        st.builds(Route, st.sampled_from("xyz"), LISTS, LISTS, st.lists(TYPES, max_size=2).map(tuple),
                  st.lists(st.sampled_from(["*", "start", "c*", ""]), max_size=2).map(tuple)), max_size=4),
    sender=PARTIES,
    recipients=st.lists(PARTIES, max_size=4),
    types=st.lists(st.sampled_from(["request", "task", "update"]), min_size=1, max_size=2),
    status=STATUS,
)  # fmt: skip
def test_the_law_and_the_simple_matcher_agree(
    rules: list[Route], sender: Party, recipients: list[Party], types: list[str], status: str
) -> None:
    assert routes.judge(rules, sender, recipients, types, status) == naive(rules, sender, recipients, types, status)


TEAM: dict[str, dict[str, Any]] = {
    "reports": {"from": ["role:worker"], "to": ["lead"], "types": ["update", "task-complete"]},
    "done": {"from": ["role:worker"], "to": ["reviewer*"], "status": ["complete"]},
}
WORKER = Party("w1", "worker")


@pytest.mark.parametrize(
    ("sender", "to", "types", "status", "refused"),
    [
        (WORKER, "lead", ["notification", "update"], "", ()),
        (WORKER, "lead", ["request", "task"], "", ("lead",)),
        (WORKER, "reviewer-2", ["request"], "complete", ()),
        (WORKER, "reviewer-2", ["request"], "start", ("reviewer-2",)),
        (WORKER, "reviewer-2", ["request"], "", ("reviewer-2",)),
        (WORKER, "user", ["request"], "", ()),
        (WORKER, "w2", ["notification", "update"], "complete", ("w2",)),
        (Party("ada", "architect"), "w2", ["request"], "", ()),
        (Party("user"), "w2", ["request"], "", ()),
    ],
)
def test_a_team_with_routes(sender: Party, to: str, types: list[str], status: str, refused: tuple[str, ...]) -> None:
    verdict = routes.judge(routes.parse(TEAM), sender, [Party(to)], types, status)
    assert verdict.refused == refused


def test_a_rule_that_speaks_of_nothing_known_is_refused() -> None:
    with pytest.raises(errors.BadInput, match="rol:worker"):
        routes.parse({"x": {"from": ["rol:worker"]}})


def test_the_refusal_names_the_rules() -> None:
    error = routes.refusal(Verdict(("bob",), ("reports", "done")), "w1", "task")
    assert "bound by reports, done" in error.message
    assert error.code == "NO_ROUTE"
