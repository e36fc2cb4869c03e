"""A second writer of commands that write a reserved file, with other writers, quotings, wrappers and places than
`generate`. Combinations are drawn by chance, so that a rule made for one of them meets the others.

`P` in a writer stands for the path as a word of the shell, `Q` in code for the path as an expression of its language.
"""

import base64
import random
import shlex
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.shell.generate import Command
from tests.shell.sandbox import HELD

FOLDER, NAME = HELD.split("/")

WORDS: dict[str, str] = {
    "rm --": "rm -rf -- P", "mv -t": "mkdir -p out && mv -t out P", "ln -f": "ln -f other.txt P",
    "cat >": "cat > P < other.txt", "install -D": "install -D other.txt P", "tee <": "tee P < other.txt > /dev/null",
    "sed -i.orig": "sed -i.orig 1d P", "sort, then -o": "sort other.txt -o P", "dd <": "dd of=P < other.txt",
    "truncate long": "truncate --size 0 P", "chmod": "chmod a+x P", "touch -d": "touch -d @0 P",
    "git rm": "git rm -f --quiet P", "git mv": "git mv P gone", "git show >": "git show HEAD:src/b.py > P",
    "ex -c": "ex -s -c %d -c x P", "vim w!": "vim -es -c %d -c wq P",
    "openssl": "openssl base64 -in other.txt -out P", "gcc": "gcc -c main.c -o P",
    "gcc -MF": "gcc -MD -MF P -c main.c -o m.o", "curl": "curl -s file:///etc/hostname -o P",
    "tar": "tar --remove-files -cf t.tar P", "cmake -E": "cmake -E rm P",
    "make F=": "make -sf - x F=P <<< $'x:\\n\\trm $(F)'", "find P": "find P -delete",
    "find -exec": "find P -exec rm {} ';'", "xargs <<<": "xargs rm <<< P",
    "python argv": "python3 -c 'import sys, os; os.remove(sys.argv[1])' P",
    "node argv": "node -e 'fs.rmSync(process.argv[1])' P", "perl shift": "perl -e 'unlink shift' P",
    "sh -c $1": "bash -c 'rm \"$1\"' _ P", "env F=": "env F=P bash -c 'rm \"$F\"'",
    "F= sh": "F=P bash -c 'rm \"$F\"'", "F= python": "F=P python3 -c 'import os; os.remove(os.environ[\"F\"])'",
    "gzip": "gzip -f P", "split": "cp other.txt P", "exec >": "(exec > P; echo x)", "fd 7": "exec 7<>P; echo zz >&7",
    "ed": "printf '%s\\n' 1d w q | ed -s P", "awk -v": "awk -v f=P 'BEGIN { print 1 > f }'",
    "shuf -o": "shuf -e x -o P", "objcopy": "objcopy -I binary -O binary other.txt P",
    "git checkout": "echo more >> P; git checkout HEAD -- P", "scp": "scp -q other.txt P",
}  # fmt: skip
CODE: dict[str, tuple[str, str]] = {
    "FileIO": ("python3 -c", "import io; io.FileIO(Q, 'w')"),
    "zipfile": ("python3 -c", "import zipfile; zipfile.ZipFile(Q, 'w').close()"),
    "logging": ("python3 -c", "import logging; logging.FileHandler(Q).emit(logging.makeLogRecord({'msg': 'x'}))"),
    "os.open": ("python3 -c", "import os; os.write(os.open(Q, os.O_WRONLY), b'zz')"),
    "mmap": ("python3 -c", "import mmap, os; mmap.mmap(os.open(Q, 2), 0)[0:1] = b'Z'"),
    "fileinput": ("python3 -c", "import fileinput; [print('x') for _ in fileinput.input(Q, inplace=True)]"),
    "subprocess": ("python3 -c", "import subprocess; subprocess.check_call(['rm', Q])"),
    "copyfileobj": ("python3 -c", "import shutil; shutil.copyfileobj(open('other.txt'), open(Q, 'w'))"),
    "stdout": ("python3 -c", "import sys; sys.stdout = open(Q, 'w'); print(1)"),
    "in a function": ("python3 -c", "def f(p):\n    with open(p, 'w') as g:\n        g.write('x')\nf(Q)"),
    "timeit": ("python3 -m timeit -n1 -r1", "open(Q, 'w')"),
    "promises": ("node -e", "require('fs/promises').unlink(Q)"),
    "openSync": ("node -e", "const f = require('fs'); f.closeSync(f.openSync(Q, 'w'))"),
    "renameSync": ("node -e", "fs.renameSync(Q, 'gone')"),
    "spawnSync": ("node -e", "require('child_process').spawnSync('rm', [Q])"),
    "sysopen": ("perl -e", "use Fcntl; sysopen(F, Q, O_WRONLY | O_TRUNC)"),
    "perl rename": ("perl -e", "rename Q, 'gone'"),
    "perl system": ("perl -e", "system('rm', Q)"),
    "awk system": ("awk", 'BEGIN { system("rm " Q) }'),
    "awk print": ("awk", "BEGIN { f = Q; print 1 > f }"),
}
_PLUS = {"python3 -c": "+", "python3 -m timeit -n1 -r1": "+", "node -e": "+", "perl -e": ".", "awk": " "}


class Path(NamedTuple):
    word: str
    before: str = ""


def _halves(path: str) -> tuple[str, str]:
    return path[: len(path) // 2], path[len(path) // 2 :]


QUOTINGS: dict[str, Callable[[str], Path]] = {
    "plain": Path,
    "octal": lambda path: Path("$'" + "".join(f"\\{ord(char):03o}" for char in path) + "'"),
    "two variables": lambda path: Path('"$a$b"', "a={}; b={}; ".format(*_halves(path))),
    "empty inside": lambda path: Path(path.replace("a.py", "${nothing}a.py")),
    "empty in a name": lambda path: Path(path.replace("a.py", "a${nothing}.py")),
    "lower case": lambda path: Path('"${f,,}"', f"f={path.upper()}; ") if path == path.lower() else Path(path),
    "declare -l": lambda path: Path('"$f"', f"declare -l f={path.upper()}; ") if path == path.lower() else Path(path),
    "reversed": lambda path: Path(f'"$(rev <<< {path[::-1]})"'),
    "base64": lambda path: Path(f'"$(base64 -d <<< {base64.b64encode(path.encode()).decode()})"'),
    "tr": lambda path: Path(f"\"$(echo {path.replace('a.py', '@.py')} | tr @ a)\""),
    "sed": lambda path: Path(f"\"$(sed s/ZZ/a/ <<< {path.replace('a.py', 'ZZ.py')})\""),
    "dirname": lambda path: Path(f'"$(dirname {path})/$(basename {path})"'),
    "printf": lambda path: Path(f"\"$(printf '%s%s' {' '.join(_halves(path))})\""),
    "nameref": lambda path: Path('"$r"', f"declare -n r=q; q={path}; "),
    "read IFS": lambda path: Path('"$d/$n"', "IFS=: read -r d n <<< {0}:{2}; ".format(*path.rpartition("/"))),
    "set --": lambda path: Path('"$2"', f"set -- x {path}; "),
    "${!n}": lambda path: Path('"${!n}"', f"n=v; v={path}; "),
    "array": lambda path: Path('"${a[-1]}"', f"a=(x y {path}); "),
    "slice": lambda path: Path('"${f:2}"', f"f=xx{path}; "),
    "suffix": lambda path: Path('"${f%.orig}"', f"f={path}.orig; "),
    "glob": lambda path: Path(path.replace("a.py", "a.p*")),
    "braces": lambda path: Path(f"{{{path},}}"),
    "cat heredoc": lambda path: Path('"$f"', f"f=$(cat <<'EOT'\n{path}\nEOT\n); "),
    "python prints": lambda path: Path(f"\"$(python3 -c 'print(\"{path}\")')\""),
}  # fmt: skip
EXPRESSIONS: dict[str, Callable[[str, str], str]] = {
    "plain": lambda path, plus: f'"{path}"',
    "cut": lambda path, plus: '"{}" {plus} "{}"'.format(*_halves(path), plus=plus),
    "hex": lambda path, plus: '"' + path.replace("a.py", "\\x61.py") + '"',
    "dots": lambda path, plus: '"' + path.replace("/a.py", "/./a.py") + '"',
}


def _folder_first(before: str) -> Callable[[str], tuple[str, str]]:
    return lambda root: (NAME, before.format(root=root, above=root.rpartition("/")[0]))


PLACES: dict[str, Callable[[str], tuple[str, str]]] = {
    "here": lambda root: (HELD, ""),
    "./": lambda root: (f"./{HELD}", ""),
    "absolute": lambda root: (f"{root}/{HELD}", ""),
    "up": lambda root: (f"../{root.rpartition('/')[2]}/{HELD}", ""),
    "cd": _folder_first("cd src; "),
    "cd -P": _folder_first("cd -P -- src; "),
    "pushd": _folder_first("pushd src > /dev/null; "),
    "CDPATH": _folder_first("CDPATH={root} cd src > /dev/null; "),
    "OLDPWD": _folder_first("OLDPWD={root}/src; cd - > /dev/null; "),
    "variable": _folder_first("d=src; cd $d; "),
    "there and back": lambda root: (HELD, "cd docs; cd ..; "),
}


def _in_bash(text: str) -> str:
    return f"bash -c {shlex.quote(text)}"


WRAPPERS: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "twice": lambda text: _in_bash(_in_bash(text)),
    "function": lambda text: f'go() {{ eval "$1"; }}; go {shlex.quote(text)}',
    "trap": lambda text: f"bash -c {shlex.quote('trap ' + shlex.quote(text) + ' EXIT')}",
    "variable": lambda text: f'c={shlex.quote(text)}; eval "$c"',
    "environment": lambda text: f"C={shlex.quote(text)} bash -c 'eval \"$C\"'",
    "python shell": lambda text: f"python3 -c {shlex.quote(f'import os; os.system({_in_bash(text)!r})')}",
    "alias of git": lambda text: f"git -c alias.go={shlex.quote('!' + _in_bash(text))} go",
    "source": lambda text: f"source <(printf '%s\\n' {shlex.quote(text)})",
    "stdin": lambda text: f". /dev/stdin <<'EOS'\n{text}\nEOS",
    "planted": lambda text: f"cat > go.sh <<'EOS'\n#!/bin/bash\n{text}\nEOS\nchmod +x go.sh; ./go.sh",
    "tee": lambda text: f"printf '%s\\n' {shlex.quote(text)} | tee go.sh > /dev/null; bash go.sh",
    "BASH_ENV": lambda text: f"BASH_ENV=<(printf '%s\\n' {shlex.quote(text)}) bash -c :",
    "xargs sh": lambda text: f"echo x | xargs -I@ bash -c {shlex.quote(text)}",
    "background": lambda text: f"{{ {text}\n}} & wait",
    "or": lambda text: f"false || {{ {text}\n}}",
    "case": lambda text: f"case x in x) {text}\n;; esac",
    "script -c": lambda text: f"script -qec {shlex.quote(_in_bash(text))} /dev/null",
    "timeout": lambda text: f"timeout 15 bash -c {shlex.quote(text)}",
}
_NESTED = ("source", "stdin", "planted", "twice")  # a heredoc of the path would end theirs


def generate(root: str, seed: int = 0, each: int = 8) -> list[Command]:
    chance = random.Random(seed)
    return [*_of_words(root, chance, each), *_of_code(root, chance, each)]


def _of_words(root: str, chance: random.Random, each: int) -> Iterator[Command]:
    for name, text in WORDS.items():
        for _ in range(each):
            place, wrapper = chance.choice(list(PLACES)), chance.choice(list(WRAPPERS))
            at, before = PLACES[place](root)
            fitting = [name for name in QUOTINGS if name != "read IFS" or "/" in at]
            quoting = chance.choice([name for name in fitting if name != "cat heredoc" or wrapper not in _NESTED])
            path = QUOTINGS[quoting](at)
            inner = _seen_from(text, at).replace("P", path.word)
            made = WRAPPERS[wrapper](before + path.before + inner)
            yield Command(name, quoting, wrapper, place, made, program=_program(text))


def _of_code(root: str, chance: random.Random, each: int) -> Iterator[Command]:
    for name, (program, text) in CODE.items():
        for _ in range(each):
            quoting, place = chance.choice(list(EXPRESSIONS)), chance.choice(list(PLACES))
            wrapper = chance.choice(list(WRAPPERS))
            at, before = PLACES[place](root)
            code = _seen_from(text, at).replace("Q", EXPRESSIONS[quoting](at, _PLUS[program]))
            made = WRAPPERS[wrapper](f"{before}{program} {shlex.quote(code)}")
            yield Command(name, quoting, wrapper, place, made, program=program.split()[0])


def _seen_from(text: str, at: str) -> str:
    """The other files that a writer reads, from the folder that it runs in."""
    if at != NAME:
        return text
    for other in ("other.txt", "main.c"):
        text = text.replace(other, f"../{other}")
    return text


def _program(text: str) -> str:
    words = text.replace("mkdir -p out && ", "").replace("echo more >> P; ", "").rpartition(" | ")[2].split()
    first = next(word for word in words if "=" not in word or word == "F=")
    return first if first.isalnum() and first != "exec" else "bash"
