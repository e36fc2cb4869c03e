"""Inline code: what only reads is told from what may write, and a path is found in every form of the text."""

import pytest

from rookery.core.shell import code, mentions
from rookery.core.shell.forms import forms
from rookery.core.shell.reading import MayWrite, Reading

ROOT = "/w"
READS = [
    "print(open('src/a.py').read())",
    "import ast; ast.parse(open('src/a.py').read())",
    "len(open('src/a.py').readlines())",
    "for f in ['src/a.py']: print(open(f).read())",
    "import sys; sys.path.insert(0, 'src'); import a",
    "console.log(require('fs').readFileSync('src/a.py', 'utf8').split('x').length)",
    "def f(x):\n    return len(x)\nf('src/a.py')",
    "import json; print(json.dumps({'path': 'src/a.py'}))",
    "compare_versions('src/a.py')",
    "is_valid('src/a.py')",
]
WRITES = [
    "open('src/a.py', 'w')",
    "unheard_of('src/a.py')",
    "import io; io.FileIO('src/a.py', 'w')",
    "x.extract('src/a.py')",
    "logging.FileHandler('src/a.py')",
    "import cProfile; cProfile.run('1', 'src/a.py')",
    "shelve.open('src/a.py')",
]
NAMES = [
    "open('src' + '/a.py', 'w')",
    "open(f'src/{n}.py', 'w'); n = 'a'",
    "open('src/%s.py' % 'a', 'w')",
    "Path('src') / 'a.py'",
    "n = 'a'; open('src/' + n + '.py', 'w')",
    "os.path.join('src', 'a') + '.py'",
    "Path('src/a').with_suffix('.py').unlink()",
    "b64decode('c3JjL2EucHk=')",
    "fromhex('7372632f612e7079')",
    "'yp.a/crs'[::-1]",
    "chr(115) + 'rc/a.py'",
    "'SRC/A.PY'.lower()",
    "[115,114,99,47,97,46,112,121]",
    "'src/b.py'.replace('b', 'a')",
    "mod = 'src.a'; open(mod.replace('.', '/') + '.py')",
    "shutil.copy('tmp/a.py', 'src')",
    "for f in root.rglob('a.py'): f.unlink()",
    "'src\\x2fa.py'",
]
OTHERS = [
    "open('src/b.py', 'w')",
    "open(f'src/{n}.py', 'w'); n = 'b'",
    "open('src/b.py', 'a')",
    "shutil.copy('src/c.py', 'build/a.py')",
    "open('docs/' + n + '.py', 'w'); n = 'a'",
    "b64decode('aGVsbG8gd29ybGQ=')",
    "open('srca.py', 'w')",
    "open('a/src.py', 'w')",
]


def named(text: str, *held: str) -> list[str]:
    reading = Reading((), (), may_write=(MayWrite((ROOT,), text),))
    return [each.path for each in mentions.named(reading, held or ("src/a.py",), ROOT, cwd=ROOT)]


@pytest.mark.parametrize("text", READS)
def test_code_that_only_reads_is_not_searched(text: str) -> None:
    assert code.judge(text) is None


@pytest.mark.parametrize("text", WRITES)
def test_a_call_that_is_not_known_may_write(text: str) -> None:
    judged = code.judge(text)
    assert judged is not None
    assert named(judged.text) == ["/w/src/a.py"]


@pytest.mark.parametrize("text", NAMES)
def test_a_path_is_found_in_pieces_and_encoded(text: str) -> None:
    assert named(text) == ["/w/src/a.py"]


@pytest.mark.parametrize("text", OTHERS)
def test_another_path_is_not_taken_for_the_reserved_one(text: str) -> None:
    assert named(text) == []


def test_a_folder_is_named_by_a_string_of_its_own() -> None:
    assert named("os.chdir('lib'); open('z', 'w')", "lib/") == ["/w/lib/"]
    assert named("os.chdir('library'); open('z', 'w')", "lib/") == []


def test_texts_in_a_shell_of_their_own_are_read() -> None:
    assert code.embedded("os.system('git checkout -q side')") == [["git checkout -q side"]]
    assert code.embedded("subprocess.run(['rm', '-f', 'x'])") == [["rm", "-f", "x"]]
    assert code.embedded("execFileSync('git', ['checkout', 'x'])") == [["git", "checkout", "x"]]
    assert code.embedded(r"os.system('sh -c \'rm x\'')") == [["sh -c 'rm x'"]]


def test_a_long_text_has_fewer_forms() -> None:
    assert len(list(forms("x" * 100_000 + " c3JjL2EucHk="))) < len(list(forms("'x' + y c3JjL2EucHk= tr")))
