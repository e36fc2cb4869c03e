"""Does inline code, or shell text that is not followed, contain something that may write a file?

This is a search for words, not a parse. What only reads is taken out first (`open("x")`, `readFileSync("x")`), so that
a path that is read is not taken for one that is written. The rest writes nothing if it has no word that writes and if
every call in it is one that only reads or computes: a call that is not known may write. Calls that run other text
(`exec`, `eval`, `system`) and ways to build text that no search finds (`base64`, `getattr`) count as writes.
"""

import re

from .options import names

COPIED = "\x02"  # marks the folder of a file that is copied, and one from which modules are imported
EMBEDDED_LIMIT = 20
JUDGED_LIMIT = 1 << 16  # characters; what is longer may write

# Each is a call that reads what it names. Modes are matched, so a call with a mode that writes stays. Every repetition
# has a limit, so that no text takes more than linear time. `~` is space, TEXT a quoted text, VALUE that or a name.
_READS = r"""
(?<![\w.])(?:(?:io|codecs|gzip|bz2|lzma|tokenize|builtins)\.)?open\(~VALUE~(?:,~(?:mode~=~)?['"]r[bt]?['"])?NAMED~\)
\bPath\(~TEXT~\)\.(?:read_text|read_bytes|exists|stat|is_file|is_dir|open\(~\)|name|stem|suffix|resolve)\b
\.(?:read_text|read_bytes)\(
\b(?:readFileSync|readFile|createReadStream|existsSync|statSync|lstatSync|accessSync|require|import)\(~TEXT
\b(?:File|IO)\.(?:read|readlines|foreach|exist\?|size|stat|file\?|binread|mtime|new|open)\(?~TEXT(?!~,)
\b(?:file_get_contents|file|readfile|filesize|is_file|file_exists|md5_file|parse_ini_file|highlight_file)\b\(?~TEXT(?!~,)
\b(?:include|include_once|require|require_once)\b\(?~TEXT(?!~,)
\bfopen\(~TEXT~,~['"]rb?['"]~\)
\bopen~\(?~(?:my~)?[$\w]{1,99}~,~['"]~<[^'"]{0,300}['"]~(?:,~TEXT)?
\bopen\s{1,9}(?:TEXT|[\w./-]{1,300})(?:\s{1,9}rb?)?~(?=[\];\n]|$)
\bos\.(?:stat|lstat|access|path\.(?:exists|lexists|isfile|isdir|islink|getsize|getmtime))\(~TEXT
\b(?:read_csv|read_json|read_table|loadtxt|getline|run_path)\(~TEXT
(?P<copies>\b(?:copy|copy2|copyfile|copyFile|copyFileSync|cpSync|copytree|File\.copy|FileUtils\.cp))~\(?~(?P<copied>TEXT)(?=~,)
,~TEXT~,~['"](?:exec|eval|single)['"]~\)
\bsys\.path\.(?:insert|append)\(~(?:0~,~)?(?P<imported>TEXT)~\)
\b(?:print|console\.log|console\.error|puts|echo|say|die|warn)\b~\(?~TEXT
\bstd(?:out|err)\.(?:buffer\.)?write(?:lines)?\b
\bre\.compile\b|\bplatform\.system\b|\bexec_module\b|\.exec\(|\bSTD(?:OUT|ERR)\b
\bsubprocess\.\w{1,30}\(~\[~['"](?:cat|grep|rg|head|tail|wc|ls|diff|stat|file|sort|pytest|mypy)['"][^\]]{0,300}\]
\bgetline\b[^<;\n]{0,99}<~TEXT
"""
_VALUE = r"""(?:TEXT|[\w.$@]{1,99}(?:\[[^\]\n]{0,99}\])?(?:\(\))?)"""
_NAMED = r"""(?:~,~(?:encoding|errors|newline|buffering)~=~[^,()]{1,30}){0,4}"""
_TEXT = r"""[rbu]{0,2}(?:'[^'\n]{0,300}'|"[^"\n]{0,300}")"""

_WRITES = r"""
    \bopen\b | \bfopen\b | _open\b | \bsysopen\b | write | unlink | \bremove | \brm\w*\( | rmtree | rmdir | rename |
    truncate | \.touch\b | shutil | copy(?!right) | cpSync | \bcp\w*\( | \bmove\w*\b | \bmv\b | mkdir | symlink |
    \blink(?:Sync)?\s{0,9}[('"] | chmod | chown | utime | \bos\.replace\b | \)\.replace\( |
    \bsave\w{0,30}\s{0,9}\( | \bto_\w+\( | \bdump\( | appendFile | system | popen | Popen | spawn |
    subprocess | child_process | \bexec\w*\b |
    \beval\b | \bcompile\b | __import__ | importlib | getattr | base64 | b64 | fromhex | \bchr\( | fromCharCode |
    ctypes | codecs | \bqx\b | ` | FileUtils | File\.(?:open|new|delete) | IO\.(?:open|popen) |
    file_put_contents | fput |
    [(,]\s{0,9}(?:fs|os|shutil)\s{0,9}[,)] | \bFileType\b |
    \bfs\.(?!read|exists|stat|lstat|access|promises|constants|watch|createRead|open)\w |
    \bflags?['"]?\s{0,9}: | \b(?:fs|os)\s{0,9}\[ |
    passthru | proc_open | shell_exec | fileinput | inplace | in_place | \.output\b | \.once\b |
    \bINTO\s{1,9}(?:OUT|DUMP)FILE\b |
    ['"]\s{0,9}\+?> | [|]\s{0,9}['"] | ['"]\s{0,9}[|] | \bfile\s{1,9}(?:delete|rename|copy|mkdir) | \$\^I |
    \bdelete\b | \bsponge\b | ['"]\]\s{0,3}\( | \bfile\s{1,9}[ma]time\s{1,9}\S{1,300}\s{1,9}\d |
    \buu\b | EnvBuilder | \bn?store\b | \btie\b | \bcreat\b | \bnew\s{1,9}IO:: | \b(?:cp|gzip)\s{1,9}['"] |
    \b(?:INSERT|REPLACE)\s{1,9}INTO\b | \bUPDATE\s{1,9}\w{1,99}\s{1,9}SET\b | \bDELETE\s{1,9}FROM\b |
    \b(?:CREATE|DROP|ALTER)\s{1,9}(?:TABLE|INDEX|VIEW|TRIGGER|DATABASE|TEMP) | \bVACUUM\b | \bATTACH\b |
    \bexport\b | \btee\b | \bsed\s{1,9}-\w{0,9}i
"""

_ARGUMENTS = re.compile(
    r"\bargv\b|fileinput|\bARGV\b|\bARGF\b|@ARGV|\$argv|\$_\b|<>|\bshift\b|\bpop\b|argparse|\bargs\b|commandArgs|Deno\.args|\$0\b"
)
_STDIN = re.compile(
    r"stdin|STDIN|\binput\(|\bgets\b|readline|<>|/dev/stdin|\$_\b|\bfd\s{0,9}0\b|readFileSync\(0|php://input|\bopen\(\s{0,9}0\b"
)
_ENVIRONMENT = re.compile(r"environ|ENVIRON|getenv|\bENV\b|process\.env|\$_ENV|Sys\.getenv|%ENV")

# Calls that read or compute, whatever they are given; by their last name, in any language.
_CALMS = names(
    """
    if elif else while for foreach switch case catch return and or not in is with assert await async yield lambda
    function def fn func sub print println printf sprintf echo puts say die warn log error info debug dir table trace
    abs all any ascii bin bool bytes bytearray callable chr classmethod complex dict divmod enumerate filter float
    format
    frozenset hash hex id input int isinstance issubclass iter len list map max memoryview min next object oct ord
    pow property range repr reversed round set slice sorted staticmethod str sum super tuple type vars zip
    append add update pop items keys values replace setdefault extend insert index count sort reverse clear discard
    union intersection difference split rsplit splitlines join strip lstrip rstrip startswith endswith lower upper
    title capitalize casefold swapcase center ljust rjust zfill encode decode partition rpartition expandtabs isdigit
    isalpha isalnum isspace islower isupper removeprefix removesuffix maketrans translate find rfind
    read readline readlines readall close closeSync seek tell fileno
    loads dumps findall finditer search match fullmatch subn group groups groupdict span start end escape
    parse unparse literal_eval getsource getsourcelines getdoc signature Counter
    defaultdict deque OrderedDict namedtuple partial reduce chain groupby islice product permutations combinations
    md5 sha1 sha256 sha512 blake2b hexdigest digest time sleep now today strftime strptime isoformat
    perf_counter monotonic datetime timedelta date exit quit Path PurePath PurePosixPath basename dirname abspath
    realpath normpath relpath splitext expanduser isfile isdir exists getsize getmtime samefile commonpath cwd getcwd
    resolve absolute as_posix relative_to is_file is_dir with_name stat lstat glob rglob iterdir listdir scandir walk
    unified_diff ndiff context_diff SequenceMatcher ratio DictReader reader StringIO BytesIO
    indent dedent fill wrap pprint pformat
    parseInt parseFloat Number String Array Object Boolean JSON stringify push shift unshift forEach flatMap some every
    includes indexOf lastIndexOf charAt charCodeAt substring substr trim trimStart trimEnd padStart padEnd
    toString toFixed toUpperCase toLowerCase test concat from of entries fromEntries Set Map Date RegExp
    Promise then finally setTimeout localeCompare matchAll readdirSync readlinkSync existsSync
    strlen strpos str_replace explode implode preg_match preg_match_all preg_split ltrim rtrim substr_count
    array_map array_filter in_array isset empty json_encode json_decode var_dump print_r number_format
    each each_line each_with_index select reject inject to_s to_i to_a size length gsub scan chomp inspect p pp
    defined scalar ref lc uc wantarray
    Image Fraction Decimal mean median stdev isclose sqrt floor ceil log2 log10 sin cos
    """
)
_CALM = re.compile(
    r"(?:read|load|parse|is|has|get|list|count|find|match|search|check|iter|assert|compare|validate|tokenize|describe|"
    r"show|summar|hash|detect|analy|print|format|_)\w*",
    re.IGNORECASE,
)
_LITERAL = r"""('[^'\n]{1,300}'|"[^"\n]{1,300}")"""
_LINKS = re.compile(rf"(?:sym)?link(?:Sync)?\s{{0,9}}\(?\s{{0,9}}{_LITERAL}\s{{0,9}},\s{{0,9}}{_LITERAL}")
_RUNNERS = (
    r"\b(?:system|popen\w?|Popen|run|call|check_call|check_output|getoutput|exec(?:File)?(?:Sync)?|spawn(?:Sync)?)~\(?~"
)
_STRING = r"""(?:'(?:[^'\\\n]|\\.){0,9999}'|"(?:[^"\\\n]|\\.){0,9999}")"""
_RUN_TEXT = re.compile(f"{_RUNNERS}({_STRING})~(?![,\\s]{{0,9}}\\[)".replace("~", r"\s{0,9}"))
_RUN_WORDS = re.compile(rf"{_RUNNERS}\[?~({_STRING}~,~\[?~{_STRING}(?:~,~{_STRING}){{0,50}})".replace("~", r"\s{0,9}"))
_CALL = re.compile(r"([A-Za-z_]\w{0,99})\s{0,3}\(")
_DEFINED = re.compile(
    r"\b(?:def|function|func|fn|sub|class)\s{1,9}(\w{1,99})|"
    r"\b(\w{1,99})\s{0,9}=\s{0,9}(?:lambda\b|\([^()]{0,99}\)\s{0,9}=>|\w{1,99}\s{0,9}=>)"
)

# Shell text.
_QUIET = re.compile(r"[0-9]?>\s{0,9}&\s{0,9}[0-9-]{1,3}|[0-9&]?>{1,2}\s{0,9}/dev/(?:null|stderr|stdout)|[=-]>|<>")
_SHELL = re.compile(
    r"""
    > | (?:^|[\s;&|(`'"/\\{!@=:-])(?:
    rm | mv | cp | ln | dd | tee | sed | g?awk | perl | python[0-9.]* | node | ruby | php | ed | ex | vim? | nvim |
    emacs | touch | truncate | install | rsync | patch | shred | unlink | rmdir | mkdir | tar | unzip | gzip | gunzip |
    sponge | chmod | chown | git | curl | wget | xargs | parallel | find | eval | exec | source | sh | bash | dash |
    zsh | ksh | busybox | split | sort | base64 | printf | echo | link | fallocate | setfacl | gofmt | black |
    ruff | prettier | tclsh | xxd | zip | 7z | gcc | cc | openssl | ar | csplit | save-?b\w* | pax | cpio | jar |
    mkfifo | mknod | rename | crontab | make | npm | iconv | uniq | shuf | sqlite3 | unix2dos | dos2unix |
    indent | chattr | chgrp
    )(?=$|[\s'"\\;,$<>|&)}])
    """,
    re.VERBOSE,
)

_reads = re.compile(
    "|".join(_READS.split("\n")[1:-1])
    .replace("NAMED", _NAMED)
    .replace("VALUE", _VALUE)
    .replace("TEXT", _TEXT)
    .replace("~", r"\s{0,9}")
)
_writes = re.compile(_WRITES, re.VERBOSE | re.IGNORECASE)
_DEEP = re.compile(
    r"rmtree|\brm\w{0,30}\s{0,9}\(|rm\s{1,9}-\w{0,9}r|rmdir|rename|move|\bmv\b|rm_r|remove_(?:dir|tree|entry)|glob|walk|listdir|scandir|"
    r"copytree|cpSync|extract|unpack|recursive|readdir|iterdir|Dir\b|FileUtils|find\b|\bxargs\b|rglob|delTree|EnvBuilder|-r"
)


_RENAMED = re.compile(
    r"\b(?:print|open|require|puts|echo|say|log|read\w*)\s{0,9}=(?!=)|\bas\s{1,9}(?:print|open)\b|[@$]\{\s{0,9}[\[\\]|"
    r":\s{0,9}read\w+\s{0,9}[,}]|\bflags?['\"]?\s{0,9}:|require\.extensions"
)


class Judged:
    """`text` is what is left to be searched for names."""

    def __init__(self, text: str, *, arguments: bool, stdin: bool, environment: bool, deep: bool) -> None:
        self.text = text
        self.arguments, self.stdin, self.environment, self.deep = arguments, stdin, environment, deep


def judge(text: str) -> Judged | None:
    """What is left of inline code without what only reads, and what else it looks at; None if it writes nothing."""
    if len(text) > JUDGED_LIMIT:
        return Judged(text, arguments=True, stdin=True, environment=True, deep=True)
    left = text if _RENAMED.search(text) else _reads.sub(_without, text)
    if not _writes.search(left) and not _has_unknown_call(left):
        return None
    return Judged(
        left,
        arguments=bool(_ARGUMENTS.search(left)),
        stdin=bool(_STDIN.search(text)),
        environment=bool(_ENVIRONMENT.search(left)),
        deep=bool(_DEEP.search(left)),
    )


def _without(found: re.Match[str]) -> str:
    """A copy reads its first argument and writes another; into a folder, under its last name."""
    if found["imported"]:
        return f" '{COPIED}{_unquoted(found['imported'])}' "
    if not found["copies"]:
        return " "
    last = _unquoted(found["copied"]).rpartition("/")[2]
    return f"{found['copies']}('{COPIED}/{last}'"


def _unquoted(text: str) -> str:
    return text.lstrip("rbuf")[1:-1]


def _has_unknown_call(text: str) -> bool:
    made = {name for found in _DEFINED.findall(text) for name in found}
    return any(name not in _CALMS and name not in made and not _CALM.fullmatch(name) for name in _CALL.findall(text))


def made_links(text: str) -> list[tuple[str, str]]:
    """Links that code makes: (where they lead, their path), each a text in quotes."""
    return [(one[1:-1], other[1:-1]) for one, other in _LINKS.findall(text)]


def _unescaped(literal: str) -> str:
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), literal[1:-1])


def embedded(text: str) -> list[list[str]]:
    """Commands that code runs: a text for a shell by itself, or a row of words."""
    rows = [[found] for found in _RUN_TEXT.findall(text)]
    rows += [re.findall(_STRING, found) for found in _RUN_WORDS.findall(text)]
    return [list(map(_unescaped, row)) for row in rows[:EMBEDDED_LIMIT]]


def shell_may_write(text: str) -> bool:
    """Whether shell text has a redirection or a program that may write."""
    return bool(_SHELL.search(_QUIET.sub(" ", text)))
