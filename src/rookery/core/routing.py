"""`any:ROLE`: one agent of a role, chosen so that the reason can be told."""

from collections.abc import Sequence

from rookery.core.record import NamedTuple

from . import errors


class Candidate(NamedTuple):
    name: str
    live: bool
    load: int  # what waits for it or is held by it
    shared: int  # how much it has had to do with the sender before


def choose(role: str, candidates: Sequence[Candidate], roles: Sequence[str]) -> tuple[str, str]:
    """(name, reason). Live before absent, then the least load, then shared history, then the name."""
    if not candidates:
        known = (
            f"Known roles: {', '.join(sorted(roles))}." if roles else "Nobody has a role yet: `rook join --role ROLE`."
        )
        raise errors.UnknownName(f"Nobody has the role {role}.", known)
    best = min(candidates, key=lambda c: (not c.live, c.load, -c.shared, c.name))
    others = [c for c in candidates if c is not best]
    return best.name, _reason(role, best, others)


def _reason(role: str, best: Candidate, others: Sequence[Candidate]) -> str:
    if not others:
        return f"the only {role}"
    rivals = [c for c in others if c.live == best.live]
    if not rivals:
        return f"the only {role} that is {'live' if best.live else 'known'}"
    if all(c.load > best.load for c in rivals):
        return f"{role} with the least waiting ({best.load})"
    if best.shared and all(c.shared < best.shared for c in rivals if c.load == best.load):
        return f"{role} who worked with you before"
    return f"{role}, first of {len(rivals) + 1} alike"
