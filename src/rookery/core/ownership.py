"""Whose a team is: a repository's file may name a team that is new or its own, and no other.

Pure: what the store says of the team and what the repository is come in, a decision goes out.
"""

from collections.abc import Callable
from enum import StrEnum

from rookery.core import trust
from rookery.core.errors import NotYours
from rookery.core.record import NamedTuple

CODE = "TEAM_NOT_YOURS"


class Owner(NamedTuple):
    """A repository: its id, "" if it has none, and where its git folder is."""

    id: str
    path: str


class Claim(NamedTuple):
    """A repository's file names the team: which file, what the repository is, and whether the user accepted that."""

    file: str
    owner: Owner
    accepted: bool
    is_there: Callable[[Owner], bool]  # is the repository with this id still where it was recorded?


class Decision(StrEnum):
    ENTER = "enter"  # it is this repository's, or the user accepted it
    TAKE = "take"  # it is nobody's, and this repository's from now on; or the repository was moved
    REFUSE = "refuse"


def decide(team: str, claim: Claim, owner: Owner | None, *, is_new: bool) -> Decision:
    """`owner`: the recorded one, None if there is none; `is_new`: nothing happened in the team so far."""
    mine = claim.owner
    if claim.accepted or owner == mine:
        return Decision.ENTER
    if owner is None:
        return Decision.TAKE if is_new and not trust.is_derived_team(team) else Decision.REFUSE
    if not owner.id:
        return Decision.TAKE if owner.path == mine.path else Decision.REFUSE  # it was given an id since
    is_moved = owner.id == mine.id and not claim.is_there(owner)  # else it is a copy
    return Decision.TAKE if is_moved else Decision.REFUSE


def refusal(team: str, claim: Claim, owner: Owner | None) -> NotYours:
    whose = f"the repository at {owner.path} owns it" if owner else "it was not made by this repository"
    return NotYours(
        f"{claim.file} asks for the team {team}, but {whose}.",
        "If you want this repository in that team: `rook trust`. Otherwise name another team in the file, or set"
        " ROOK_TEAM.",
        code=CODE, team=team, file=claim.file,
    )  # fmt: skip
