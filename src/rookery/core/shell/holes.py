"""What stands in a word where its characters are not known.

An expanded word is a plain string in which lone surrogates stand for the rest; no command contains one, for a text
that does is not read at all. `MANY`, `ONE` and `DEEP` are wildcards and end in a pattern; `UNKNOWN` and `SPLIT` make
whatever they stand in opaque. The others live only while a word is expanded: they mark the characters that were not
quoted.
"""

MANY = "\ud800"  # any characters of one name: `*`, a number
ONE = "\ud801"  # one character: `?`, a class
DEEP = "\ud802"  # any number of names: what `find` comes to
UNKNOWN = "\ud803"  # anything, in one word
SPLIT = "\ud804"  # anything, in any number of words

OPEN, CLOSE = "\ud805", "\ud806"  # [ ]
LEFT, RIGHT, COMMA = "\ud807", "\ud808", "\ud809"  # { } ,
TILDE = "\ud80a"
BREAK = "\ud80b"  # between two words
QUOTE = "\ud80c"  # something was quoted here: the word is there even if it is empty

WILD = (MANY, ONE, DEEP)
ACTIVE = str.maketrans({"*": MANY, "?": ONE, "[": OPEN, "]": CLOSE, "{": LEFT, "}": RIGHT, ",": COMMA})
GLOBBING = str.maketrans({"*": MANY, "?": ONE, "[": OPEN, "]": CLOSE})
_QUIET = str.maketrans({OPEN: "[", CLOSE: "]", LEFT: "{", RIGHT: "}", COMMA: ",", TILDE: "~", QUOTE: None, BREAK: " "})
_AS_WRITTEN = str.maketrans({MANY: "*", ONE: "?", DEEP: "**", UNKNOWN: "$", SPLIT: "$"})


def quiet(text: str) -> str:
    """Marks that turned out to mean nothing are the characters themselves."""
    return text.translate(_QUIET)


def is_told(text: str) -> bool:
    return UNKNOWN not in text and SPLIT not in text


def is_wild(text: str) -> bool:
    return any(hole in text for hole in WILD)


def is_plain(text: str) -> bool:
    return is_told(text) and not is_wild(text)


def may_be_option(text: str) -> bool:
    return text[:1] in ("-", UNKNOWN, SPLIT) or SPLIT in text


def shown(text: str) -> str:
    return text.translate(_AS_WRITTEN)
