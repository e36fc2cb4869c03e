"""What a program prints, where its words and its standard input determine it; None where they do not.

Filters whose effect is not worked out exactly (`grep`, `sort`) hand on all lines they are given, which is more than
what they print, never less.
"""

import re
from collections.abc import Callable
from itertools import cycle, islice

from . import holes
from .options import given, names
from .reading import under
from .site import Site

LINES_LIMIT = 1_000
MATCHED_LIMIT = 10_000  # characters that a pattern of the command is matched with

_SILENT = names(
    """
    : test [ true false sleep wait cd mkdir rmdir rm mv cp ln touch chmod chown chgrp truncate unlink install mkfifo
    shred fallocate kill set shift unset export exit return break continue umask ulimit trap shopt sync
    """
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}
# Patterns are compiled when they are first used: a hook reads one command, and ends.
_ESCAPE = r"\\(?:([ntr\\abfve\"'])|0?([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(c))"
_FORMAT = r"%(?:%|[-+ #0]*\d*(?:\.\d+)?([sbdiqcu]))"


def printed(name: str, words: list[str], site: Site) -> str | None:
    if name in _SILENT:
        return ""
    make = _PRINTERS.get(name)
    return make(words, site) if make is not None else None


def unescaped(text: str) -> str:
    def char(found: re.Match[str]) -> str:
        if found[1]:
            return _ESCAPES.get(found[1], found[1])
        return "" if found[4] else chr(int(found[2], 8) & 0xFF if found[2] else int(found[3], 16))

    return re.sub(_ESCAPE, char, text)


def echo(words: list[str], site: Site) -> str | None:
    end, escapes = "\n", False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        end = "" if "n" in words[0] else end
        escapes = "e" in words[0]
        words = words[1:]
    text = " ".join(words)
    return (unescaped(text) if escapes else text) + end


def formatted(words: list[str]) -> str | None:
    """`printf FORMAT ARGUMENT...`: the format is used again until no argument is left."""
    words = words[1:] if words[:1] == ["--"] else words
    if not words or not holes.is_told(words[0]):
        return None
    form, arguments = words[0], list(words[1:])
    made: list[str] = []
    for _ in range(LINES_LIMIT):
        used = len(arguments)

        def value(found: re.Match[str]) -> str:
            if not found[1]:
                return "%"
            given = arguments.pop(0) if arguments else ""
            return unescaped(given) if found[1] == "b" else given[:1] if found[1] == "c" else given

        form = re.sub(r"%\(([^()%]*)\)T", r"\1", form)  # a time, whose format has no field

        pieces = re.split(r"(%(?:%|[^a-zA-Z%]*[a-zA-Z]))", form)
        if any(index % 2 and not re.fullmatch(_FORMAT, piece) for index, piece in enumerate(pieces)):
            return None
        made += [re.sub(_FORMAT, value, piece) if index % 2 else unescaped(piece) for index, piece in enumerate(pieces)]
        if not arguments or len(arguments) == used:
            return "".join(made)
    return None


def cat(words: list[str], site: Site) -> str | None:
    if any(word.startswith("-") and word != "-" for word in words):
        return None
    if not words:
        return site.stdin
    texts = [site.text(word) for word in words]
    return None if None in texts else "".join(text for text in texts if text is not None)


def _lines(words: list[str], site: Site, spec: str, operands: int = 0) -> tuple[dict[str, list[str]], list[str]] | None:
    """The options, and the lines a filter is given, from standard input or from files whose text is known."""
    got = given(spec, words)
    files = got.operands[operands:]
    text = cat(files, site)
    return None if got.strange or text is None else (got.found, text.splitlines(keepends=True))


def head(words: list[str], site: Site) -> str | None:
    return _ends(words, site, first=True)


def tail(words: list[str], site: Site) -> str | None:
    return _ends(words, site, first=False)


def _ends(words: list[str], site: Site, *, first: bool) -> str | None:
    words = [f"-n{word[1:]}" if re.fullmatch(r"-\d+", word) else word for word in words]
    got = _lines(words, site, "n,lines: q,quiet v,verbose c,bytes: f F")
    if got is None or "c" in got[0]:
        return None
    count = (got[0].get("n") or ["10"])[-1]
    if not count.isdecimal():
        return "".join(got[1])
    return "".join(got[1][: int(count)] if first else got[1][-int(count) :] if int(count) else [])


def kept(words: list[str], site: Site) -> str | None:
    got = _lines(words, site, "r n u f d i z s V h b k: t: o: c w: 0")
    return None if got is None else "".join(got[1])


def grep(words: list[str], site: Site) -> str | None:
    got = given("E F G P i v w x n H h a s r R e: l,files-with-matches L o,only-matching c q,quiet A: B: C: m: "
                "include: exclude: exclude-dir: color: colour: line-number no-filename z recursive", words)  # fmt: skip
    files = got.operands if got.has("e") else got.operands[1:]
    if got.strange or got.has("c n H o"):
        return None
    if got.has("l L r R recursive"):
        return _listed(files, site) if got.has("l L") else None
    return cat(files, site)


def _listed(paths: list[str], site: Site) -> str | None:
    """Files of these names, and what lies beneath those that are folders. A search of the whole folder names none."""
    if not paths or any(path.strip("./") == "" for path in paths):
        return None
    return "".join(f"{path.rstrip('/')}/{holes.DEEP}\n" if site.is_folder(path) else f"{path}\n" for path in paths)


def translate(words: list[str], site: Site) -> str | None:
    got = given("d,delete s,squeeze-repeats c,complement C t", words)
    if site.stdin is None or got.strange or got.has("c C") or not got.operands:
        return None
    sets = [_set(each) for each in got.operands]
    if got.has("d"):
        return site.stdin.translate(dict.fromkeys(map(ord, sets[0]), None))
    if len(sets) < 2 or not sets[1]:
        return site.stdin
    target = sets[1] + sets[1][-1] * len(sets[0])
    return site.stdin.translate({ord(a): b for a, b in zip(sets[0], target, strict=False)})


_CLASSES = {"[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "[:lower:]": "abcdefghijklmnopqrstuvwxyz", "[:space:]": " \t\n",
            "[:digit:]": "0123456789"}  # fmt: skip


def _set(text: str) -> str:
    for name, chars in _CLASSES.items():
        text = text.replace(name, chars)
    text = unescaped(text)
    return re.sub(
        r"(.)-(.)", lambda found: "".join(map(chr, range(ord(found[1]), ord(found[2]) + 1))), text, flags=re.S
    )


_SUBSTITUTE = r"s([/|#,:@!])((?:\\.|(?!\1).)*)\1((?:\\.|(?!\1).)*)\1(g?)"


def sed(words: list[str], site: Site) -> str | None:
    """One `s///` with a pattern that means the same everywhere, on what is given; anything else is not worked out."""
    got = given("n E r e: s u", words)
    scripts = got.values("e") or got.operands[:1]
    text = cat(got.operands if got.has("e") else got.operands[1:], site)
    if got.strange or got.has("n") or text is None:
        return None
    for script in scripts:
        found = re.fullmatch(_SUBSTITUTE, script.strip())
        pattern = None if found is None else _basic(found[2])
        if found is None or pattern is None or re.search(r"\\[^/.&|]", found[3]):
            return None
        if found[2].count("*") > 2 or len(text) > MATCHED_LIMIT:
            return None
        put = re.sub(r"\\(.)", r"\1", found[3]).replace("&", "\\g<0>")
        try:
            text = "\n".join(re.sub(pattern, put, line, count=0 if found[4] else 1) for line in text.split("\n"))
        except re.error:
            return None
    return text


def _basic(pattern: str) -> str | None:
    """A basic regular expression in Python's language, if it means the same there: `\\.` and `\\/` are themselves."""
    if re.search(r"\\[^./*$^\[\]|]|[+?(){}]|(?<!\\)\|", pattern):
        return None
    return pattern


def cut(words: list[str], site: Site) -> str | None:
    got = _lines(words, site, "d,delimiter: f,fields: s c: b: complement output-delimiter:")
    if got is None or "f" not in got[0] or len(got[0]) > 2 or not got[0]["f"][-1].isdecimal():
        return None
    mark, number = (got[0].get("d") or ["\t"])[-1], int(got[0]["f"][-1])
    rows = [line.rstrip("\n").split(mark) if mark else [line] for line in got[1]]
    return "".join(
        (row[number - 1] if 0 < number <= len(row) else row[0] if len(row) == 1 else "") + "\n" for row in rows
    )


_AWK = r"\s*\{\s*print\s+\$(\d+|NF)\s*;?\s*\}\s*"


def awk(words: list[str], site: Site) -> str | None:
    got = given("F: v:", words, permute=False)
    found = re.fullmatch(_AWK, got.operands[0]) if got.operands and not got.strange and not got.has("v") else None
    text = cat(got.operands[1:], site)
    if found is None or text is None:
        return None
    mark = (got.values("F") or [None])[-1]
    rows = [line.split(mark) for line in text.splitlines()]
    picked = [
        row if found[1] == "0" else row[-1:] if found[1] == "NF" else row[int(found[1]) - 1 :][:1] for row in rows
    ]
    return "".join(" ".join(row) + "\n" for row in picked)


def reverse(words: list[str], site: Site) -> str | None:
    text = cat(words, site)
    return None if text is None else "".join(line[::-1] + "\n" for line in text.splitlines())


def decode(words: list[str], site: Site) -> str | None:
    from base64 import b64decode

    got = _lines(words, site, "d,D,decode i w:")
    if got is None or "d" not in got[0]:
        return None
    try:
        return b64decode("".join(got[1]).strip()).decode()
    except ValueError:
        return None


def decode_by_openssl(words: list[str], site: Site) -> str | None:
    named = words[:1] in (["base64"], ["enc"]) and {"base64", "-base64", "-a"} & set(words)
    return decode([word for word in words if word == "-d"], site) if named else None


def decode_hex(words: list[str], site: Site) -> str | None:
    if (not {"-r", "-p"} <= set(words) and not {"-rp", "-pr"} & set(words)) or site.stdin is None:
        return None
    try:
        return bytes.fromhex(site.stdin.strip()).decode()
    except ValueError:
        return None


def base_name(words: list[str], site: Site) -> str | None:
    words = [word for word in words if word != "--"]
    if not 1 <= len(words) <= 2 or words[0].startswith("-"):
        return None
    last = words[0].rstrip("/").rpartition("/")[2]
    ending = words[1] if len(words) == 2 else ""
    return (last.removesuffix(ending) if last != ending else last) + "\n"


def folder_name(words: list[str], site: Site) -> str | None:
    words = [word for word in words if word != "--"]
    if len(words) != 1 or words[0].startswith("-"):
        return None
    head, slash, _ = words[0].rstrip("/").rpartition("/")
    return (head or slash or ".") + "\n"


def resolved(words: list[str], site: Site) -> str | None:
    """`realpath`: without a look at the disk, the path as it is spelled, from the root."""
    paths = [word for word in words if not word.startswith("-")]
    if len(paths) != 1:
        return None
    relative = any(word.startswith("--relative") for word in words)
    return f"{paths[0] if relative or site.folder is None else under(site.folder, paths[0])}\n"


def link_target(words: list[str], site: Site) -> str | None:
    """`readlink`: with `-f` like `realpath`; else where the link leads, which only the disk knows."""
    if any(re.match(r"-[a-z]*[fem]|--canonicalize", word) for word in words):
        return resolved(words, site)
    paths = [word for word in words if not word.startswith("-")]
    return f"{paths[0]}\n" if len(paths) == 1 else None


def ls(words: list[str], site: Site) -> str | None:
    if any(word.startswith("-") and word not in ("-1", "-a", "-A", "-d", "-t", "-r", "-tr") for word in words):
        return None
    paths = [word for word in words if not word.startswith("-")]
    if not paths:
        return f"{holes.MANY}\n"
    return "".join(f"{holes.MANY}\n" if site.is_folder(path) and "-d" not in words else f"{path}\n" for path in paths)


def find(words: list[str], site: Site) -> str | None:
    from .wrappers import found_paths

    if any(word in ("-printf", "-ls", "-exec", "-execdir") for word in words):
        return None
    end = "\0" if "-print0" in words else "\n"
    return "".join(path + end for path in found_paths(words))


def git(words: list[str], site: Site) -> str | None:
    if words[:2] == ["rev-parse", "--show-toplevel"]:
        return site.root and f"{site.root}\n"
    if words[:1] == ["ls-files"]:
        specs = [word for word in words[1:] if not word.startswith("-")]
        end = "\0" if "-z" in words else "\n"
        wild = [spec for spec in specs if set(spec) & set("*?[")]
        plain = _listed([spec for spec in specs if spec not in wild], site) if len(wild) < len(specs) else ""
        found = None if plain is None or not specs else plain + "".join(map(_matching, wild))
        return found and found.replace("\n", end)
    return None


def _matching(spec: str) -> str:
    """A wildcard of git's spans folders."""
    folder, slash, last = spec.rpartition("/")
    if set(folder) & set("*?["):
        return f"{holes.DEEP}\n"
    name = re.sub(r"\[[^\]]*\]|\?", holes.ONE, last).replace("*", holes.MANY)
    return f"{folder}{slash}{name}\n{folder}{slash}{holes.DEEP}/{name}\n"


def curl(words: list[str], site: Site) -> str | None:
    """A file of this machine, by its URL."""
    urls = [word for word in words if word not in ("-s", "-f", "-L")]
    return site.text(urls[0].removeprefix("file://")) if len(urls) == 1 and urls[0].startswith("file:///") else None


def sequence(words: list[str], site: Site) -> str | None:
    if not words or not all(re.fullmatch(r"-?\d{1,6}", word) for word in words):
        return None
    numbers = [int(word) for word in words]
    first, step, last = (1, 1, numbers[0]) if len(numbers) == 1 else (numbers[0], 1, numbers[-1])
    step = numbers[1] if len(numbers) == 3 else step
    made = range(first, last + (1 if step > 0 else -1), step) if step else range(0)
    return "".join(f"{number}\n" for number in made) if len(made) <= LINES_LIMIT else None


def _formatted(words: list[str], site: Site) -> str | None:
    return formatted(words)


def _handed_on(words: list[str], site: Site) -> str | None:
    return site.stdin


def environment(words: list[str], site: Site) -> str | None:
    """`printenv NAME`."""
    values = [site.variable(word) for word in words]
    return None if not words or None in values else "".join(f"{value}\n" for value in values)


def date(words: list[str], site: Site) -> str | None:
    """A format is printed as it is, but for its fields."""
    formats = [word[1:] for word in words if word.startswith("+")]
    if len(formats) != 1:
        return None
    plain = formats[0].replace("%%", "\0").replace("%t", "\t").replace("%n", "\n")
    return re.sub(r"%[-_0^#]?\d*[A-Za-z]", holes.MANY, plain).replace("\0", "%") + "\n"


def paste(words: list[str], site: Site) -> str | None:
    """The lines of what it reads side by side: of standard input alone, by itself or in columns."""
    got = given("s,serial d,delimiters: z", words)
    if got.strange or site.stdin is None or set(got.operands) - {"-"}:
        return None
    marks = unescaped((got.values("d") or ["\t"])[-1]) or "\t"
    lines = site.stdin.rstrip("\n").split("\n")
    count = len(lines) if got.has("s") else max(1, len(got.operands))
    rows = [lines[at : at + count] for at in range(0, len(lines), count)]
    before = ["", *islice(cycle(marks), count)]  # of each column
    return "".join("".join(map(str.__add__, before, row)) + "\n" for row in rows)


def _here(words: list[str], site: Site) -> str | None:
    return site.folder and f"{site.folder}\n"


_PRINTERS: dict[str, Callable[[list[str], Site], str | None]] = {
    "echo": echo, "printf": _formatted, "cat": cat, "head": head, "tail": tail, "sort": kept,
    "uniq": kept, "shuf": kept, "tac": kept, "tee": _handed_on, "grep": grep, "egrep": grep,
    "fgrep": grep, "rg": grep, "tr": translate, "sed": sed, "cut": cut, "awk": awk, "gawk": awk, "mawk": awk,
    "rev": reverse, "base64": decode, "xxd": decode_hex, "openssl": decode_by_openssl,
    "basename": base_name, "dirname": folder_name,
    "realpath": resolved, "readlink": link_target, "ls": ls, "find": find, "git": git, "seq": sequence,
    "pwd": _here, "curl": curl, "printenv": environment, "date": date, "paste": paste, "tsort": _handed_on,
    "expand": _handed_on, "unexpand": _handed_on, "column": _handed_on,
    "pv": _handed_on,
}  # fmt: skip
