"""Programs that run another one: what they run is read in their place."""

import re
from itertools import pairwise

from rookery.core.record import NamedTuple

from . import holes, programs, reading
from .holes import DEEP, SPLIT, UNKNOWN
from .options import Given, given, names
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
    "fakeroot": Wrapper("l,lib: f,faked: u s,save-file: i: b:", outputs="s"),
    "unshare": Wrapper(
        "m,mount? u,uts? i,ipc? n,net? p,pid? U,user? C,cgroup? T f,fork r,map-root-user c,map-current-user R,root: "
        "w,wd: S,setuid: G,setgid: kill-child? mount-proc? propagation: setgroups: map-user: map-group: map-auto "
        "keep-caps",
        folder="w",
    ),
    "setarch": Wrapper("R v B F I L S T X Z 3 4 addr-no-randomize"),
    "linux64": Wrapper("R"),
    "linux32": Wrapper("R"),
    "setpriv": Wrapper(
        "d,dump reuid: regid: clear-groups keep-groups init-groups groups: inh-caps: ambient-caps: bounding-set: "
        "securebits: pdeathsig: selinux-label: apparmor-profile: landlock-access: landlock-rule: reset-env "
        "no-new-privs nnp"
    ),
    "prlimit": Wrapper("p,pid: o,output: n,nofile? c,core? f,fsize? u,nproc? v,as? t,cpu? s,stack? raw noheadings"),
    "chroot": Wrapper("userspec: groups: skip-chdir", operands=1),
    "nsenter": Wrapper(
        "a,all t,target: m,mount? u,uts? i,ipc? n,net? p,pid? U,user? C,cgroup? T,time? S,setuid: G,setgid: r,root? "
        "w,wd? F,no-fork Z preserve-credentials e,env",
        folder="w",
    ),
    "systemd-run": Wrapper("user scope q,quiet t,pty P,pipe wait G,collect u,unit: p,property: E,setenv: d,same-dir"),
    "proot": Wrapper("r: b: w: q: 0 S: R: k:"),
    "ltrace": Wrapper("f o,output: e: p: s: c C S", outputs="o"),
    "eatmydata": Wrapper(),
    "dbus-run-session": Wrapper("config-file: dbus-daemon:"),
    "xvfb-run": Wrapper("a,auto-servernum n: s: e: f:"),
    "numactl": Wrapper("N: m: C: i: l"),
    "faketime": Wrapper("f", operands=1),
    "cgexec": Wrapper("g: sticky"),
    "pkexec": Wrapper("u,user:"),
    "ld.so": Wrapper("library-path: preload: argv0: list verify inhibit-cache"),
    "watch": Wrapper("n,interval: d,differences? t,no-title b e g c x"),
    "script": Wrapper("c,command: q,quiet e,return a,append f,flush t,timing? E,echo: O,log-out: B: I: T: m: o:"),
    "su": Wrapper("c,command: s,shell: l,login m p P g: G:"),
    "runuser": Wrapper("c,command: u,user: l,login s,shell: g: G:"),
    "npx": Wrapper("y,yes no n q,quiet p,package: no-install c,call: ignore-existing"),
    "bunx": Wrapper("bun p,package:"),
    "pnpx": Wrapper("y,yes"),
    "uvx": Wrapper("from: with: p,python: q,quiet isolated no-cache refresh offline"),
}

# `uv run ruff format`: the words before the command that is run.
RUNNERS = {
    "uv": (
        ("run",),
        "with: p,python: q,quiet frozen locked no-sync isolated extra: group: all-extras no-dev project: m: "
        "with-requirements: with-editable: env-file: directory: package: no-project active offline",
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
    got = given(wrapper.options, words, permute=name == "su")
    if wrapper.answers and got.has(wrapper.answers):
        return
    doubt(got, site)
    if name == "env" and got.has("S"):
        site.opaque(reading.INTERPRETER)  # it splits the value by rules of its own
        text = re.sub(r"\\c.*", "", " ".join(got.values("S"))).replace("\\_", " ").lstrip()
        site.shell(" ".join([f"env {text}" if text.startswith("-") else text, *map(_quoted, got.operands)]), ())
        return
    for value in got.values("c call") if name in _COMMAND_BY_OPTION else []:
        site.shell(value, ())
    if name in ("script", "su", "watch"):
        _by_text(name, got, site)
        return
    for value in got.values(wrapper.outputs):
        site.shell(value[1:], ()) if value.startswith("|") else site.write(value)
    for folder in filter(None, got.values(wrapper.folder)):
        site = site.into(folder)
    rest = got.operands[wrapper.operands :]
    if name == "setarch" and rest and re.fullmatch(_MACHINE, rest[0]):
        rest = [word for word in rest[1:] if word not in ("-R", "-3", "-B", "-L")]
    for lock in got.operands[:1] if name == "flock" else []:
        site.write(lock)
    if name == "flock" and rest[:1] in (["-c"], ["--command"]):
        site.shell(" ".join(rest[1:2]), ())
        return
    while wrapper.assigns and rest and "=" in rest[0] and not rest[0].startswith(("=", "-")):
        name_of, _, value = rest[0].partition("=")
        site, rest = site.giving(name_of, value), rest[1:]
    if rest:
        site.run(_unwrapped(rest), reads=True)
    elif name == "sudo" and got.has("s i e"):
        site.opaque(reading.INTERPRETER)


_MACHINE = r"x86_64|i[3-6]86|linux(?:32|64)|aarch64|arm\w*|ppc\w*|s390x?|uname26"
_COMMAND_BY_OPTION = ("flock", "npx", "script", "su", "runuser")


def _by_text(name: str, got: Given, site: Site) -> None:
    """Those whose operands are no command of their own: shell text, a file, a user."""
    if name == "watch":
        site.shell(" ".join(got.operands), ())
    for file in (got.operands[:1] or ["typescript"]) if name == "script" and not got.has("O B I T") else []:
        site.write(file)
    if name in ("script", "su") and not got.has("c"):
        site.opaque(reading.INTERPRETER)


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


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
    command = _unwrapped(got.operands)
    if not is_known(command[0]):
        return False  # a script of the project
    site.run(command, reads=True)
    return True


def is_known(name: str) -> bool:
    tables = (programs.INTERPRETERS, programs.READ_ONLY, programs.RULES, programs.PLAIN, WRAPPERS, RULES, SHELLS)
    return any(name.rpartition("/")[2] in table for table in tables)


def is_command(name: str) -> bool:
    """Whether the word is most likely a program that another one runs: one that writes or runs others."""
    last = name.rpartition("/")[2] if name.startswith("/") else name
    return any(last in table for table in (programs.RULES, programs.PLAIN, WRAPPERS, RULES, SHELLS, programs.MODES))


# --- shells -----------------------------------------------------------------------------------------------------------

SHELLS = names("bash sh dash zsh ksh ash mksh rbash")
_SHELL = "c l,login i s e u x v n h k p r t a b f m B C D E P T o: O: norc noprofile posix rcfile,init-file: verbose"


def shell(name: str, words: list[str], site: Site) -> None:
    words = [word.replace("+", "-", 1) if word[:1] == "+" and len(word) > 1 else word for word in words]
    if words in (["--version"], ["--help"]):
        return
    got = given(_SHELL, words, permute=False)
    doubt(got, site)
    for file in got.values("rcfile"):
        site.opaque(reading.SOURCED)
        site.shell(site.content(file) or "", ())
        site.searched(site.feeders(file), deep=True)
    if got.has("n"):
        return
    if got.has("c"):
        script, *parameters = got.operands or [UNKNOWN]
        site.shell(script, tuple(parameters))
    elif got.operands and not got.has("s"):
        text = site.content(got.operands[0])
        if text is None and got.operands[0] in ("/dev/stdin", "-"):
            text = site.stdin
        if text is not None:
            site.shell(text, tuple(got.operands))
        else:
            site.opaque(reading.SOURCED, holes.shown(got.operands[0]))
            site.searched(site.feeders(got.operands[0]), deep=True)
    elif site.stdin is not None:
        site.shell(site.stdin, (name, *got.operands))
    else:
        site.opaque(reading.SOURCED)
        site.fed()


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
    mark = marks[-1] if marks else ""
    items = _items(got, site, lines=bool(mark))
    if items is None:
        site.run([word.replace(mark, UNKNOWN) for word in command] if mark else [*command, SPLIT], fed=True)
        return
    size = int(count) if (count := (got.values("n L") or [""])[-1]).isdecimal() and int(count) else len(items) or 1
    if mark:
        rows = [[word.replace(mark, item) for word in command] for item in items]
    else:
        rows = [[*command, *items[at : at + size]] for at in range(0, len(items) or 1, size)]
        if site.choice or not all(map(holes.is_told, items)):
            rows += [[*command, item] for item in items if holes.is_told(item)]  # the others may be none
    for row in rows[:ITEMS_LIMIT]:
        site.run(row)


ITEMS_LIMIT = 200
_ITEM = r"""(?s)(?:[^\s'"\\]|\\.|'[^'\n]*'|"[^"\n]*")+"""


def _items(got: Given, site: Site, *, lines: bool) -> list[str] | None:
    """What xargs takes from its standard input or its file; None where that is not known."""
    files = got.values("a")
    text = site.text(files[-1]) if files else site.stdin
    if text is None:
        return None
    if got.has("0"):
        made = re.split(r"[\0\n]", text)  # a name with a line end in it is taken for two
    elif got.has("d"):
        made = text.rstrip("\n").split(_delimiter(got.values("d")[-1]))
    elif lines:
        made = [line.strip() for line in text.split("\n")]
    else:
        made = [_unquoted(found) for found in re.findall(_ITEM, text.replace("\0", " "))]
    made = [item for item in made if item]
    return made if len(made) <= ITEMS_LIMIT else None


def _delimiter(value: str) -> str:
    return {"\\n": "\n", "\\0": "\0", "\\t": "\t"}.get(value, value) or "\n"


def _unquoted(item: str) -> str:
    pieces = re.findall(r"""'([^']*)'|"([^"]*)"|\\(.)|([^'"\\]+)""", item, re.DOTALL)
    return "".join("".join(piece) for piece in pieces)


# --- find -------------------------------------------------------------------------------------------------------------

_FIND_EXPRESSION = ("-", "(", ")", "!", ",")
_FIND_RUNS = ("-exec", "-execdir", "-ok", "-okdir")
_FIND_WRITES = {"-fprint": 1, "-fprint0": 1, "-fls": 1, "-fprintf": 2}
# What makes a name something else than a condition that always holds.
_FIND_CHOICES = ("-o", "-or", "!", "-not", ",", "(", ")")


def _searched(words: list[str]) -> tuple[list[str], list[str]]:
    """(where `find` starts, its expression)."""
    while words and (words[0] in ("-H", "-L", "-P") or words[0].startswith("-O")):
        words = words[1:]
    count = next((i for i, word in enumerate(words) if word.startswith(_FIND_EXPRESSION)), len(words))
    return words[:count] or ["."], words[count:]


def found_paths(words: list[str]) -> list[str]:
    starts, expression = _searched(words)
    return [path for start in starts for path in _matches(start, expression)]


def find(name: str, words: list[str], site: Site) -> None:
    starts, expression = _searched(words)
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
    anything = [f"{start}/{DEEP}", *([] if holes.is_told(start) else [start])]
    if len(names) != 1 or set(_FIND_CHOICES) & set(expression) or not holes.is_plain(names[0]):
        return anything
    if set("[]\\/") & set(names[0]):
        return anything
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
