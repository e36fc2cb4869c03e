"""Options and environment variables that name what a program writes, whatever the program is.

A value counts by the name it is given under: `--log-file=x`, `GIT_TRACE=x`. An option that is not known to read, of a
program that is not known either, may write the value that is attached to it (`-Xlog:gc:file=x`, `-Wl,-Map,x`).
"""

import re
from collections.abc import Iterable, Iterator

from .options import names
from .site import Site

PIECES_LIMIT = 40  # of one word
NAME_LIMIT = 200  # characters of an option or a variable: the patterns below take more than linear time

# In lower case, with `-` for `_`. A value may follow these as a word of its own.
_OUTPUT = re.compile(
    r"-{1,2}(?:o|out|output|outfile|out-?file|output-?file|out-?dir|output-?dir|dest|destination|save|html|export|"
    r"write-?to|dump|mf|keyout|writerand|to-file|target|[a-z-]+-out|[a-z-]*junit-?xml|output-junit|result-?log|"
    r"(?:[a-z0-9]+-)*(?:log|log-?file|logs?-dir|logs?-path|log-?out|log-io|log-in|logfile-path|output-log|output)|"
    r"(?:[a-z0-9]+-)*(?:trace|prof|profile|profiling|report|dump|save|record|coverage|cov|cache|temp|tmp|dest|out|"
    r"output|event|diagnostics?|cfg|snapshots?|metadata|pid|cid|iid|index|dependency|data|history|stats|timing|status|"
    r"attribute)"
    r"-?(?:file(?:name)?|dir(?:ectory)?|path|name|prefix|destination|output|to|redirect|file-pattern)|"
    r"trace-redirect|redirect-warnings|(?:[a-z]+-)*destination|startuptime|map|aux-info|snapshot-blob|reqout|respout|certsout|caserial|homedir|export-[a-z]+|basetemp)"
)
# A value that is attached to one of these is written: `--any-log-name=x`.
_WRITES = re.compile(
    r"--(?:[a-z0-9.]+-)*(?:log|logs|trace|prof|profile|profiling|report|output|out|dump|save|record|redirect|write|dest|"
    r"destination|cache|map|archive|history|journal|snapshot|pid|cid|iid|artifact|result|results|export|generate|emit|"
    r"create|destdir|state|store|keylog|coverage-dir|coverage-file|tmp|temp|spool|backup|gen)"
    r"(?:-?[a-z0-9]+){0,3}"
)
_WRITES_NOT = re.compile(r"--(?:[a-z0-9]+-){0,9}(?:import-map|reporters?|log-level|from)")
# With a single dash, in front of a value that is read.
_READS = re.compile(
    r"-(?:i|l|isystem|iquote|include|imacros|cp|classpath|rpath[a-z-]*|version-script|t|script|javaagent|agentpath|"
    r"agentlib|specs|std|march|mtune|ffile-prefix-map|fdebug-prefix-map|fmacro-prefix-map|sysroot|run|tags|config|conf|"
    r"c|f|file|var-file|chdir|input|in|source|src|test|timeout|cpu|args|ldflags|gcflags|target|module|path|dir|root|key|"
    r"cert|cafile|r|m|k|p|s|x|e|b|u|n|w|a|z|g|h|ext|format|filter|k-?filter|name|xml|url)"
)
_READING_LETTERS = "IDLBFlCfrciptmxsdkAnbuwjWeahgXz"  # a value attached to one of these is read, or is no path
_NO_OPTIONS = names("echo printf : test [ true false expr grep egrep fgrep rg ag ack man which type rook git-grep fc "
                    "ls dir vdir nm zgrep zegrep zfgrep bzgrep xzgrep pgrep")  # fmt: skip

# Variables, as above.
_WRITTEN_BY = re.compile(
    r"home|sunpro-dependencies|xdg-[a-z]+-(?:home|dir)|gnupghome|cargo-home|rustup-home|gopath|git-.+|npm-config-.+|pip-.+|"
    r"[a-z0-9-]*(?:histfile|history|hist-file|trace[a-z0-9-]*|prof|profile[a-z-]*|report[a-z-]*|dump[a-z-]*|cache[a-z-]*|"
    r"cacheprefix|warnings|coverage[a-z-]*|keylogfile|debug-output|debug-file|out-prefix|tmpdir|temp|tmp|temp-dir|"
    r"log|logs|log-?file|log-?dir|log-?path|out|output|outfile|output-?file|out-?dir|output-?dir|target-dir|dest|"
    r"destdir|cov-prefix|gcov-prefix|record[a-z-]*|save[a-z-]*|state-dir|build-dir|install-dir|install-path)"
)
_WRITTEN_BY_READERS = re.compile(r".*(?:hist|memusage|ld-debug|cache|coverage|prof|trace).*")
_HAS_OPTIONS = re.compile(r".*(?:options|opts|flags|args)")


def plain(name: str) -> str:
    return name.lower().replace("_", "-")


def pieces(word: str) -> list[str]:
    """The word, and what follows each of the marks by which programs part a value."""
    if len(word) > 4_000 or any(char.isspace() for char in word):
        return [word]
    cut = [found.end() for found in re.finditer(r"[=:,@+]", word)][:PIECES_LIMIT]
    tails = [word[at:] for at in cut]
    return list(
        dict.fromkeys(piece for tail in (word, *tails) for piece in (tail, re.split(r"[,:]", tail)[0]) if piece)
    )


def of_options(words: list[str], *, lenient: bool) -> Iterator[str]:
    """Values of options that name an output; with `lenient`, also those attached to an option that is not known."""
    for word, after in zip(words, [*words[1:], ""], strict=False):
        if not word.startswith("-") or len(word) < 3:
            if word == "-o":
                yield from (after, *of_settings(after))
            continue
        option, equals, value = word.partition("=")
        if len(option) > NAME_LIMIT:
            continue
        if _OUTPUT.fullmatch(plain(option)):
            yield from pieces(value if equals else after)
        elif word.startswith("-o"):
            yield from (word[2:], *of_settings(word[2:]))
        elif option == "--override-ini":
            yield from of_settings(value if equals else after)
        elif any(char.isspace() for char in word):
            continue
        elif word.startswith("--"):
            if equals and _WRITES.fullmatch(plain(option)) and not _WRITES_NOT.fullmatch(plain(option)):
                yield from pieces(value)
        elif lenient and (equals or ":" in word or "," in word):
            yield from _attached(word)
        elif lenient and word[1] not in _READING_LETTERS:
            yield from (word[at:] for at in range(2, min(len(word), 8)) if "/" in word or "." in word)


def _attached(word: str) -> Iterator[str]:
    """`-X:name=x`, `-Wl,-Map,x`: each piece, if what stands before it is not known to read."""
    for found in list(re.finditer(r"[=:,@+]", word[:4_000]))[:PIECES_LIMIT]:
        before = re.split(r"[=:,@+]", word[: found.start()])
        reads = _READS.fullmatch(plain(before[-1])) or (_READS.fullmatch(plain(before[0])) and found[0] != ",")
        if (not reads or word.startswith("-Wa,")) and not word.startswith("-D"):
            yield word[found.end() :]
            yield re.split(r"[,:]", word[found.end() :])[0]


_SETTING = re.compile(r"""(?<![\w.-])([\w.-]{1,99})["']?[ \t]{0,9}[:=][ \t]{0,9}["']?([^\s"',]{1,999})""")


def of_settings(text: str) -> Iterator[str]:
    """Values of settings that name an output: `log_file = x`, `"output": "x"`."""
    yield from (value for name, value in _SETTING.findall(text) if is_output(f"--{name}"))


def is_output(option: str) -> bool:
    return len(option) <= NAME_LIMIT and bool(_WRITES.fullmatch(plain(option)))


def of_variables(given: Iterable[tuple[str, str]], *, reader: bool) -> Iterator[str]:
    """Values of variables that name an output, for a program that gets them in its environment."""
    for name, value in given:
        known = plain(name[:NAME_LIMIT])
        if _WRITTEN_BY.fullmatch(known) and not (reader and not _WRITTEN_BY_READERS.fullmatch(known)):
            yield from (piece for word in (value, *value.split()[:1]) for piece in pieces(word))
        elif _HAS_OPTIONS.fullmatch(known):
            yield from of_options(value.split(), lenient=True)
            yield from (piece for word in value.split() if "=" in word for piece in pieces(word)[1:] if "log" in word)


_RUNS = re.compile(
    r"-{0,2}(?:[\w.-]*[-_.a-z])?(?:command|cmd|exec|pager|program|filter|hook|editor|prepare|cleanup|setup|conclude|proxy|"
    r"wrapper|launcher|call|on-[a-z-]+|pre|post|preprocessor|use-compress-program|rsh|shell|init|"
    r"interpreter|upload-pack|receive-pack)",
    re.IGNORECASE,
)


def of_commands(words: list[str]) -> Iterator[str]:
    """Values of options that are commands: `--pager=CMD`, `--filter CMD`, `-o ProxyCommand=CMD`."""
    for word, after in zip(words, [*words[1:], ""], strict=False):
        option, equals, value = word.partition("=")
        if len(option) > NAME_LIMIT:
            continue
        if _RUNS.fullmatch(option) and (equals or word.startswith("-")):
            yield value if equals else after
        elif word.startswith("-") and word[2:3].isupper() and equals and _RUNS.fullmatch(option[2:]):
            yield value
        elif (found := re.match(r"([A-Za-z]+Command)\s+(\S.*)", word)) is not None:
            yield found[2]


def note(name: str, words: list[str], site: Site, *, reader: bool, lenient: bool) -> None:
    """What a program may write by its options and its environment; a folder that is named so gets new files."""
    found = list(of_variables(site.environ(), reader=reader))
    if name not in _NO_OPTIONS:
        named = list(of_options(words, lenient=False))
        found += [*named, *(of_options(words, lenient=True) if lenient else ())]
        if len(named) > 1:
            site.searched("\n".join(named))  # a folder in one of them, a name in another
        found += _of_program(name, words)
        for text in of_commands(words):
            site.commands(text)
    found = [each for each in dict.fromkeys(found) if each not in ("", "-")]
    if found:
        site.may_write([*found, *(f"{each.rstrip('/')}/?" for each in found)])


# Short options, and those that mean something else elsewhere.
_COMPILERS = dict.fromkeys(("gcc", "g++", "cc", "c++", "clang", "clang++", "ld"), "-dumpdir -dumpbase -MF -Map -MJ "
                           "-Xlinker -Xassembler -Xpreprocessor")  # fmt: skip
_ALSO: dict[str, str] = {
    "ssh": "-E -S", "sftp": "-E -S", "ctest": "-O", "zip": "-lf -la", "script": "-O -B -I -T -t", "npm": "--cache",
    "mvn": "-l",
    "pip": "--cache",
    "vim": "--log -w -W", "nvim": "--log -w -W", "less": "-o -O", "pytest": "--debug", "coverage": "-d", "mkdocs": "-d",
    "cmake": "--system-information --help-full --help-commands --help-modules --help-policies --help-properties "
    "--help-variables --help-manuals", "pip3": "--cache", "doxygen": "-g -s -u", "tmux": "-S", "tcpdump": "-w",
    "curl": "-o -D -c", "javac": "-Xstdout -d -h -s", **_COMPILERS,
}  # fmt: skip


def _of_program(name: str, words: list[str]) -> Iterator[str]:
    known = _ALSO.get(name, "").split()
    for at, word in enumerate(words):
        if word in known or (name == "cmake" and word.startswith("--help-")):
            for value in words[at + 1 : at + (3 if name == "cmake" else 2)]:
                yield from (value, value.partition("=")[2])
        elif name in ("ssh", "sftp") and re.fullmatch(r"-[A-Za-z0-9]*[ES]", word):
            yield from words[at + 1 : at + 2]
