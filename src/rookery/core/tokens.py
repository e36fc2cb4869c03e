"""Tokens that the store keeps: what they look like, what each of them proves, and what is refused with it.

    rookoper_...    the user, in one team: for scripts, bots and CI, which have no terminal
    rookagent_...   one agent of one team: it acts as that agent and as nobody else
    rookview_...    nobody: it reads one team and writes nothing

The daemon's own token is none of these: it may name any agent, and never the user. A token's text is shown once; kept
is its SHA-256. 256 bits of chance can not be guessed, so neither salt nor a slow hash would add anything.
"""

from rookery.core import authority
from rookery.core.caller import Grant, Role
from rookery.core.errors import NotYours

CHANCE_BITS = 256
DRAW_BITS = 64  # as much as the port of chance gives at once
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_LENGTH = -(-CHANCE_BITS // 5)


PREFIXES = {Role.OPERATOR: "rookoper_", Role.AGENT: "rookagent_", Role.VIEWER: "rookview_"}
_OLD_PREFIX = "rookread_"  # a viewer's, of versions before roles


def written(role: Role, chance: int) -> str:
    """The text of a token, from CHANCE_BITS of chance."""
    return PREFIXES[role] + "".join(_ALPHABET[chance >> shift & 31] for shift in range(5 * (_LENGTH - 1), -1, -5))


def is_token(text: str) -> bool:
    """Could it be one of ours? What could not is refused without asking the store."""
    prefixes = (*PREFIXES.values(), _OLD_PREFIX)
    secret = next((text[len(prefix) :] for prefix in prefixes if text.startswith(prefix)), "")
    return len(secret) == _LENGTH and set(_ALPHABET).issuperset(secret)


def is_operator(text: str) -> bool:
    return text.startswith(PREFIXES[Role.OPERATOR]) and is_token(text)


def digest(text: str) -> str:
    """What is kept of a token, and what it is found by: how long a search takes tells nothing of the text."""
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()


# -- refusals ----------------------------------------------------------------------------------------------------------


def unknown() -> NotYours:
    return NotYours(
        "A bearer token is needed.",
        "The daemon's own is in runtime.json, an agent's comes from `rook token new`; set ROOK_TOKEN or"
        " ROOK_TOKEN_FILE.",
        code="UNAUTHORIZED",
        http=401,
    )


def ended(id: str, *, revoked_at: int | None, expires_at: int | None, now: int) -> NotYours | None:
    if revoked_at is not None:
        return _ended(f"The token {id} was revoked.", "TOKEN_REVOKED")
    if expires_at is not None and expires_at <= now:
        return _ended(f"The token {id} has expired.", "TOKEN_EXPIRED")
    return None


def _ended(message: str, code: str) -> NotYours:
    return NotYours(message, "Ask the person for a new one: `rook token new`.", code=code, http=401)


def refusal(grant: Grant, verb: str, *, writes: bool, who: str, by_token: bool) -> NotYours | None:
    """Why a verb can not be called with this token, as far as the table of verbs tells. (Who the leader is, and what
    an agent may do to which task, is judged as without a token.)"""
    if who == authority.DAEMON:
        return authority.daemon_only(verb)
    if grant.is_operator:
        return None
    if who == authority.USER:
        return authority.by_token(f"`rook {authority.COMMANDS.get(verb) or verb.replace('.', ' ')}`")
    if grant.reads_only and writes:
        return read_only()
    if not by_token or (grant.reads_only and who == authority.LEADER):
        return NotYours(
            f"{verb} can not be done with {'a viewer' if grant.reads_only else 'an agent'} token.",
            "The user can, on its machine or with an operator token: `rook escalate` asks them.",
        )
    return None


def read_only() -> NotYours:
    return NotYours(
        "This token is a viewer's: it writes nothing.",
        "To write, use the token of an agent: `rook token new --agent NAME`.",
        code="READ_ONLY_TOKEN",
    )


def not_you(grant: Grant, name: str) -> NotYours:
    return NotYours(
        f"This token is {grant.name}'s; it can not act as {name}.",
        "Leave out --as, ROOK_AGENT and agentId, or use that agent's own token.",
    )


def outside_run(grant: Grant) -> NotYours:
    return NotYours(
        f"This token is that of {grant.name}'s run, and this process is not part of it.",
        f"Make a token for your own use: `rook token new --agent {grant.name}`.", attempt=authority.OTHER_NAME,
    )  # fmt: skip


def other_team(grant: Grant) -> NotYours:
    return NotYours(f"This token is for team {grant.team} alone.", f"Use --team {grant.team}, ROOK_TEAM or teamId.")
