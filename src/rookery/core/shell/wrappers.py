"""Programs that run another one: what they run is read in their place."""

from itertools import pairwise
from typing import NamedTuple

from . import holes, reading
from .holes import DEEP, SPLIT, UNKNOWN
from .options import given, names
from .reading import Reach
from .site import Rule, Site, basename, doubt


class Wrapper(NamedTuple):
    options: str = ""
    operands: int = 0  # words of its own before the command
    assigns: bool = False  # `NAME=value` before the command is an assignment
    folder: str = ""  # an option that says in which folder
    outputs: str = ""  # options whose value is written
    answers: str = ""  # with one of these nothing is run


WRAPPERS: dict[str, Wrapper] = {
    "nohup": Wrapper(),  # writes nohup.out only where it stands at a terminal, and no agent does
    "time": Wrapper("p,portability o,output: a,append f,format: v,verbose q,quiet", outputs="o"),
    "gtime": Wrapper("p,portability o,output: a,append f,format: v,verbose q,quiet", outputs="o"),
    "timeout": Wrapper("s,signal: k,kill-after: f,foreground p,preserve-status v,verbose", operands=1),
    "gtimeout": Wrapper("s,signal: k,kill-after: f,foreground p,preserve-status v,verbose", operands=1),
    "nice": Wrapper("n,adjustment: 0 1 2 3 4 5 6 7 8 9"),
    "ionice": Wrapper("c,class: n,classdata: t,ignore p,pid: P: u:"),
    "chrt": Wrapper("b f i o r d v m p a R T: P: D:", operands=1),
    "taskset": Wrapper("a c,cpu-list p,pid", operands=1),
    "stdbuf": Wrapper("i,input: o,output: e,error:"),
    "setsid": Wrapper("c,ctty f,fork w,wait"),
    "command": Wrapper("p v V", answers="v V"),
    "builtin": Wrapper(),
    "exec": Wrapper("c l a:"),
    "chronic": Wrapper("v e"),
    "unbuffer": Wrapper("p"),
    "caffeinate": Wrapper("d i m s u t: w:"),
    "doas": Wrapper("n s u: C: L a:", answers="L C"),
    "sudo": Wrapper(
        "A,askpass b,background B,bell E,preserve-env? H,set-home k,reset-timestamp K,remove-timestamp "
        "n,non-interactive P,preserve-groups S,stdin v,validate l,list V,version u,user: g,group: h,host: p,prompt: "
        "C,close-from: R,chroot: r,role: t,type: T,command-timeout: U,other-user: D,chdir: s,shell i,login "
        "e,edit N,no-update",
        assigns=True,
        folder="D",
        answers="l V v K",
    ),
    "env": Wrapper(
        "i,ignore-environment u,unset: C,chdir: S,split-string: 0,null v,debug block-signal? default-signal? "
        "ignore-signal? list-signal-handling",
        assigns=True,
        folder="C",
    ),
    "flock": Wrapper("s,shared x,e,exclusive u,unlock n,nb,nonblock w,timeout: o,close c,command: E: F v", operands=1),
    "strace": Wrapper(
        "f,follow-forks o,output: e: p: s: c C t tt T v y yy q qq r k P: u: E: S: a: I: O: X:", outputs="o"
    ),
    "npx": Wrapper("y,yes no n q,quiet p,package: no-install c,call: ignore-existing"),
    "bunx": Wrapper("bun p,package:"),
    "pnpx": Wrapper("y,yes"),
    "uvx": Wrapper("from: with: p,python: q,quiet isolated no-cache refresh offline"),
}

# `uv run ruff format`: the words before the command that is run.
RUNNERS = {
    "uv": (
        ("run",),
        "with: p,python: q,quiet frozen locked no-sync isolated extra: group: all-extras no-dev project: m:",
    ),
    "poetry": (("run",), ""),
    "pdm": (("run",), ""),
    "hatch": (("run",), ""),
    "pipenv": (("run",), ""),
    "pipx": (("run",), "spec:"),
    "pnpm": (("exec", "dlx"), "r,recursive"),
    "yarn": (("dlx", "exec", "run"), ""),
    "bundle": (("exec",), ""),
    "rye": (("run",), ""),
    "mise": (("exec", "x"), ""),
    "python": (("-m",), ""),
    "python3": (("-m",), ""),
}


def wrapped(name: str, wrapper: Wrapper, words: list[str], site: Site) -> None:
    got = given(wrapper.options, words, permute=False)
    if wrapper.answers and got.has(wrapper.answers):
        return
    doubt(got, site)
    if name == "env" and got.has("S"):
        site.opaque(reading.INTERPRETER)  # it splits the value by rules of its own
        return
    for value in got.values("c call") if name in ("flock", "npx") else []:
        site.shell(value, ())
    for value in got.values(wrapper.outputs):
        site.write(value)
    for folder in got.values(wrapper.folder):
        site = site.into(folder)
    rest = got.operands[wrapper.operands :]
    for lock in got.operands[:1] if name == "flock" else []:
        site.write(lock)
    while wrapper.assigns and rest and "=" in rest[0] and not rest[0].startswith(("=", "-")):
        rest = rest[1:]
    if rest:
        site.run(_unwrapped(rest), reads=True)
    elif name == "sudo" and got.has("s i e"):
        site.opaque(reading.INTERPRETER)


def _unwrapped(words: list[str]) -> list[str]:
    return words[1:] if words[0] == "--" else words


def runner(name: str, words: list[str], site: Site) -> bool:
    """Whether the words run a command that is told: then it was read."""
    verbs, options = RUNNERS[name]
    if not words or words[0] not in verbs:
        return False
    got = given(options, words[1:], permute=False)
    if got.strange or not got.operands or got.has("m"):
        return False
    site.run(_unwrapped(got.operands), reads=True)
    return True


# --- shells -----------------------------------------------------------------------------------------------------------

SHELLS = names("bash sh dash zsh ksh ash mksh rbash")
_SHELL = "c l,login i s e u x v n h k p r t a b f m B C D E P T o: O: norc noprofile posix rcfile: init-file: verbose"


def shell(name: str, words: list[str], site: Site) -> None:
    words = [word.replace("+", "-", 1) if word[:1] == "+" and len(word) > 1 else word for word in words]
    if words in (["--version"], ["--help"]):
        return
    got = given(_SHELL, words, permute=False)
    doubt(got, site)
    if got.has("rcfile"):
        site.opaque(reading.SOURCED)
    if got.has("n"):
        return
    if got.has("c"):
        script, *parameters = got.operands or [UNKNOWN]
        site.shell(script, tuple(parameters))
    elif got.operands and not got.has("s"):
        site.opaque(reading.SOURCED, holes.shown(got.operands[0]))
    elif site.stdin is not None:
        site.shell(site.stdin, (name, *got.operands))
    else:
        site.opaque(reading.SOURCED)


# --- xargs ------------------------------------------------------------------------------------------------------------

_XARGS = (
    "0,null a,arg-file: d,delimiter: E: e,eof? I: i,replace? L,max-lines: l? n,max-args: o,open-tty p,interactive "
    "P,max-procs: r,no-run-if-empty s,max-chars: t,verbose x,exit process-slot-var: show-limits J: R: S:"
)


def xargs(name: str, words: list[str], site: Site) -> None:
    got = given(_XARGS, words, permute=False)
    doubt(got, site)
    marks = got.values("I") or got.values("J") or [value or "{}" for value in got.values("i")]
    command = got.operands or ["echo"]
    if marks and marks[-1]:
        site.run([word.replace(marks[-1], UNKNOWN) for word in command])
    else:
        site.run([*command, SPLIT])


# --- find -------------------------------------------------------------------------------------------------------------

_FIND_EXPRESSION = ("-", "(", ")", "!", ",")
_FIND_RUNS = ("-exec", "-execdir", "-ok", "-okdir")
_FIND_WRITES = {"-fprint": 1, "-fprint0": 1, "-fls": 1, "-fprintf": 2}
# What makes a name something else than a condition that always holds.
_FIND_CHOICES = ("-o", "-or", "!", "-not", ",", "(", ")")


def find(name: str, words: list[str], site: Site) -> None:
    while words and (words[0] in ("-H", "-L", "-P") or words[0].startswith("-O")):
        words = words[1:]
    count = next((i for i, word in enumerate(words) if word.startswith(_FIND_EXPRESSION)), len(words))
    starts, expression = words[:count] or ["."], words[count:]
    if any(holes.may_be_option(word) and not word.startswith("-") for word in words):
        site.opaque(reading.ARGUMENTS_UNKNOWN)
    matches = [path for start in starts for path in _matches(start, expression)]
    at = 0
    while at < len(expression):
        word = expression[at]
        at += 1
        if word == "-delete":
            for path in matches:
                site.write(path)
        elif word in _FIND_WRITES:
            for file in expression[at : at + 1]:
                site.write(file)
            at += _FIND_WRITES[word]
        elif word in _FIND_RUNS:
            at = _find_runs(word, expression, at, matches, site)
        elif word in ("-files0-from",):
            site.opaque(reading.ARGUMENTS_UNKNOWN)


def _matches(start: str, expression: list[str]) -> list[str]:
    """The paths that may be found beneath a start: by their name, where it is a condition for all of them."""
    names = [after for word, after in pairwise(expression) if word == "-name"]
    if len(names) != 1 or set(_FIND_CHOICES) & set(expression) or not holes.is_plain(names[0]):
        return [f"{start}/{DEEP}"]
    if set("[]\\/") & set(names[0]):
        return [f"{start}/{DEEP}"]
    glob = names[0].replace("*", holes.MANY).replace("?", holes.ONE)
    here = basename(start)
    itself = [] if here in ("", ".", "..") or (glob == names[0] and glob != here) else [start]
    return [f"{start}/{DEEP}/{glob}", *itself]


def _find_runs(word: str, expression: list[str], at: int, matches: list[str], site: Site) -> int:
    end = next((i for i in range(at, len(expression)) if _ends(expression, i)), len(expression))
    command = expression[at:end]
    for path in matches:
        if word in ("-execdir", "-okdir"):
            folder, _, last = path.rpartition("/")
            last = holes.MANY if last == DEEP else last
            _run_on(f"./{last}", command, site.into(f"{folder}/{DEEP}"))
        else:
            _run_on(path, command, site)
    return end + 1


def _ends(expression: list[str], at: int) -> bool:
    return expression[at] == ";" or (expression[at] == "+" and expression[at - 1] == "{}")


def _run_on(path: str, command: list[str], site: Site) -> None:
    if command:
        site.run([word.replace("{}", path) for word in command])


def fd(name: str, words: list[str], site: Site) -> None:
    """fd runs what follows `-x` or `-X` on what it finds beneath this folder."""
    for mark in ("-x", "-X", "--exec", "--exec-batch"):
        if mark in words:
            at = words.index(mark)
            command = [word for word in words[at + 1 :] if word != ";"]
            told = any("{" in word for word in command)
            site.run([_placed(word) for word in command] + ([] if told else [f"./{DEEP}"]))
            if any("/" in word or ".." in word for word in words[:at]):
                site.opaque(reading.ARGUMENTS_UNKNOWN)  # perhaps another place to search
            return


def _placed(word: str) -> str:
    return f"./{DEEP}" if word in ("{}", "{/}", "{//}", "{.}", "{/.}") else word.replace("{", UNKNOWN)


def rook(name: str, words: list[str], site: Site) -> None:
    """Our own command: it keeps to its ledger, but for these, and runs what follows `--`."""
    own = words[: words.index("--")] if "--" in words else words
    command, *rest = own or [""]
    paths = [word for word in rest if not word.startswith("-")]
    if command in ("export", "backup"):
        for path in paths:
            site.write(path, Reach.BENEATH)
    elif command in ("init", "import", "demo", "config") or not all(map(holes.is_told, own[:2])):
        site.opaque(reading.INTERPRETER)
    site.run(words[len(own) + 1 :], reads=True)


RULES: dict[str, Rule] = {"rook": rook, "xargs": xargs, "find": find, "gfind": find, "fd": fd, "fdfind": fd}
