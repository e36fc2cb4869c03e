"""Programs that run code of their own: inline code, editors in batch mode, and options that name an output.

They stay opaque. What they are given as text is searched for writes (`code`), what they are given as paths counts where
an option says that it is written.
"""

import re
from itertools import pairwise

from . import reading
from .options import given, names
from .outputs import is_output, of_options, of_settings
from .reading import Reach
from .site import Site
from .wrappers import is_command

# The options of an interpreter that take code. A word after the first operand is an argument of the code.
INLINE: dict[str, tuple[str, ...]] = {
    "python": ("-c",), "node": ("-e", "--eval", "-p", "--print", "-pe"), "ruby": ("-e",),
    "php": ("-r", "-B", "-R", "-E", "--run"), "perl": ("-e", "-E"), "lua": ("-e",), "luajit": ("-e",),
    "R": ("-e",), "Rscript": ("-e",), "julia": ("-e", "-E", "--eval"), "bun": ("-e", "--eval", "-p"),
    "tsx": ("-e", "--eval", "-p"), "ts-node": ("-e", "--eval", "-p", "--print"), "deno": ("eval",),
    "osascript": ("-e",), "pwsh": ("-c", "-Command", "-command"), "powershell": ("-c", "-Command", "-command"),
    "expect": ("-c",), "guile": ("-c",), "racket": ("-e",), "elixir": ("-e", "--eval"), "scala": ("-e",),
    "swift": ("-e",), "ghc": ("-e",), "groovy": ("-e",), "psql": ("-c", "--command"), "mysql": ("-e", "--execute"),
    "tclsh": (), "irb": (),
}  # fmt: skip
_LANGUAGES = frozenset(INLINE) - {"psql", "mysql"}
_TAKES_VALUE = {"python": ("-W", "-X", "-m"), "node": ("-r", "--require", "--import", "-C"), "ruby": ("-r", "-I", "-C"),
                "perl": ("-I", "-M"), "php": ("-d", "-c"), "make": ("-C", "-j", "-f")}  # fmt: skip

# Options that make a program rewrite what it is given.
_REWRITES = (
    r"--(?:fix\S*|write\S*|in-?place\S*|overwrite|apply|autofix|auto-?correct\S*|update-snapshots?|replace|modify|"
    r"force-overwrite|reformat|autocorrect\S*|format-in-place|yes-write)(?:=(?!false).*)?|-fix"
)
EDITORS = names("ed ex vi vim nvim vim.tiny vim.basic red emacs emacsclient nano pico joe micro view rview rvim gvim")
_EMACS_VALUES = ("-eval", "--eval", "-l", "--load", "-f", "--funcall")
_LOOKS_UP = names("select pragma explain with .schema .tables .dump .indexes .mode .headers")
_RUN_TEXT = names("gdb lldb tmux screen at batch crontab entr watchexec expect")
_VIM_VALUES = ("-c", "--cmd", "-S", "-u", "-U", "-i", "-T", "-t")
_VIM_OUTPUTS = ("-w", "-W")  # they keep what is typed
_ED_CALM = r"(?:[\s:,%.$\d]*(?:p|l|n|=|q!?|Q|qa!?|h|H|set\b[^=]*|syntax\b.*|g?/.*|echo\b.*|print))?\s*"
_GDB_WRITES = r"\b(?:shell|logging|dump|save|pipe|python|py|gcore|append|restore|tee|make)\b|!"
_SQLITE_READS = names(
    ".schema .tables .dump .indexes .mode .headers .databases .show .help .width .timer .stats .quit .exit .bail .echo "
    ".explain .fullschema .lint .nullvalue .print .separator .sha3sum .timeout .version .header .changes"
)
_ED_WRITES = (
    r"(?m)(?:^|[\n|;])[ \t]{0,9}(?:[:\d.,$%+/\w-]{0,40}[ \t]{0,9})?"
    r"(?:w|W|wq|x|xit|update|up|saveas|write)\b|!|ZZ"
)


def known_as(name: str) -> str:
    """python3.12, pypy and nodejs are interpreters of the same languages."""
    if re.fullmatch(r"(?:i?python|pypy)[0-9.]*", name):
        return "python"
    if name.startswith(("lua", "tclsh", "php")):
        return re.sub(r"[0-9.]+$", "", name)
    return "node" if name == "nodejs" else name


def interpreted(name: str, words: list[str], site: Site) -> None:
    """What a program of the table of interpreters is given to run."""
    if name in EDITORS:
        edited(name, words, site)
        return
    kind = known_as(name)
    codes, operands = inline(kind, words)
    _filled_words(words, site)
    for text in site.filled():
        site.code(text)  # it may be imported, or be a script that the program looks for
    from . import builds

    if kind in builds.BUILDS:
        builds.build(kind, words, site)
        return
    if codes:
        site.code("\n".join(codes), operands)
        if site.stdin is not None and (any(map(_is_interactive, words)) or ("PYTHONINSPECT", "1") in site.environ()):
            site.code(site.stdin)
    elif kind in _LANGUAGES:
        if not _runs_file(operands, site) and site.stdin is not None:
            site.code(site.stdin, operands)
    else:
        given_text(site, operands)
    if kind == "sqlite3":
        _database(words, site)
    if kind == "python" and "-m" in words:
        _module(words[words.index("-m") + 1 :], site)
    told = [*words, *(site.stdin or "").splitlines()]
    if name in ("gdb", "lldb") and re.search(_GDB_WRITES, " ".join(told)):
        site.searched("\n".join(word for word in told if any(char.isspace() for char in word)))
    if name in _RUN_TEXT:
        at = words.index("--args") if "--args" in words else len(words)
        site.commands(" ".join(words[:at]))
        site.run(words[at + 1 :])
    named(words, site)


def _is_interactive(word: str) -> bool:
    return bool(re.fullmatch(r"-[A-Za-z]*i[A-Za-z]*|--interactive", word))


def _filled_words(words: list[str], site: Site) -> None:
    """A file that this command filled and that the program is given: its text may be a script."""
    for word in words:
        path = word.partition("=")[2] if word.startswith("--") else word.removeprefix("@")
        text = site.content(path) if path and path != "-" else None
        if text is not None:
            site.code(text)
            site.commands(text)
            site.may_write([*of_options(text.split(), lenient=True), *of_settings(text)])


_MAKES_FOLDERS = names("venv virtualenv ensurepip pydoc")


def _module(words: list[str], site: Site) -> None:
    """Modules of Python's own library that write a file."""
    operands = [word for word in words[1:] if not word.startswith("-")]
    if words[:1] == ["json.tool"]:
        site.may_write(operands[1:2])
    elif words[:1] == ["trace"]:
        _traced(words[1:], site)
    elif words[:1] == ["lib2to3"]:
        site.may_write(operands, deep=True)
    elif words[:1] == ["timeit"]:
        site.code("\n".join(words[1:]))
    elif words[:1] == ["pdb"]:
        site.code(site.stdin or "")
    elif words[:1] == ["webbrowser"]:
        site.shell(" ".join([(site.variable("BROWSER") or ":").replace("%s", ""), *operands]), ())
    elif words[:1] and words[0] in _MAKES_FOLDERS:
        site.may_write(operands, deep=True)
    elif words[:1] in (["zipfile"], ["tarfile"]):
        site.may_write(operands[:1] if {"-c", "--create"} & set(words) else operands[1:2] or ["."], deep=True)


def _traced(words: list[str], site: Site) -> None:
    """It writes counts beside the files that ran, or into a folder; with these options it only prints."""
    got = given("c,count t,trace l,listfuncs r,report T,trackcalls f,file: C,coverdir: m,missing s,summary R,no-report "
                "g,timing ignore-module: ignore-dir: help version module", words, permute=False)  # fmt: skip
    for file in got.values("f"):
        site.may_write([file])
    for folder in got.values("C"):
        site.may_write([folder], deep=True)
    if not got.has("t l T R") and not got.has("C"):
        for file in got.operands[:1]:
            site.may_write([f"{file.removesuffix('.py')}.cover"])


def given_text(site: Site, arguments: list[str]) -> None:
    """A program that reads a script from its standard input, in a language of its own."""
    if site.stdin is not None:
        site.code(site.stdin, arguments)
        site.commands(site.stdin)


def inline(kind: str, words: list[str]) -> tuple[list[str], list[str]]:
    """(code given by options, the operands)."""
    options, values = INLINE.get(kind, ()), _TAKES_VALUE.get(kind, ())
    codes: list[str] = []
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        if word in options:
            codes += [rest.pop()] if rest else []
        elif (attached := next((each for each in options if word.startswith(f"{each}=")), "")) and "--" in attached:
            codes.append(word.partition("=")[2])
        elif kind in ("python", "perl", "ruby", "php") and (split := _clustered(word, options)) is not None:
            codes.append(split or (rest.pop() if rest else ""))
        elif word in values:
            value = rest.pop() if rest else ""
            codes += [value] if value.startswith("data:") else []
        elif word == "--" or (not word.startswith("-") or word == "-"):
            return codes, [word, *reversed(rest)] if word != "--" else list(reversed(rest))
        if codes and kind == "python":
            break
    return codes, list(reversed(rest))


def _clustered(word: str, options: tuple[str, ...]) -> str | None:
    """The code attached to `-c`, or to the end of `-uc`; "" if it is the next word, None if there is none."""
    flags = _FLAGS if options == ("-c",) else "A-Za-z0-9"
    found = re.match(rf"-[{flags}]*?([ceEr])" + ("" if flags == _FLAGS else "(?![a-z])"), word)
    if found is None or f"-{found[1]}" not in options or word.startswith("--"):
        return None
    return word[found.end() :]


_FLAGS = "bBdEhiIOPqsSuvVx"  # of Python, which may stand before `-c`


def _runs_file(operands: list[str], site: Site) -> bool:
    """Whether a file is run; if this command filled it, its text is searched."""
    if not operands or operands[0] in ("-", "/dev/stdin"):
        return False
    text = site.content(operands[0])
    if text is not None:
        site.code(text, operands[1:])
    else:
        site.searched(site.feeders(operands[0]))
    return True


def _database(words: list[str], site: Site) -> None:
    got = given("cmd: init: separator: newline: nullvalue: vfs: mmap: maxsize:", words, single_dash=True)
    scripts = [*got.values("cmd"), *got.operands[1:], *([site.stdin] if site.stdin else [])]
    scripts += [site.content(file) or "" for file in got.values("init")]
    site.code("\n".join(scripts))
    for line in "\n".join(scripts).splitlines():
        if line.lstrip().startswith(".") and line.split()[0] not in _SQLITE_READS:
            site.searched(line)
    statements = [each.split(None, 1)[0].lower() for script in scripts for each in script.split(";") if each.strip()]
    if got.operands and not set(statements) <= _LOOKS_UP:
        site.may_write(got.operands[:1])


def named(words: list[str], site: Site, *, operands: bool = False) -> None:
    """Paths in the words of an opaque program that an option says are rewritten; with `operands`, all of them."""
    if len(words) > 1 and re.fullmatch(r"--(?:help|version)[\w-]*", words[0]):
        site.may_write(words[1:])  # `cmake --version FILE`
    rewrites = any(re.fullmatch(_REWRITES, word) for word in words)
    if operands or rewrites:
        single = [word for word in words if not any(char.isspace() for char in word)]
        site.may_write(
            [word.partition("=")[2] or word if word.startswith("-") else word for word in single], deep=rewrites
        )
        site.may_write(
            [after.partition("=")[2] for word, after in pairwise(single) if word.startswith("--") and is_output(word)]
        )
        for word in words:
            if any(char.isspace() for char in word):
                site.commands(word)


def edited(name: str, words: list[str], site: Site) -> None:
    """An editor in batch mode writes its operands, unless it is told what to do and that has no command that writes."""
    files: list[str] = []
    scripts = [site.stdin] if site.stdin is not None else []
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        if (word in _VIM_VALUES and name not in ("ed", "red")) or word in (
            "-eval",
            "--eval",
            "-l",
            "--load",
            "-f",
            "--funcall",
        ):
            scripts += [rest.pop()] if rest else []
        elif word in _VIM_OUTPUTS and name not in ("ed", "red"):
            site.may_write([rest.pop()] if rest else [])
        elif re.fullmatch(r"-[esERnNmMlZ]+c", word) and name not in ("ed", "red"):
            scripts += [rest.pop()] if rest else []
        elif word.startswith("+"):
            scripts.append(word[1:])
        elif not word.startswith("-"):
            files.append(word)
    scripts = [site.content(each) or each for each in scripts]
    script = "\n".join(scripts)
    site.code(script, files)
    calm = all(re.fullmatch(_ED_CALM, line) for line in script.splitlines())
    if not calm:
        site.searched(script)
    told = bool(scripts) and name not in ("emacs", "emacsclient")
    if (calm and ("view" in name or "-R" in words)) or (told and not re.search(_ED_WRITES, script)):
        return
    batch = bool(scripts) or "-es" in words or "--batch" in words or name in ("ed", "ex", "red")
    for file in files:
        if file.startswith("!"):
            site.searched(file)
        if batch:
            site.write(file)
        else:
            site.may_write([file])
    site.commands(script)


def compared(name: str, words: list[str], site: Site) -> None:
    """vimdiff shows two files; with commands it is an editor like any other."""
    if any(word.startswith(("+", "-c", "-es", "--cmd", "-s")) for word in words):
        edited("vim", words, site)


def timed(name: str, words: list[str], site: Site) -> None:
    """hyperfine runs each of its operands in a shell."""
    got = given("w,warmup: m,min-runs: M,max-runs: r,runs: p,prepare: s,setup: C,conclude: c,cleanup: "
                "P,parameter-scan: L,parameter-list: D: S,shell: i,ignore-failure u: n,command-name: style: "
                "export-json: export-csv: export-markdown: export-asciidoc: export-orgmode: "
                "output: input: show-output N", words)  # fmt: skip
    for script in [*got.operands, *got.values("p s C c")]:
        site.shell(script, ())


_GPG_READS = names(
    "--verify --list-keys --list-secret-keys --list-sigs --list-public-keys --check-sigs --fingerprint --list-packets "
    "-k -K --version --dump-options --list-config --print-md --print-mds --show-keys --verify-files"
)


def signed(name: str, words: list[str], site: Site) -> None:
    site.opaque(reading.PROGRAM_UNKNOWN)
    if _GPG_READS.isdisjoint(words):
        unknown(words, site)
    elif "--homedir" in words:
        site.may_write([f"{folder}/?" for folder in words[words.index("--homedir") + 1 :][:1]])


def index_sources(name: str, words: list[str], site: Site) -> None:
    """ctags, cscope: an index in a file of its own."""
    if "-x" in words:
        return
    got = given("f: o: i: L: b R q k d C e a", words)
    for file in got.values("f o") or ["cscope.out" if name == "cscope" else "TAGS" if name == "etags" else "tags"]:
        if file != "-":
            site.write(file)


def busybox(name: str, words: list[str], site: Site) -> None:
    if words and not words[0].startswith("-"):
        site.run(words, reads=True)


def parallel(name: str, words: list[str], site: Site) -> None:
    """GNU parallel: a command, and after `:::` what it is run with."""
    got = given(
        "j,jobs: k,keep-order n,max-args: N: X m t,verbose 0,null a,arg-file: I: bar eta will-cite halt: joblog: "
        "dry-run no-notice r,no-run-if-empty ungroup u line-buffer lb colsep: q,quote timeout: P: tag results: pipe "
        "retries:",
        words[: next((at for at, word in enumerate(words) if word.startswith(":::")), len(words))],
        permute=False,
    )
    if got.has("dry-run"):
        return
    marks = [at for at, word in enumerate(words) if word in (":::", ":::+")]
    items = [word for word in words[marks[0] :] if not word.startswith(":::")] if marks else None
    if items is None and site.stdin is not None:
        items = site.stdin.splitlines()
    command = " ".join(got.operands)
    if items is None or got.strange:
        site.opaque(reading.ARGUMENTS_UNKNOWN)
        site.commands(" ".join(words))
        return
    for item in items[:50]:
        site.shell(_placed(command, item), ())
    for file in got.values("joblog results"):
        site.write(file, Reach.BENEATH)


def _placed(command: str, item: str) -> str:
    if not command:
        return item
    head, _, last = item.rpartition("/")
    stem = item.rpartition(".")[0] if "." in last else item
    values = {"{}": item, "{.}": stem, "{/}": last, "{//}": head or "."}
    if not any(mark in command for mark in values):
        command = f"{command} {{}}"
    for mark, value in values.items():
        command = command.replace(mark, "'" + value.replace("'", "'\\''") + "'")
    return command


def run_by(words: list[str], site: Site) -> None:
    """The command that the words of a program end with."""
    at = next((at for at, word in enumerate(words) if is_command(word)), len(words))
    site.run(words[at:], reads=True)


def unknown(words: list[str], site: Site) -> None:
    """A program in no table may write every path it is given, and may run the command that its words end with."""
    _filled_words(words, site)
    run_by(words, site)
    named(words, site, operands=True)
    given_text(site, words)
