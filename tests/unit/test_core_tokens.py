"""What a token looks like, when it is over, and what the table of verbs lets it do."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import authority, tokens
from rookery.core.caller import Grant, Role
from rookery.service.verbs import TABLE, Verb, parameters

CHANCES = st.integers(0, (1 << tokens.CHANCE_BITS) - 1)
ADA = Grant("crew", "token-0001", "agent", 1, "ada")
EYES = Grant("crew", "token-0002", "viewer")


@given(CHANCES, CHANCES, st.sampled_from(Role))
def test_different_chance_gives_different_text(one: int, other: int, kind: Role):
    first, second = tokens.written(kind, one), tokens.written(kind, other)
    assert (first == second) == (one == other)
    assert tokens.is_token(first)
    assert first.startswith(tokens.PREFIXES[kind])
    assert (tokens.digest(first) == tokens.digest(second)) == (one == other)


def test_all_of_the_chance_is_in_the_text():
    texts = {tokens.written(Role.AGENT, 1 << bit) for bit in range(tokens.CHANCE_BITS)}
    assert len(texts) == tokens.CHANCE_BITS


@given(st.text(max_size=80))
def test_other_text_is_no_token(text: str):
    assert not tokens.is_token(text)


@pytest.mark.parametrize("change", [
    lambda good: good[:-1], lambda good: f"{good}0", lambda good: good.upper(), lambda good: good.replace("_", "-"),
    lambda good: f"{good[:-1]}u", lambda good: f"{good[:-1]}\u00e9", lambda good: good.removeprefix("rook"),
])  # fmt: skip
def test_a_token_with_something_wrong_is_none(change):
    good = tokens.written(Role.AGENT, 12345)
    assert tokens.is_token(good)
    assert not tokens.is_token(change(good))


def test_the_digest_is_a_plain_sha256():
    assert tokens.digest("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize(("revoked", "expires", "code"), [
    (None, None, None), (None, 11, None), (None, 10, "TOKEN_EXPIRED"), (None, 9, "TOKEN_EXPIRED"),
    (5, None, "TOKEN_REVOKED"), (5, 11, "TOKEN_REVOKED"), (5, 9, "TOKEN_REVOKED"),
])  # fmt: skip
def test_when_a_token_is_over(revoked: int | None, expires: int | None, code: str | None):
    over = tokens.ended("token-0001", revoked_at=revoked, expires_at=expires, now=10)
    assert (over.code if over else None) == code
    if over:
        assert (over.http_status, bool(over.hint)) == (401, True)


# -- the table of verbs ------------------------------------------------------------------------------------------------


def refusal(grant: Grant, verb: Verb):
    return tokens.refusal(grant, verb.name, writes=verb.writes, who=verb.who, by_token=verb.by_token)


def every_verb_is_classified(verb: Verb):
    assert isinstance(verb.writes, bool)
    assert verb.who in authority.MARKS or (not verb.who and not verb.writes)
    known = {p.name: p.type for p in parameters(verb.load())}
    assert not verb.acts_as or known[verb.acts_as] is str
    assert not (verb.secret and "key" in known), "what is remembered under a key is stored"


def a_reader_calls_what_only_reads(verb: Verb):
    refused = refusal(EYES, verb)
    if verb.writes:
        assert refused is not None
        closed = verb.who in (authority.USER, authority.DAEMON)
        assert (refused.code, refused.http_status) == ("NOT_YOURS" if closed else "READ_ONLY_TOKEN", 403)
    else:
        assert (refused is None) == (verb.by_token and verb.who in ("", authority.ANYONE, authority.AGENT))


def an_agents_token_is_refused_what_no_token_may(verb: Verb):
    refused = refusal(ADA, verb)
    assert (refused is None) == (verb.by_token and verb.who not in (authority.USER, authority.DAEMON))
    if refused:
        assert (refused.code, refused.http_status, bool(refused.hint)) == ("NOT_YOURS", 403, True)


@pytest.mark.parametrize(
    "rule",
    [every_verb_is_classified, a_reader_calls_what_only_reads, an_agents_token_is_refused_what_no_token_may],
    ids=lambda rule: rule.__name__,
)
def test_of_every_verb(rule: Callable[[Verb], None]):
    for verb in TABLE:
        try:
            rule(verb)
        except Exception as error:
            error.add_note(f"of the verb {verb.name}")
            raise


DECIDING = """
    kind.add kind.drop rule.add rule.remove land.add land.retry land.undo land.drop worker.attach team.set token.new
    token.revoke config.set trust.accept trust.revoke budget.set export_mail store.backup daemon.stop import_mail
"""
CLOSED = "drop turn.program turn.workspaces team.new token.list trust.look"
DAEMONS = """
    land.teams land.due land.take land.keep land.checked land.moving land.waits land.again
    land.done land.failed delivery.due delivery.phase delivery.offer delivery.letter delivery.seen delivery.own
    delivery.leave delivery.teams delivery.done delivery.failed delivery.ways monitor.teams monitor.sessions
    monitor.news monitor.report transcripts.teams transcripts.due transcripts.read notify.teams notify.take
    notify.done notify.failed crew.teams crew.due crew.step crew.give worker.teams worker.due worker.begin
    worker.started worker.beat worker.used worker.stopping worker.ended worker.record worker.down worker.left
    worker.evict worker.forget worker.keep worker.trees worker.away worker.reclaim
"""


def marked(mark: str) -> list[str]:
    return [verb.name for verb in TABLE if verb.who == mark]


def test_the_verbs_that_are_not_for_everyone():
    """Pinned: whoever adds to these, or takes away, does it on purpose."""
    assert [verb.name for verb in TABLE if not verb.by_token] == CLOSED.split()
    assert marked(authority.USER) == DECIDING.split()
    assert marked(authority.JUDGE) == ["task.review", "verdict", "answer"]
    assert marked(authority.LEADER) == ["pin", "unpin", "docket.pin", "slot.set", "token.list"]
    assert marked(authority.DAEMON) == DAEMONS.split()
    assert {verb.name: verb.acts_as for verb in TABLE if verb.acts_as} == {
        "join": "name", "turn.start": "name", "evidence.take": "agent",
    }  # fmt: skip
    assert [verb.name for verb in TABLE if verb.secret] == ["worker.begin", "token.new"]
