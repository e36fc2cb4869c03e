"""Programs that edit in place, and the small languages they are told in: sed, perl, awk, patches."""

import re

from . import holes, reading
from .options import Given, given
from .reading import Reach
from .site import Site, basename, dirname, doubt

# --- sed --------------------------------------------------------------------------------------------------------------

_SED = (
    "n,quiet,silent e,expression: f,file: E,r,regexp-extended i,I,in-place? l,line-length: s,separate u,unbuffered "
    "z,null-data b,binary posix debug sandbox follow-symlinks a help version"
)


def sed(name: str, words: list[str], site: Site) -> None:
    got = given(_SED, words)
    doubt(got, site)
    scripts, files = got.values("e"), list(got.operands)
    for file in got.values("f"):
        text = site.text(file)
        scripts += [] if text is None else [text]
        if text is None:
            site.opaque(reading.SCRIPT)
    endings = got.values("i")
    if endings == [""] and files and (files[0] == "" or files[0].startswith(".")):
        endings = [files.pop(0)]  # BSD's sed takes the ending as a word of its own
    if not scripts and not got.has("f"):
        scripts, files = files[:1], files[1:]
    for script in scripts:
        _sed_script(script, site)
    if endings:
        for file in files:
            rewritten(file, endings[-1], site)


def rewritten(file: str, ending: str, site: Site) -> None:
    """A file edited in place, and the old one kept beside it if an ending says so."""
    site.write(file)
    if ending:
        kept = ending.replace("*", basename(file)) if "*" in ending else basename(file) + ending
        site.write(kept if "/" in kept else f"{dirname(file)}/{kept}")


def _sed_script(script: str, site: Site) -> None:
    if not holes.is_told(script):
        site.opaque(reading.SCRIPT, holes.shown(script))
        return
    files = sed_writes(holes.shown(script))
    if files is None:
        site.opaque(reading.SCRIPT, holes.shown(script))
        site.commands(script)
        site.may_write([name.rstrip() for name in re.findall(r"[wW][ \t]{0,9}([^\s;][^\n]{0,999})", script)])
        if re.search(r"(?:^|[\s;{\d$])e|\Ws?\w{0,9}e\w{0,9}(?:$|[;}\s])", script):  # it runs what it reads
            site.searched("\n".join([script, site.stdin if site.stdin is not None else site.feeders()]))
    for file in files or []:
        site.write(file)


def sed_writes(script: str) -> list[str] | None:
    """The files that the commands `w` and `s///w` of a script name; None if it runs programs or is not understood."""
    files: list[str] = []
    at: int | None = 0
    while at is not None and at < len(script):
        if script[at] in " \t\n;{}":
            at += 1
            continue
        if script[at] == "#":
            at = _line_end(script, at)
            continue
        at = _address(script, at)
        if at is not None and at < len(script):
            at = _sed_command(script, at, files)
    return None if at is None else files


def _line_end(script: str, at: int) -> int:
    found = script.find("\n", at)
    return len(script) if found < 0 else found


def _address(script: str, at: int) -> int | None:
    """Past `1,$`, `/x/I,/y/+3`, `2~4` and `!`, to the letter of the command."""
    while at < len(script):
        char = script[at]
        if char in "0123456789$,~+! \t":
            at += 1
        elif char in "/\\":
            end = _delimited(script, at + (char == "\\"))
            if end is None:
                return None
            at = end
            while script[at : at + 1] and script[at] in "IM":
                at += 1
        else:
            return at
    return at


def _delimited(script: str, at: int) -> int | None:
    """Past a text between two of the character at `at`: where a backslash protects one, and a class all in it."""
    if at >= len(script) or script[at] in "\n\\":
        return None
    mark, at = script[at], at + 1
    while at < len(script):
        if script[at] == "\\":
            at += 2
        elif script[at] == mark:
            return at + 1
        else:
            at += 1
    return None


def _sed_command(script: str, at: int, files: list[str]) -> int | None:
    letter = script[at]
    if letter in "wW":
        end = _line_end(script, at)
        files.append(script[at + 1 : end].strip())
        return end
    if letter in "aicrRbtT:":
        # These take the rest of the line; a label ends at `;` too.
        return _text_end(script, at + 1) if letter in "aicrR" else _label_end(script, at)
    if letter == "s":
        return _substituted(script, at, files)
    if letter == "y":
        return _twice(script, at + 1)
    if letter in "=dDgGhHnNpPqQxzlLF":
        at += 1
        while at < len(script) and script[at] in " \t0123456789":
            at += 1
        return at if at == len(script) or script[at] in ";}\n#" else None
    return at + 1 if letter in "{}" else None  # `e` and `v` among them


def _label_end(script: str, at: int) -> int:
    while at < len(script) and script[at] not in ";\n}":
        at += 1
    return at


def _text_end(script: str, at: int) -> int:
    while True:
        end = _line_end(script, at)
        if end == len(script) or script[end - 1] != "\\":
            return end
        at = end + 1


def _twice(script: str, at: int) -> int | None:
    middle = _delimited(script, at)
    return None if middle is None else _delimited(script, middle - 1)


def _substituted(script: str, at: int, files: list[str]) -> int | None:
    end = _twice(script, at + 1)
    while end is not None and end < len(script) and script[end] in "gpiImM0123456789":
        end += 1
    if end is None or end == len(script):
        return end
    if script[end] == "w":
        stop = _line_end(script, end)
        files.append(script[end + 1 : stop].strip())
        return stop
    return end if script[end] in " \t;}\n#" else None  # `e` among them


# --- perl and awk -----------------------------------------------------------------------------------------------------

_PERL = "p n i? e: E: 0? l? a w W X F: M: m: I: s S t T u U c v V? C? d? D? x? h"  # what is attached to `-0` are digits


def perl(name: str, words: list[str], site: Site) -> None:
    words = [*(site.variable("PERL5OPT") or "").split(), *words]
    got = given(_PERL, [_without_separator(word) for word in words], permute=False)
    files, codes = list(got.operands), got.values("e E")
    if not codes and got.has("v V h"):
        return
    doubt(got, site)
    tame = bool(codes) and not got.has("M m I d x") and all(map(_only_substitutes, codes))
    if not tame:
        site.opaque(reading.INTERPRETER)
        modules = got.values("M m F")  # each is put into the code as it is
        site.code("\n".join(each for each in modules if set(each) & set(";({ ")))
        if any(each.startswith("ExtUtils::Command") for each in modules):
            site.may_write(files, deep=True)
        _perl_code(codes, files, site, debugs=got.has("d"), switches=got.has("s"))
    if any("$^I" in code for code in codes) or any(re.match(r"-[acfglnpsStTuUwWX0-7]*i", word) for word in words):
        site.may_write([word for word in words if not word.startswith("-")])
    for file in files:
        if file[:1] in (">", "|", "+") or file[-1:] == "|":
            site.searched(file)  # perl opens it as a command or for writing
    if got.has("i") and (codes or got.has("p n")):
        for file in files if codes else files[1:]:
            rewritten(file, got.values("i")[-1], site)


def _perl_code(codes: list[str], files: list[str], site: Site, *, debugs: bool, switches: bool) -> None:
    if debugs and site.stdin is not None:
        codes = [*codes, site.stdin]
    elif not codes and files and files[0] != "-":
        codes, files = [site.content(files[0]) or ""], files[1:]
    elif not codes and site.stdin is not None:
        codes = [site.stdin]
    if switches:
        site.searched("\n".join(files))  # `-f=x` after the code is a variable
    by_line = re.search(r"\$_|\bunlink\b|\brename\b|chomp", "".join(codes))
    site.code("\n".join(codes), [*files, *(site.text(file) or "" for file in files if by_line)])


def _without_separator(word: str) -> str:
    """`-0777pe` is `-pe`: only digits belong to the option they follow."""
    rest = word[1:].lstrip("01234567")
    return f"-{rest}" if word.startswith("-0") and rest else word


def _only_substitutes(code: str) -> bool:
    """Nothing but `s///` and `tr///`, between braces or any other marks, and no code within them."""
    if not holes.is_told(code) or any(sign in code for sign in ("(?{", "(??{", "@{", "${", "`")):
        return False
    if re.search(r"[$@]\w{1,99}[\[{]", code):
        return False  # what stands in the brackets is run
    at: int | None = 0
    while at is not None and at < len(code):
        if code[at] in " \t\n;":
            at += 1
            continue
        kind = next((each for each in ("tr", "s", "y") if code.startswith(each, at)), None)
        at = None if kind is None else _perl_operator(code, at + len(kind))
    return at is not None


_PAIRS = {"{": "}", "(": ")", "[": "]", "<": ">"}


def _perl_operator(code: str, at: int) -> int | None:
    mark = code[at : at + 1]
    if not mark or mark.isalnum() or mark in " \t\n_=,;'":
        return None
    end = _in_pair(code, at) if mark in _PAIRS else _twice(code, at)
    if end is not None and mark in _PAIRS:
        while code[end : end + 1] in (" ", "\t"):
            end += 1
        end = _in_pair(code, end) if code[end : end + 1] == mark else None
    while end is not None and end < len(code) and code[end] in "gimsxocdr":
        end += 1
    return end if end is None or end == len(code) or code[end] in " \t\n;" else None


def _in_pair(code: str, at: int) -> int | None:
    opened, depth = code[at], 0
    while at < len(code):
        if code[at] == "\\":
            at += 1
        elif code[at] == opened:
            depth += 1
        elif code[at] == _PAIRS[opened]:
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return None


def awk(name: str, words: list[str], site: Site) -> None:
    """A program that neither redirects nor pipes writes nothing; a comparison with `>` can not be told from that."""
    got = given(
        "F,field-separator: v,assign: f,file: i,include: e,source: l,load: o,pretty-print? d,dump-variables? "
        "p,profile? E,exec: n b c C g h k L? M N O P r s S t V version help sandbox posix re-interval",
        words,
        permute=False,
    )
    doubt(got, site)
    programs = got.values("e") or ([] if got.has("f") else got.operands[:1])
    operands = got.operands if got.has("e f") else got.operands[1:]
    if got.has("f i l E o d p"):
        site.opaque(reading.SCRIPT)
    if "inplace" in got.values("i"):
        for file in operands:
            site.write(file)
    for file in got.values("f"):
        _awk_program(site.text(file) or "", [*got.values("v"), *operands], site)
    for program in programs:
        calm = program.replace("||", "")
        if not holes.is_told(program) or any(sign in calm for sign in (">", "|", "system", "@")):
            site.opaque(reading.SCRIPT, holes.shown(program))
            _awk_program(holes.shown(program), [*got.values("v"), *operands], site)


def _awk_program(program: str, operands: list[str], site: Site) -> None:
    """After `print >` a file is written and after `print |` a command is run. If an expression stands there, or with
    `system`, the program may write what it names."""
    unclear = bool(re.search(r"\bsystem\s{0,9}\(|@|\|\s{0,9}getline", program))
    for sign, target in _awk_targets(program):
        quoted = target.strip()
        if len(quoted) < 2 or not quoted[0] == quoted[-1] == '"' or set(quoted[1:-1]) & set('"\\'):
            unclear = True
        elif sign == "|":
            site.shell(quoted[1:-1], ())
            site.commands(program)  # what it prints may be commands
        else:
            site.write(quoted[1:-1])
    if unclear:
        site.may_write([each.partition("=")[2] or each for each in operands if not holes.is_told(each)])
        for operand in operands:
            if any(char.isspace() for char in operand):
                site.shell(operand.partition("=")[2] or operand, ())
        read = [site.text(operand) or "" for operand in operands]
        site.code(f"exec {program}\n" + "\n".join([*operands, *read, site.stdin or site.feeders()]))


# A text, a comment, a pattern (where no division can stand), and the signs that count outside of them.
_AWK_PIECE = re.compile(
    r""""(?:\\.|[^"\\])*"|\#[^\n]*|(?:(?<=[({},;!~&|\n])|\A)[ \t]{0,9}/(?:\\.|\[[^]\n]{1,300}\]|[^/\\\n\[]){1,999}/|"""
    r"""\bprintf?\b|>{1,2}|[|]{1,2}|[(){};\n]"""
)


def _awk_targets(program: str) -> list[tuple[str, str]]:
    """What follows `>`, `>>` or `|` after a `print`, up to the end of the statement."""
    found: list[tuple[str, str]] = []
    depth, printing = 0, False
    begun: tuple[str, int] | None = None
    for piece in re.finditer(_AWK_PIECE, f"{program}\n"):
        sign = piece[0]
        if sign in ("(", ")"):
            depth += 1 if sign == "(" else -1
        elif sign in ("{", "}", ";", "\n"):
            found += [(begun[0], program[begun[1] : piece.start()])] if begun else []
            depth, printing, begun = 0, False, None
        elif sign.startswith("print"):
            printing = True
        elif sign in (">", ">>", "|") and printing and depth <= 0 and begun is None:
            begun = (sign, piece.end())
    return found


# --- patches ----------------------------------------------------------------------------------------------------------

_HEADERS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
_PATCH = (
    "p,strip: i,input: d,directory: o,output: r,reject-file: b,backup z,suffix: B,prefix: Y,basename-prefix: V: "
    "R,reverse N,forward f,force t,batch s,silent,quiet u,unified c,context n,normal e,ed l,ignore-whitespace F,fuzz: "
    "E,remove-empty-files dry-run verbose binary no-backup-if-mismatch backup-if-mismatch merge? posix D,ifdef: "
    "g,get: T Z v,version help reject-format: read-only: follow-symlinks"
)


def patched(text: str) -> list[str] | None:
    """The paths in the text of an `apply_patch`; None if it is none."""
    paths: list[str] = []
    begun = False
    for line in text.split("\n"):
        line = line.strip()
        begun = begun or line == "*** Begin Patch"
        for header in _HEADERS:
            if line.startswith(header):
                paths.append(line[len(header) :].strip())
    return paths if begun and all(paths) else None


def apply_patch(name: str, words: list[str], site: Site) -> None:
    text = words[0] if words else site.stdin
    paths = patched(text) if text is not None and holes.is_told(text) else None
    if paths is None:
        site.opaque(reading.PATCH_ELSEWHERE)
        site.searched(text or site.feeders())
    for path in paths or []:
        site.write(path)


def patch(name: str, words: list[str], site: Site) -> None:
    got = given(_PATCH, words)
    doubt(got, site)
    if got.has("dry-run v help"):
        return
    place = site
    for folder in got.values("d"):
        place = place.into(folder)
    for value in got.values("r"):
        place.write(value)
    named = got.values("o") or got.operands[:1]
    file = (got.values("i") or got.operands[1:2] or ["-"])[-1]
    text = place.text(file)
    found = diff_paths(text, _strip(got)) if text is not None and holes.is_told(text) else []
    if not named and not found:
        site.opaque(reading.PATCH_ELSEWHERE)
        search_feeders(file, place)
        return
    for file in named or found:
        for path in (file, file + ".orig", file + ".rej"):
            place.write(path)
        for ending in got.values("z"):
            place.write(file + ending)
    if got.has("B Y V e"):
        site.opaque(reading.OPTION_UNKNOWN)


def search_feeders(file: str, site: Site) -> None:
    """A patch that this text does not show: what the commands that print it name. A diff by git of everything names
    every file."""
    text = site.feeders(file)
    site.searched(text, deep=True)
    words = re.findall(r"[^\s|;&]+", text)
    if re.search(r"\bgit\b[^|;&\n]{0,200}\b(?:diff|show|log|stash|format-patch)\b", text) and not any(
        re.search(r"/|\w\.\w", word) or word == "--" for word in words if not word.startswith("-") or word == "--"
    ):
        site.write(".", Reach.REPOSITORY)


def _strip(got: Given) -> int | None:
    value = (got.values("p") or [""])[-1]
    return int(value) if value.isascii() and value.isdecimal() else None


_GIT_HEADER = r'diff --git "?a/(.{1,1000}?)"? "?b/(.{1,1000}?)"?'


def _unescaped(name: str) -> str:
    """git puts odd names into quotes, and their bytes into octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), name.strip('"'))


def diff_paths(text: str, strip: int | None) -> list[str]:
    """Every name a diff might mean; without a number to strip, the whole name and its last part."""
    names: dict[str, None] = {}
    for line in text.split("\n"):
        if found := re.fullmatch(_GIT_HEADER, line):
            names |= dict.fromkeys(map(_unescaped, found.groups()))
        for header in ("--- ", "+++ ", "*** ", "Index: ", "rename from ", "rename to ", "copy to "):
            if line.startswith(header):
                name = _unescaped(line[len(header) :].partition("\t")[0].strip())
                parts = name.split("/")
                if name and name != "/dev/null":
                    chosen = [name, parts[-1]] if strip is None else ["/".join(parts[strip:]) or parts[-1]]
                    names |= dict.fromkeys(chosen + ([name] if header.startswith(("rename", "copy")) else []))
    return [name for name in names if name]
