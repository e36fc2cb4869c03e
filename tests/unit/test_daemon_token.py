"""Every verb says what the daemon's own token may do with it."""

from rookery.core import authority, daemon_token
from rookery.service.verbs import TABLE

LISTS = (daemon_token.CONTRACT, daemon_token.TEAM, daemon_token.SELF)


def test_h42_every_verb_has_one_mark_for_the_daemons_token() -> None:
    """A new verb without one fails here: put it into a list of `core.daemon_token`, or give it a mark that refuses."""
    implied = (*daemon_token.NEVER, authority.AGENT)
    for verb in TABLE:
        times = sum(verb.name in each for each in LISTS)
        assert times == (0 if verb.who in implied else 1), verb.name


def test_the_lists_name_only_verbs() -> None:
    assert frozenset().union(*LISTS) <= {verb.name for verb in TABLE}


def test_nothing_that_takes_a_name_is_open_to_all() -> None:
    assert set(daemon_token.TAKES_NAME) <= daemon_token.SELF
