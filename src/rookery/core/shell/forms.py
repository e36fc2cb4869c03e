"""Forms in which a text may spell a path: escapes decoded, strings concatenated or joined, encoded text decoded.

In a form with `HOLE`, that character stands where a string of code gets a value: `f"src/{name}.py"`, `"src/" + name`.
Every pattern has bounded repetitions, so that no text takes more than linear time.
"""

import re
from collections.abc import Iterator

HOLE = "\x01"
DECODED_LIMIT = 200  # encoded words of one text
CLOSELY_LIMIT = 1 << 16  # characters of a text in which holes and encoded words are looked for

_CONCATENATED = re.compile(r"""['"]\s{0,9}(?:\+|\.{1,2}|<<|~|\|\|)?\s{0,9}[rbuf]?['"]""")
_JOINED = re.compile(r"""['"]\)?\s{0,9}(?:,|/|\)\.joinpath\()\s{0,9}[rbuf]?['"]""")
_ESCAPED = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([0-7]{3}))")
_CHARACTERS = re.compile(
    r"\b(?:chr|fromCharCode|char)\(\s{0,3}(?:\d{1,3}\s{0,3},?\s{0,3}){1,200}\)|[\[(]\d{2,3}(?:,\s{0,3}\d{2,3}){2,200}[\])]"
)
_REPLACED = re.compile(
    r"""['"]([^'"\n]{1,300})['"]\.replace\(['"]([^'"\n]{1,99})['"]\s{0,9},\s{0,9}['"]([^'"\n]{0,99})['"]\)"""
)
_NAMED = re.compile(r"\\N\{([A-Z0-9 -]{1,60})\}")
_PERCENT = re.compile(r"%x?([0-9a-fA-F]{2})")
_FILLED = re.compile(r"""\{['"]([^'"{}\n]{0,99})['"]\}""")  # a text in the hole of another
_MATCHED = re.compile(
    r"""['"]([^'"\n]{1,300})['"]\.replace\(/([\w./-]{1,99})/[gi]{0,2}\s{0,9},\s{0,9}['"]([^'"\n]{0,99})['"]\)"""
)
_SHELL_QUOTES = str.maketrans("", "", "'\"\\")

_PLACEHOLDER = re.compile(r"\\?[$#]\{[^{}\n]{0,60}\}|\{[^{}\n'\"]{0,60}\}|%[sdri]\b|%\(\w{1,30}\)s|\\?\$\w{1,40}")
_CHOICE = re.compile(r"[@+*?!]\([^()\n]{0,99}\)")  # of a shell's extended patterns
_VALUE = r"[A-Za-z_$][\w.$]{0,60}(?:\[[^\]\n]{0,30}\]|\([^()\n]{0,30}\))?"
_BETWEEN = re.compile(rf"""(?<=[\w/.])['"]\s{{0,9}}[+.]\s{{0,9}}{_VALUE}\s{{0,9}}[+.]\s{{0,9}}['"]""")
_AFTER = re.compile(rf"""(?<=/)['"]\s{{0,9}}[+.]\s{{0,9}}{_VALUE}(?!\s{{0,9}}[+.]\s{{0,9}}['"])""")
_BEFORE = re.compile(rf"""{_VALUE}\s{{0,9}}\+\s{{0,9}}[rbuf]?['"](?=[/.\w])""")

_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{8,400}={0,2}")
_REVERSES = re.compile(r"\[::-1\]|revers|\brev\b|strrev")
_CHANGES_CASE = re.compile(
    r"@[LUu]\b|,,|\^\^|lower|upper|nocase|(?:declare|typeset|local)\s{1,9}-\w{0,5}[lu]|\blc\b|y/A-Z|tr ", re.IGNORECASE
)


def forms(text: str) -> Iterator[str]:
    plain = _ESCAPED.sub(_character, text)
    if len(text) <= CLOSELY_LIMIT:
        plain = _NAMED.sub(_named, plain) if "\\N" in plain else plain
        plain = _MATCHED.sub(_replaced, plain)
        plain = _REPLACED.sub(_replaced, _FILLED.sub(r"\1", _CHARACTERS.sub(_characters, plain)))
    whole = _CONCATENATED.sub("", plain)
    joined = _JOINED.sub("/", whole)
    made = [text, plain, whole, joined, _JOINED.sub("/", plain), plain.translate(_SHELL_QUOTES)]
    if len(text) <= CLOSELY_LIMIT:
        made += [_CONCATENATED.sub("", _JOINED.sub("/", plain)), with_holes(whole), _JOINED.sub("/", with_holes(plain))]
        made += [plain[::-1]] if _REVERSES.search(text) else []
        made += [_PERCENT.sub(_from_percent, plain)] if "%" in plain else []
        made += [plain.lower()] if _CHANGES_CASE.search(text) else []
        made.append(_decoded(text))
    yield from dict.fromkeys(filter(None, made))


def with_holes(text: str) -> str:
    text = _CHOICE.sub(HOLE, text)
    text = _BETWEEN.sub(HOLE, _PLACEHOLDER.sub(HOLE, text))
    return _BEFORE.sub(f"'{HOLE}", _AFTER.sub(f"{HOLE}'", text))


def _character(found: re.Match[str]) -> str:
    return chr(int(found[1] or found[2] or found[3], 8 if found[3] else 16))


def _named(found: re.Match[str]) -> str:
    from unicodedata import lookup  # few texts have one

    try:
        return lookup(found[1])
    except KeyError:
        return found[0]


def _from_percent(found: re.Match[str]) -> str:
    return chr(int(found[1], 16))


def _replaced(found: re.Match[str]) -> str:
    return "'" + found[1].replace(found[2], found[3]) + "'"


def _characters(found: re.Match[str]) -> str:
    codes = [int(code) for code in re.findall(r"\d+", found[0])]
    return "'" + "".join(chr(code) for code in codes if 32 <= code < 127) + "'"


def _decoded(text: str) -> str:
    """What the words of a text mean in base64 or in hexadecimal digits, where that is text again."""
    found = (reading for word in _ENCODED.findall(text)[:DECODED_LIMIT] for reading in _readings(word))
    return "\n".join(reading for reading in map(str.strip, found) if reading.isprintable())


def _readings(word: str) -> Iterator[str]:
    from base64 import b64decode  # few texts are searched

    try:
        if len(word) % 2 == 0 and not word.strip("0123456789abcdefABCDEF"):
            yield bytes.fromhex(word).decode()
        yield b64decode(word + "=" * (-len(word) % 4), altchars=b"-_" if set(word) & set("-_") else None).decode()
    except ValueError:
        return
