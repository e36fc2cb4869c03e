"""Whether the repository that calls may be in the team that its file names; and what the user accepts of it."""

from typing import TYPE_CHECKING, Annotated, Any

from .tx import Tx
from .verbs import Arg, Verb

if TYPE_CHECKING:
    from rookery.core.ownership import Owner
    from rookery.core.trust import Request
    from rookery.store.port import Row


def enter(tx: Tx, verb: Verb) -> None:
    """Before every verb. Where the user names the team, or the folder does, there is nothing to look up."""
    claim = tx.world.claim
    if claim is None:
        return
    from rookery.core import ownership

    row = tx.one("team_owner")
    if row is None:
        return  # it was never written to, and whoever looks finds nothing
    owner, is_new = _owner(row), not row["seq"] and not row["horizon"]
    decision = ownership.decide(tx.team, claim, owner, is_new=is_new)
    if decision is ownership.Decision.REFUSE and not verb.any_team:
        raise ownership.refusal(tx.team, claim, owner)
    if decision is ownership.Decision.TAKE and verb.writes:
        tx.run("own_team", owner=claim.owner.id, path=claim.owner.path)


def _owner(row: "Row") -> "Owner | None":
    from rookery.core.ownership import Owner

    return Owner(row["owner"], row["owner_path"]) if row["owner_path"] else None


# -- verbs -----------------------------------------------------------------------------------------------------------


def look(tx: Tx) -> dict[str, Any]:
    """What the repository asks for and may not set by itself: each with whether it is in force."""
    from rookery.core import trust

    from . import kinds

    found = [*_team_request(tx), *tx.settings.requests, *kinds.requests(tx), *tx.world.directory.file_requests()]
    return {"repository": tx.world.acceptances.path, "requests": [trust.as_data(each) for each in found]}


def _team_request(tx: Tx) -> "list[Request]":
    from rookery.core import ownership, trust

    claim, row = tx.world.claim, tx.one("team_owner")
    if claim is None or row is None:
        return []
    owner, is_new = _owner(row), not row["seq"] and not row["horizon"]
    decision = ownership.decide(tx.team, claim._replace(accepted=False), owner, is_new=is_new)
    if decision is not ownership.Decision.REFUSE:
        return []
    whose = f"which the repository at {owner.path} owns" if owner else "which this repository did not make"
    allows = f"Be in the team {tx.team}, {whose}: read and send its mail, take its tasks."
    return [trust.Request(claim.file, "team", tx.team, allows, trust.digest("team", tx.team), claim.accepted)]


def accept(
    tx: Tx,
    accepted: Annotated[dict[str, Any], Arg("what is accepted: a digest, and a line about it", kind="json")],
) -> dict[str, Any]:
    """The repository that the caller stands in may have these. Written to the home once the event is on disk."""
    lines = {digest: str(line) for digest, line in accepted.items()}
    tx.event("trust.accepted", tx.me()["name"], target=tx.world.acceptances.path, preview="; ".join(lines.values()),
             accepted=lines)  # fmt: skip
    tx.after.append(lambda _heard: tx.world.acceptances.accept(lines))
    return {"accepted": len(lines)}


def revoke(tx: Tx) -> dict[str, Any]:
    """Nothing that the repository asks for is in force any more."""
    count = tx.world.acceptances.count()
    tx.event("trust.revoked", tx.me()["name"], target=tx.world.acceptances.path, preview=f"{count} acceptances")
    tx.after.append(lambda _heard: tx.world.acceptances.revoke())
    return {"revoked": count}
