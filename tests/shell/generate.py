"""Commands that write a reserved file: writer x quoting x wrapper x place, put together mechanically.

A writer has `P` where the path stands. `WORDS` take it as a shell word, `CODE` in a string of another language. Every
writer meets every wrapper, and quotings and places take turns, so that all pairs come up over the seeds. Nothing is
left out because the guard misses it; what cannot be put together (a redirection under xargs) is left out.
"""

import base64
import random
import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tests.shell.sandbox import HELD

FOLDER, NAME = HELD.split("/")


class Command(NamedTuple):
    writer: str
    quoting: str
    wrapper: str
    place: str
    text: str
    folder: str = "."  # it is run there
    program: str = ""


# Programs whose last word is the path are run by xargs, too.
WORDS: dict[str, str] = {
    "rm": "rm -f P", "unlink": "unlink P", "shred": "shred -u P", "truncate": "truncate -s 0 P", "touch": "touch P",
    "chmod": "chmod 600 P", "tee": "echo x | tee P", "tee -a": "echo x | tee -a P", ">": "echo x > P",
    ">>": "echo x >> P",
    ">|": ": >| P", "sed -i": "sed -i s/x/y/ P", "perl -pi": "perl -pi -e 's/x/y/' P", "mv from": "mv P gone.py",
    "mv onto": "mv -f other.txt P", "cp": "cp -f other.txt P", "install": "install -m 644 other.txt P",
    "ln -sf": "ln -sf other.txt P", "dd": "dd if=/dev/zero bs=1 count=1 of=P", "sort -o": "sort -r -o P other.txt",
    "uniq": "uniq other.txt P", "xxd -r": "xxd -r -p hex.txt P", "patch": "patch -s P fix.patch",
    "ed": "printf '%s\\n' 1d w q | ed -s P", "ex": "ex -sc '1d|x' P", "vim -es": "vim -es -c 'normal dd' -c wq P",
    "gcc -o": "gcc -c main.c -o P", "as -o": "as hello.s -o P",
    "rustc": "echo 'fn main() {}' | rustc - --emit metadata -o P",
    "openssl": "openssl rand -out P 8", "curl -o": "curl -s -o P file:///etc/hostname",
    "objcopy": "gcc -c main.c -o m.o && objcopy m.o P",
    "sqlite3": "sqlite3 -cmd '.output P' :memory: 'select 1'", "git checkout": "git checkout -- P",
    "git restore": "git restore P",
    "git rm": "git rm -qf P", "ruff format": "ruff format -q P", "2to3": "2to3 -w -n -f all P", "gzip": "gzip -f P",
    "fallocate": "fallocate -l 99 P", "iconv": "iconv -f utf-8 -t latin1 other.txt -o P", "busybox": "busybox rm P",
    "parallel": "parallel rm ::: P", "tar": "tar -cf P other.txt", "zip -m": "zip -qm z.zip P",
    "rsync": "rsync other.txt P",
    "prettier": "prettier --write P", "make -f": "printf 'all:\\n\\trm P\\n' | make -s -f -",
}  # fmt: skip
CODE: dict[str, tuple[str, str]] = {
    "python open": ("python3", "open(P, 'w').write('x')"),
    "python pathlib": ("python3", "from pathlib import Path; Path(P).write_text('x')"),
    "python os": ("python3", "import os; os.remove(P)"),
    "python shutil": ("python3", "import shutil; shutil.copy('other.txt', P)"),
    "python system": ("python3", "import os; os.system('rm ' + P)"),
    "python exec": ("python3", "exec('open(q, \"a\").write(\"x\")', {'q': P})"),
    "node write": ("node", "require('fs').writeFileSync(P, 'x')"),
    "node rm": ("node", "require('fs').rmSync(P)"),
    "node exec": ("node", "require('child_process').execSync('rm ' + P)"),
    "perl open": ("perl", "open(my $f, '>', P); print $f 1"),
    "perl unlink": ("perl", "unlink P"),
    "awk": ("awk", 'BEGIN { print "x" > P }'),
    "tclsh": ("tclsh", "file delete P"),
    "ruby": ("ruby", "File.write(P, 'x')"),
    "php": ("php", "file_put_contents(P, 'x');"),
}
_RUNS = {
    "python3": "python3 -c",
    "node": "node -e",
    "perl": "perl -e",
    "awk": "awk",
    "ruby": "ruby -e",
    "php": "php -r",
}
_ON_STDIN = {
    "python3": "python3 -",
    "node": "node -",
    "perl": "perl -",
    "tclsh": "tclsh",
    "ruby": "ruby -",
    "php": "php",
}
_PLUS = {"python3": "+", "node": "+", "perl": ".", "awk": " ", "ruby": "+", "php": "."}


# --- how a path is written --------------------------------------------------------------------------------------------


class Path(NamedTuple):
    """`before` is run first."""

    word: str
    before: str = ""


QUOTINGS: dict[str, Callable[[str], Path]] = {
    "plain": lambda path: Path(path),
    "single": lambda path: Path(f"'{path}'"),
    "double": lambda path: Path(f'"{path}"'),
    "backslash": lambda path: Path(path.replace("a.py", "\\a.p\\y")),
    "mixed": lambda path: Path(path.replace("a.py", "a''.\"py\"")),
    "dollar quote": lambda path: Path("$'" + path.replace("a.py", "\\x61.py") + "'"),
    "dots": lambda path: Path(path if path.startswith("/") else f"./{path}"),
    "slashes": lambda path: Path(path.replace("/a.py", "//a.py")),
    "up": lambda path: Path(path.replace("a.py", "../src/a.py") if "lk" not in path else path),
    "glob": lambda path: Path(path.replace("a.py", "[a].p?")),
    "brace": lambda path: Path(path.replace("a.py", "{a,}.py").replace("{a,}", "{a,a}")),
    "variable": lambda path: Path('"$f"', f"f={path}; "),
    "trimmed": lambda path: Path('"${f%.bak}"', f"f={path}.bak; "),
    "default": lambda path: Path(f'"${{nothing:-{path}}}"'),
    "array": lambda path: Path('"${a[1]}"', f"a=(x {path}); "),
    "substitution": lambda path: Path(f"$(echo {path})"),
    "printf": lambda path: Path(f'"$(printf %s {path})"'),
    "read": lambda path: Path('"$f"', f"read -r f <<< {path}; "),
    "printf -v": lambda path: Path('"$f"', f"printf -v f %s {path}; "),
}
CODE_QUOTINGS: dict[str, Callable[[str, str], str]] = {
    "plain": lambda path, plus: f'"{path}"',
    "dots": lambda path, plus: f'"{path if path.startswith("/") else "./" + path}"',
    "slashes": lambda path, plus: '"' + path.replace("/a.py", "//a.py") + '"',
    "concatenated": lambda path, plus: f'"{path[:-4]}" {plus} "{path[-4:]}"' if plus else f'"{path}"',
    "in three": lambda path, plus: f'"{path[:-4]}" {plus} "a" {plus} ".py"' if plus else f'"{path}"',
    "escaped": lambda path, plus: '"' + path.replace("a.py", "\\x61.py") + '"',
}
PLACES = {
    "here": HELD, "cd": NAME, "absolute": "", "other folder": f"../{HELD}", "link": f"lk/{NAME}",
    "hard link": f"lk_{NAME}",
}  # fmt: skip


def _at(place: str, root: str) -> tuple[str, str, str]:
    """(the path, what is run before, the folder of the event)."""
    if place == "absolute":
        return f"{root}/{HELD}", "", "."
    links = {"cd": f"cd {FOLDER} && ", "link": f"ln -s {FOLDER} lk && ", "hard link": f"ln {HELD} lk_{NAME} && "}
    before = links.get(place, "")
    return PLACES[place], before, "docs" if place == "other folder" else "."


# --- what a command is put into ---------------------------------------------------------------------------------------

WRAPPERS: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "subshell": lambda text: f"( {text} )",
    "group": lambda text: f"{{ {text}; }} 2>&1 | cat",
    "sh -c": lambda text: f"bash -c {shlex.quote(text)}",
    "eval": lambda text: f"eval {shlex.quote(text)}",
    "function": lambda text: f"work() {{ {text}; }}; work",
    "substitution": lambda text: f'echo "$( {text} )"',
    "condition": lambda text: f"if true; then {text}; fi",
    "loop": lambda text: f"for i in 1; do {text}; done",
    "heredoc": lambda text: f"bash <<'END'\n{text}\nEND",
    "piped": lambda text: f"echo {shlex.quote(text)} | bash",
    "base64": lambda text: f"echo {base64.b64encode(text.encode()).decode()} | base64 -d | bash",
    "script": lambda text: f"cat > run.sh <<'END'\n{text}\nEND\nbash run.sh",
    "env": lambda text: f"env A=1 bash -c {shlex.quote(text)}",
    "nice": lambda text: f"nice -n 1 bash -c {shlex.quote(text)}",
    "timeout": lambda text: f"timeout 15 bash -c {shlex.quote(text)}",
    "nohup": lambda text: f"nohup bash -c {shlex.quote(text)} > /dev/null",
    "process": lambda text: f"bash <(echo {shlex.quote(text)})",
    "alias": lambda text: f"shopt -s expand_aliases\nalias work={shlex.quote(text)}\nwork",
    "comments": lambda text: "# nothing\n" * 50 + text + "\n# nothing",
}


def _spread(command: str, path: Path) -> Iterator[tuple[str, str]]:
    """Wrappers that hand the path over by themselves; only for programs whose last word it is."""
    head, found, rest = command.rpartition(" P")
    if not found or rest or ">" in head.split()[-1:] or "|" in command or "&&" in command:
        return
    yield "xargs", f"echo {path.word} | xargs {head}"
    yield "xargs -I", f"printf '%s\\n' {path.word} | xargs -I@ {head} @"
    yield "for", f'for p in {path.word}; do {head} "$p"; done'
    yield "while read", f'echo {path.word} | while read -r p; do {head} "$p"; done'
    yield "set --", f'set -- {path.word}; {head} "$1"'
    yield "sh -c $1", f"bash -c '{head.replace(chr(39), chr(34))} \"$1\"' _ {path.word}"
    yield "find", f"find . -path './{HELD}' -name {NAME} -exec {head} {{}} \\;"


# --- all of them ------------------------------------------------------------------------------------------------------


def generate(root: str, seed: int = 0) -> list[Command]:
    chance = random.Random(seed)
    made: list[Command] = []
    for name, text in WORDS.items():
        made += _of_words(name, text, root, chance)
    for name, (program, text) in CODE.items():
        made += _of_code(name, program, text, root, chance)
    return made


def _program(text: str) -> str:
    first = text.rpartition(" | ")[2].split()[0]
    return "bash" if first == ":" else first


def _of_words(name: str, text: str, root: str, chance: random.Random) -> Iterator[Command]:
    quotings, places = _turns(QUOTINGS, chance), _turns(PLACES, chance)
    for wrapper, wrap in WRAPPERS.items():
        quoting, place = next(quotings), next(places)
        at, before, folder = _at(place, root)
        path = QUOTINGS[quoting](at)
        inner = path.before + _here(text, place).replace("P", path.word)
        yield Command(name, quoting, wrapper, place, before + wrap(inner), folder, _program(text))
    quoting, place = next(quotings), next(places)
    at, before, folder = _at(place, root)
    path = QUOTINGS[quoting](at)
    for wrapper, command in _spread(_here(text, place), path):
        if wrapper != "find" or place in ("here", "absolute"):
            yield Command(name, quoting, wrapper, place, before + path.before + command, folder, _program(text))


def _here(text: str, place: str) -> str:
    """The other files that a writer reads, seen from where it runs."""
    if place not in ("cd", "other folder"):
        return text
    for name in ("other.txt", "main.c", "hex.txt", "fix.patch", "hello.s"):
        text = text.replace(name, f"../{name}")
    return text


def _of_code(name: str, program: str, text: str, root: str, chance: random.Random) -> Iterator[Command]:
    quotings, places = _turns(CODE_QUOTINGS, chance), _turns(PLACES, chance)
    plus = _PLUS.get(program, "")
    for wrapper, wrap in (WRAPPERS | {"heredoc to it": None, "pipe to it": None, "script of it": None}).items():
        quoting, place = next(quotings), next(places)
        at, before, folder = _at(place, root)
        code = _here(text, place).replace("P", CODE_QUOTINGS[quoting](at, plus))
        if program == "awk" and plus and " " in code and quoting in ("concatenated", "in three"):
            code = code.replace("> " + CODE_QUOTINGS[quoting](at, plus), f"> ({CODE_QUOTINGS[quoting](at, plus)})")
        command = _put(program, code, wrapper if wrap is None else "")
        if command is None:
            continue
        yield Command(name, quoting, wrapper, place, before + (wrap(command) if wrap else command), folder, program)


def _put(program: str, code: str, wrapper: str) -> str | None:
    if wrapper and program not in _ON_STDIN:
        return None
    code = f"<?php {code}" if wrapper and program == "php" else code
    if wrapper == "pipe to it":
        return f"printf '%s\\n' {shlex.quote(code)} | {_ON_STDIN[program]}"
    if wrapper == "script of it":
        return f"cat > run.x <<'END'\n{code}\nEND\n{program} run.x"
    if wrapper or program not in _RUNS:
        return f"{_ON_STDIN[program]} <<'END'\n{code}\nEND"
    return f"{_RUNS[program]} {shlex.quote(code)}"


def _turns(names: Iterable[str], chance: random.Random) -> Iterator[str]:
    order = list(names)
    while True:
        chance.shuffle(order)
        yield from order
