"""Keys and tokens are taken out of text before it is stored: `redacted`.

What has a form of its own (keys of known services, JWTs, private keys, our own tokens) goes wherever it stands. What is
only known by its name (`password=`, `"token":`) goes where a value is given to it, not where people write about it.
In doubt something goes: evidence with a hole in it is still evidence, and a key that was stored has to be changed.

Every pattern takes time in proportion to the text, whatever the text is: it is tried where its first letters stand, and
a run of characters is either bounded, or taken as a whole (possessive) and begun only where none is under way.
"""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from rookery.core.record import NamedTuple

if TYPE_CHECKING:
    from re import Match, Pattern

MARK = "[redacted]"

# (how it begins, which is quickly found; the pattern there). What is in group `keep` stays.
_FORMS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("-----BEGIN",),
     r"(?P<keep>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)"
     r"(?:(?:[^-]|-(?!----))*+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
     r"|(?:\s|\\[nr])*+(?:[A-Za-z0-9+/=]{16,}+(?:\s|\\[nr])*+)++)"),
    (("AKIA", "ASIA", "AGPA", "AIDA", "AROA", "ANPA", "ABIA", "ACCA"),
     r"(?<![A-Za-z0-9])A(?:KIA|SIA|GPA|IDA|ROA|NPA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{20,}+"),
    (("github_pat_",), r"(?<![A-Za-z0-9_])github_pat_[A-Za-z0-9_]{20,}+"),
    (("glpat-", "gloas-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "glsoat-"),
     r"(?<![A-Za-z0-9_-])gl(?:pat|oas|dt|rt|cbt|ptt|ft|imt|agent|soat)-[A-Za-z0-9_-]{16,}+(?:\.[A-Za-z0-9_-]++)*+"),
    (("xox",), r"(?<![A-Za-z0-9-])xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}+"),
    (("xapp-",), r"(?<![A-Za-z0-9-])xapp-[A-Za-z0-9-]{20,}+"),
    (("hooks.slack.com",), r"(?P<keep>hooks\.slack\.com/(?:services|workflows)/)[A-Za-z0-9/_+-]{10,}+"),
    (("sk-",), r"(?<![A-Za-z0-9_-])sk-(?:(?:ant|proj|svcacct|admin|or)-[A-Za-z0-9_-]{16,}+|[A-Za-z0-9]{32,}+)"),
    (("AIza",), r"(?<![A-Za-z0-9_-])AIza[A-Za-z0-9_-]{35}"),
    (("ya29.", "GOCSPX-"), r"(?<![A-Za-z0-9_-])(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{20,}+"),
    (("sk_live_", "rk_live_", "pk_live_", "sk_test_", "rk_test_", "pk_test_", "whsec_"),
     r"(?<![A-Za-z0-9])(?:[srp]k_(?:live|test)_[A-Za-z0-9]{10,}+|whsec_[A-Za-z0-9+/=]{20,}+)"),
    (("npm_",), r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{30,}+"),
    (("pypi-",), r"(?<![A-Za-z0-9_-])pypi-[A-Za-z0-9_-]{50,}+"),
    (("hf_",), r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}+"),
    (("rookagent_", "rookoper_", "rookview_", "rookread_"),
     r"(?<![A-Za-z0-9])(?P<keep>rook(?:agent|oper|view|read)_)[A-Za-z0-9]{20,}+"),
    (("eyJ",), r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?+"),
)  # fmt: skip

_URL = r"(?P<keep>://[^\s/:@\"'<>]{0,200}+:)(?P<value>[^\s/\"'<>]{1,500})(?=@)"
_HEADER = (
    r"(?i:(?P<keep>(?<![a-z])authorization\\{0,3}[\"']?\s{0,8}[:=]\s{0,8}\\{0,3}[\"']?(?:[a-z]{1,20}\s{1,8})?"
    r"|(?<![a-z])(?P<scheme>bearer|basic)\s{1,8}))(?P<value>[A-Za-z0-9._~+/=-]{8,}+)"
)
_NAMES = (
    "password", "passwd", "passphrase", "pwd", "secret", "token", "apikey", "api_key", "api-key", "access_key",
    "access-key", "accesskey", "private_key", "private-key", "privatekey", "credential", "secret_key", "auth_key",
    "signing_key", "encryption_key", "account_key", "accountkey", "pgpass",
)  # fmt: skip
_GIVEN = (
    r"(?i:(?P<name>pass(?:word|wd|phrase)|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|secret[_-]?key"
    r"|auth[_-]?key|signing[_-]?key|encryption[_-]?key|account[_-]?key|credentials?))"
    r"(?P<mark>\\{0,3}[\"'`]?\]?(?P<before>[ \t]{0,8})(?:=>|:=|==?|:)(?P<after>[ \t]{0,8}))"
    r"(?:(?:[bruf]{1,2})?(?P<quote>\\{0,3}[\"'`])(?P<quoted>(?:(?!(?P=quote))[^\n])++)"
    r"|(?P<bare>[^\s\"'`,;&<>|]++))"
)

# Words that stand where a secret would, and are none.
_HARMLESS = frozenset((
    "none", "null", "nil", "true", "false", "undefined", "str", "string", "bytes", "int", "integer", "number", "bool",
    "boolean", "any", "object", "text", "optional", "required", "missing", "empty", "invalid", "expired", "changeme",
    "example", "unset",
))  # fmt: skip
_SCHEMES = ("bearer", "basic", "negotiate")
_REFERENCES = ("$", "<", "{", "(", "[", "%", "*", "&", "...", "\u2026", "\\")
_TO_BE_FILLED = ("your", "my-", "xxx", "example", "placeholder", "dummy")


def redacted(text: str) -> tuple[str, int]:
    """The text without secrets, and how many were taken out. Done again it changes nothing."""
    total = 0
    for begins, pattern in _FORMS:
        text, count = _without(text, text, begins, pattern, _all_of_it)
        total += count
    for begins, pattern, judge in _JUDGED:
        text, count = _without(text, _lowered(text), begins, pattern, judge)
        total += count
    return text, total


def is_secret_name(name: str) -> bool:
    """Is this the name of something that is not for others? As of a field: `api_key`, `dbPassword`."""
    return name.lower().replace("-", "_").endswith(_NAMES)


def is_told(value: str) -> bool:
    """Is it a value, and not a word about one or a reference to where it is?"""
    return bool(value.strip()) and not _is_reference(value) and value.lower() not in _HARMLESS


# -- how each is judged ------------------------------------------------------------------------------------------------


class _Cut(NamedTuple):
    """From where to where of a match goes; nothing of it if both are the same."""

    start: int
    end: int


def _without(
    text: str, searched: str, begins: tuple[str, ...], pattern: str, judge: "Callable[[Match[str]], _Cut]"
) -> tuple[str, int]:
    parts: list[str] = []
    upto = looked = count = 0
    for place in _places(searched, begins):
        match = _compiled(pattern).match(text, place) if place >= looked else None
        if match is None:
            continue
        looked = match.end()
        cut = judge(match)
        if cut.start < cut.end:
            parts += [text[upto : cut.start], MARK]
            upto, count = cut.end, count + 1
    return ("".join([*parts, text[upto:]]), count) if count else (text, 0)


def _places(searched: str, begins: tuple[str, ...]) -> list[int]:
    """Where any of these words stands, in order."""
    found: set[int] = set()
    for word in begins:
        place = searched.find(word)
        while place >= 0:
            found.add(place)
            place = searched.find(word, place + 1)
    return sorted(found)


def _lowered(text: str) -> str:
    """In small letters, with every letter in its place: a few become two, and are left as they are."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c.lower() if c.isascii() else c for c in text)


_STAYS = _Cut(0, 0)


def _all_of_it(match: "Match[str]") -> _Cut:
    return _Cut(match.end("keep") if "keep" in match.re.groupindex else match.start(), match.end())


def _in_url(match: "Match[str]") -> _Cut:
    return _STAYS if _is_reference(match["value"]) else _Cut(*match.span("value"))


def _in_header(match: "Match[str]") -> _Cut:
    """After `Bearer` or `Basic` alone, which are words as well, it has to look like one."""
    value = match["value"]
    if match["scheme"] and (len(value) < 12 or not _is_mixed(value)):
        return _STAYS
    return _Cut(*match.span("value")) if is_told(value) and value.lower() not in _SCHEMES else _STAYS


def _in_assignment(match: "Match[str]") -> _Cut:
    if match["quoted"] is not None:
        value = match["quoted"]
        return _Cut(*match.span("quoted")) if len(value) > 2 and is_told(value) and not _is_filler(value) else _STAYS
    value, start = match["bare"], match.start("bare")
    value = value.rstrip(").]}:!?\\") if not value.startswith(_REFERENCES) else ""
    if len(value) < 4 or not is_told(value) or _is_filler(value) or not _is_given(match, value):
        return _STAYS
    return _Cut(start, start + len(value))


def _is_given(match: "Match[str]", value: str) -> bool:
    """Does a bare word stand for itself here? In code it is the name of something, and in prose just the next word."""
    tight = not match["before"] and not match["after"]
    equals = "=" in match["mark"]
    if equals and tight and match["name"].isupper():  # as in an environment
        return True
    if _is_code(value, match["name"], match["bare"]):
        return False
    if _has_digit_and_letter(value) or (value.isdecimal() and len(value) >= 6 and "pass" in match["name"].lower()):
        return True
    if equals:
        return tight and len(value) >= 6
    return _is_alone(match) or (len(value) >= 16 and _is_mixed(value))


def _is_alone(match: "Match[str]") -> bool:
    """`password: hunter` with nothing else on the line, as in YAML."""
    text, start, end = match.string, match.start("name"), match.end("bare")
    line_start = text.rfind("\n", max(0, start - 60), start) + 1
    if not line_start and start > 60:
        return False  # a line of prose is longer than that
    before = text[line_start:start].lstrip(" \t-\"'")
    return text[end : end + 1] in ("", "\n", "\r") and " " not in before and bool(match["after"])


def _is_code(value: str, name: str, bare: str) -> bool:
    """A call, an attribute, an index, a name that says what it is: `self.token`, `get_token()`, `token=new_token`."""
    if any(mark in bare for mark in "([{"):
        return True
    return name.lower().rstrip("s") in value.lower() or (
        all(part.isidentifier() for part in value.split(".")) and ("." in value and not any(c.isdigit() for c in value))
    )


def _is_reference(value: str) -> bool:
    stripped = value.strip()
    return stripped.startswith(_REFERENCES) or MARK in stripped or not stripped.strip("*xX.-_\u2022")


def _is_filler(value: str) -> bool:
    return value.lower().startswith(_TO_BE_FILLED)


def _has_digit_and_letter(value: str) -> bool:
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def _is_mixed(value: str) -> bool:
    """Letters of both cases, digits or signs together, as chance has it and words do not."""
    kinds = (any(c.isdigit() for c in value), any(c.islower() for c in value), any(c.isupper() for c in value[1:]))
    return sum(kinds) >= 2


_JUDGED = (
    (("://",), _URL, _in_url),
    (("authorization", "bearer", "basic"), _HEADER, _in_header),
    (("pass", "pwd", "secret", "token", "api", "access", "private", "auth", "signing", "encryption", "account",
      "credential"), _GIVEN, _in_assignment),
)  # fmt: skip


@cache
def _compiled(pattern: str) -> "Pattern[str]":
    import re

    return re.compile(pattern)
