"""Which reserved paths the opaque parts of a command name, and whether inline code may write."""

import pytest

from rookery.core.shell import code, mentions
from rookery.core.shell.reading import MayWrite, Reading
from rookery.runtime.shell import writes

ROOT = "/w"


def named(command: str, *held: str, cwd: str = ROOT) -> list[str]:
    reading = writes(command, cwd, home="/home/u", root=ROOT)
    found = mentions.named(reading, held, ROOT, cwd=cwd, home="/home/u")
    return sorted(each.path.removeprefix(f"{ROOT}/") + "~" * each.pattern for each in found)


def in_text(text: str, *held: str, deep: bool = False) -> list[str]:
    part = MayWrite((ROOT,), text, deep=deep)
    found = mentions.named(Reading((), (), may_write=(part,)), held, ROOT)
    return sorted(each.path.removeprefix(f"{ROOT}/") + "~" * each.pattern for each in found)


def python(text: str) -> str:
    return f'python3 -c "{text}"'


@pytest.mark.parametrize("held", ["src/", "src/**", "src/*.py", "src/a.py", "**/a.py", "s?c/a.py", "."])
def test_a_file_that_a_pattern_covers_is_named(held: str) -> None:
    assert named(python("open('src/a.py', 'w')"), held) in (["src/a.py"], [f"{held}~"])
    assert named(python("open('./src//a.py', 'w')"), held)
    assert named(python("open('/w/src/a.py', 'w')"), held)
    assert named(python("import os; os.remove(os.path.join('src', 'a.py'))"), held)
    assert named("unheard_of src/a.py", held)
    assert named("gcc -o src/a.py x.c", held)
    assert named("unheard_of ../src/a.py", held, cwd="/w/docs")


@pytest.mark.parametrize("held", ["src/", "src/**", "src/*.py", "src/a.py", "**/a.py"])
def test_another_file_is_not(held: str) -> None:
    assert named(python("open('docs/b.md', 'w')"), held) == []
    assert named(python("open('/tmp/src/a.py', 'w')"), held) == []
    assert named(python("open('other/a.pyc', 'w')"), held) == []
    assert named("unheard_of docs/b.md /elsewhere/src/a.py", held) == []
    assert named("unheard_of a.md", held, cwd="/w/docs") == []


def test_a_folder_is_named_by_what_lies_in_it_and_by_what_reaches_into_it() -> None:
    assert named(python("import sys; sys.path.insert(0, 'src'); open('out', 'w')"), "src/") == []
    assert named(python("open('/tmp/x', 'w').write('y')"), ".", cwd="/w/src") == []
    assert named(python("import shutil; shutil.rmtree('src')"), "src/a.py") == ["src/a.py"]
    assert named(python("import shutil; shutil.rmtree('docs')"), "src/a.py") == []
    assert named("unheard_of --fix src", "src/a.py") == ["src/a.py"]
    assert named("unheard_of src", "src/a.py") == []


@pytest.mark.parametrize(
    "text",
    [
        "'src/' + 'a.py'",
        '"src/" "a.py"',
        "'src/'.'a.py'",
        "Path('src') / 'a.py'",
        "'src', 'a.py'",
        "'s' + 'rc/a.py'",
        "'\\x73rc/a.py'",
        "chdir('src') open('a.py')",
        "sr''c/a.py",
        "src\\/a.py",
        "glob('src/*.py')",
        "src/[a].py",
    ],
)
def test_a_name_in_other_forms(text: str) -> None:
    assert in_text(text, "src/a.py") == ["src/a.py"]


def test_names_with_odd_characters() -> None:
    assert in_text("rm 'two words.txt'", "two words.txt") == ["two words.txt"]
    assert in_text("open('app/[slug]/page.tsx', 'w')", "app/[slug]/page.tsx") == ["app/[slug]/page.tsx"]
    assert in_text("rm app/x/page.tsx", "app/[slug]/page.tsx") == []


@pytest.mark.parametrize(
    "command",
    [
        'rm "$D/src/a.py"',
        'cd "$D" && rm src/a.py',
        "rm $(unheard_of src/a.py)",
        "x=$(unheard_of src/a.py); rm $x",
        "unheard_of src/a.py | xargs rm",
        "unheard_of 'src/a.py' | while read f; do rm $f; done",
        "$CMD src/a.py",
    ],
)
def test_an_unknown_target_counts_if_what_it_came_from_names_the_path(command: str) -> None:
    assert named(command, "src/a.py") == ["src/a.py"]


@pytest.mark.parametrize(
    "command",
    [
        "n=$(unheard_of < src/a.py); echo > out_$n.txt",
        "cp src/a.py $D",
        'cat src/a.py > "$OUT"',
        "rm $(unheard_of docs)",
        'cp src/a.py "$D/a.py"',
        "$PYTHON src/a.py",
        "sh script.sh src/a.py",
        "./tool src/a.py",
        "npm test -- src/a.py",
    ],
)
def test_an_unknown_target_that_cannot_be_it_does_not(command: str) -> None:
    assert named(command, "src/a.py") == []


@pytest.mark.parametrize(
    "text",
    [
        "open('x', 'w')",
        "open('x', mode='a')",
        "open(p, 'r+b')",
        "open(p, m)",
        "os.unlink('x')",
        "Path('x').write_text('')",
        "fs.rmSync('x')",
        "File.write('x', 1)",
        "unlink 'x'",
        "open(F, '>x')",
        "file_put_contents('x', 1)",
        "exec(s)",
        "eval s",
        "getattr(o, 'f')",
        "base64.b64decode(s)",
        "shutil.copy('y', 'x')",
        "os.system('x')",
        "p.rename(q)",
        "`x`",
    ],
)
def test_code_that_may_write(text: str) -> None:
    assert code.judge(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "print(open('x').read())",
        "open('x', 'r')",
        "open('x', encoding='utf-8')",
        "Path('x').read_text()",
        "print('rm x')",
        "fs.readFileSync('x', 'utf8')",
        "File.read('x')",
        "open(my $f, '<', 'x'); print <$f>",
        "file_get_contents('x')",
        "sys.stdout.write(s)",
        "re.compile('x')",
        "s.replace('a', 'b')",
        "x > 1 and y",
        "os.path.exists('x')",
        "console.log(1)",
    ],
)
def test_code_that_only_reads(text: str) -> None:
    assert code.judge(text) is None


def test_what_is_read_is_not_named_beside_what_is_written() -> None:
    assert named(python("open('out', 'w').write(open('src/a.py').read())"), "src/a.py") == []
    assert named(python("p = 'src/a.py'; t = open(p).read(); open(p, 'w').write(t)"), "src/a.py") == ["src/a.py"]
    assert named(python("import shutil; shutil.copy('src/a.py', 'b.py')"), "src/a.py") == []
    assert named(python("import shutil; shutil.copy('b.py', 'src/a.py')"), "src/a.py") == ["src/a.py"]


def test_links_on_the_disk_are_followed() -> None:
    reading = writes(python("open('link/a.py', 'w')"), ROOT)
    found = mentions.named(reading, ["src/a.py"], ROOT, real=lambda path: path.replace("/link/", "/src/"))
    assert [each.path for each in found] == ["/w/src/a.py"]
