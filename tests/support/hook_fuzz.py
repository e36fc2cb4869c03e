"""Hook events made by chance: valid ones whose commands are mutated, and what is hardly an event; and what must be
answered to each by a hook that was installed with --closed.

An event is a function of its seed and its number, so every failure can be repeated: `Fuzz(...).check(number)`.
"""

import json
import random
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rookery import app
from rookery.core.record import NamedTuple
from rookery.front.cli import call as calling
from rookery.front.cli import router
from rookery.front.cli.call import Call, Reply
from rookery.front.hook import answering, asking, guard, targets
from rookery.hosts import known, profile
from rookery.runtime import resolve, shell
from tests.support import hooking
from tests.support.hooking import BEFORE, SHELLS, Asker, decision
from tests.support.stores import prepared_home

SEED = 13
HELD = ("src/a.py", "lib/", "docs/*.md")
PLAIN = (
    "rm src/a.py", "echo x > src/a.py", "echo x >> ./src/a.py", "sed -i s/a/b/ src/a.py", "tee src/a.py < free.txt",
    "cp free.txt lib/new.py", "mv lib/a.py free.txt", "cd src && rm a.py", "touch lib/x", "rm -rf lib",
    "rm -f -- src/a.py",
    "git checkout -- src/a.py", "truncate -s 0 src/a.py", "printf x >> docs/a.md", "rm docs/*.md", "rm {root}/src/a.py",
    "cat free.txt | tee -a src/a.py", "(cd src; : > a.py)", "bash -c 'rm src/a.py'", "install free.txt lib/y",
    "dd if=/dev/zero of=src/a.py", "rmdir lib/sub", "ln -sf free.txt src/a.py", "unlink src/a.py", "mkdir lib/deep",
    "git -C {root} rm src/a.py", "sudo rm src/a.py", "find lib -delete", "> src/a.py", "cp -r docs lib",
)  # fmt: skip
ODD = ("\ud800", "\udcff", "\u202e", "\x07", "é", "\U0001f426", "\u2028", "%s", "$(true)", "`true`", "~", "\t")
SIGNS = ("'", '"', "(", ")", "{", "<<E", "\\", "|", ";", "\0", "*" * 30, "$((", "[[")
EXTRA_FIELDS = ("permission_mode", "timestamp", "x", "teamId")
VALUES: tuple[Any, ...] = (None, True, 0, -1, 1e308, "", "\0", "\ud800", [], {}, [None], ["a", 1], {"a": {}},
                           "x" * 3000,
                           [[[[]]]], {"command": "ls"}, 10**30)  # fmt: skip


class Given(NamedTuple):
    host: str
    words: tuple[str, ...]  # of the command line, besides the host
    stdin: str
    must_deny: bool
    breaks: str = ""  # where an error is injected


# -- commands that still write what they wrote -------------------------------------------------------------------------


def _comment(command: str, chance: random.Random) -> str:
    return f"{command} # {_junk(chance, 40)}"


def _more(command: str, chance: random.Random) -> str:
    other = chance.choice(["true", "ls -la", "echo done", "cat free.txt", "grep -rn x src", "git status", "make", "x=1",
                           f"echo '{_junk(chance, 20, plain=True)}'", ": > /proc/1/cwd/x", "echo > 'free\ud800'",
                           "echo > '" + "d/" * 60 + "x'", "python -c 'print(1)'", "rm 'free/\udcff'"])  # fmt: skip
    return chance.choice([f"{command}; {other}", f"{other}; {command}", f"{command}\n{other}", f"{command} && {other}",
                          f"{other} || true; {command}", f"{other}\n\n{command}"])  # fmt: skip


def _wrap(command: str, chance: random.Random) -> str:
    form = chance.choice(["( {} )", "{{ {}; }}", "if true; then {}; fi", "for i in 1 2; do {}; done", "{} & wait",
                          "  {}  ",
                          "while true; do {}; break; done", "time {}", "A=1 && {}", "set -e; {}", "true && {}",
                          "f() {{ {}; }}; f", "\n\n{}\n"])  # fmt: skip
    if form == "time {}" and command.startswith(("(", "{", "if", "for", "while", "f()", " ", "\n", "#")):
        return command
    return form.format(command.rstrip())


def _padded(command: str, chance: random.Random) -> str:
    pad = "\n".join(["true"] * chance.randrange(1, 25))
    return chance.choice([f"{command}\n{pad}", f"{pad}\n{command}", command + " " * chance.randrange(2000)])


INTACT: tuple[Callable[[str, random.Random], str], ...] = (_more, _more, _wrap, _padded)


def intact(chance: random.Random, root: str) -> str:
    command = chance.choice(PLAIN).replace("{root}", root)
    for _ in range(chance.randrange(1, 4)):
        command = chance.choice(INTACT)(command, chance)
    return _comment(command, chance) if chance.random() < 0.2 else command


def _junk(chance: random.Random, most: int, *, plain: bool = False) -> str:
    made = "".join(chance.choice((*ODD, "a", " ", "rm", "$", "{")) for _ in range(chance.randrange(most)))
    return "".join(char for char in made if char not in ("'\n" if plain else "\n"))


def mangled(command: str, chance: random.Random) -> str:
    """Anything may have become of it."""
    chars = list(command)
    for _ in range(chance.randrange(1, 12)):
        at = chance.randrange(len(chars) + 1)
        way = chance.randrange(4)
        if way == 0 and chars:
            del chars[at : at + chance.randrange(1, 4)]
        elif way == 1:
            chars[at:at] = chance.choice((*ODD, *SIGNS))
        elif way == 2:
            chars[at:at] = chars[: chance.randrange(len(chars) + 1)]
        else:
            chars[at:at] = list(chr(chance.randrange(0x11000)))
    return "".join(chars)[:20_000]


# -- events ------------------------------------------------------------------------------------------------------------


def _valid(chance: random.Random, root: str) -> tuple[str, dict[str, Any], bool]:
    """(host, event, whether it must be denied)."""
    host = chance.choice(tuple(BEFORE))
    way = chance.random()
    if way < 0.15:
        path = chance.choice(("src/a.py", f"{root}/src/a.py", "src/../src/a.py", "./lib/x", "docs/new.md"))
        given, denied = hooking.edit(host, path, root), True
    elif way < 0.6:
        given, denied = hooking.shell(host, intact(chance, root), root), True
    else:
        given, denied = hooking.shell(host, mangled(intact(chance, root), chance), root), False
    if chance.random() < 0.3:
        given = {**given, chance.choice(EXTRA_FIELDS): chance.choice(VALUES)}
        given = dict(sorted(given.items(), key=lambda _item: chance.random()))
    return host, given, denied


def _spoilt(chance: random.Random, root: str) -> tuple[str, str, bool]:
    """(host, standard input, whether it must be denied): an event with anything in the place of anything, or less."""
    host, given, _ = _valid(chance, root)
    at = known.find(host).fields
    for _ in range(chance.randrange(1, 4)):
        field = chance.choice((at.event, at.session, at.cwd, at.tool, at.input, at.call, at.transcript, "x"))
        value = chance.choice(VALUES)
        if chance.random() < 0.3 and isinstance(given.get(at.input), dict):
            given = {**given, at.input: {**given[at.input], chance.choice(tuple(given[at.input]) or ("x",)): value}}
        elif chance.random() < 0.2:
            given = {name: kept for name, kept in given.items() if name != field}
        else:
            given = {**given, field: value}
    text = json.dumps(given)
    way = chance.random()
    if way < 0.15:
        text = text[: chance.randrange(len(text))]
    elif way < 0.25:
        text = mangled(text[:400], chance)
    elif way < 0.3:
        text = chance.choice(("[", '{"a":')) * chance.randrange(1, 5000)
    elif way < 0.35:
        text = json.dumps(chance.choice(VALUES))
    return host, text, is_no_event(host, text)


def is_no_event(host: str, text: str) -> bool:
    """Is something missing that a decision hangs on? Then a closed hook refuses."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return True
    at = known.find(host).fields
    if not isinstance(given, dict) or not isinstance(given.get(at.tool), str) or not given[at.tool]:
        return True
    if not isinstance(given.get(at.cwd, ""), str) and given.get(at.cwd) is not None:
        return True
    if given[at.tool] != SHELLS[host]:
        return False
    put = given.get(at.input)
    command = put.get("command") if isinstance(put, dict) else None
    words = command if isinstance(command, list) else [command]
    return not all(isinstance(word, str) for word in words)


PLACES: dict[str, tuple[Any, str]] = {
    "reading": (shell, "writes"), "event": (profile, "read"), "resolving": (resolve, "absolute"),
    "asking": (asking, "can_write"), "verb": (calling.Desk, "verb"), "caller": (calling.Desk, "caller"),
    "judging": (guard, "judged"), "spelling": (targets, "spelled_in"), "placing": (answering, "placed"),
    "moment": (answering, "at"), "answer": (profile, "write"), "input": (answering, "parsed"),
}  # fmt: skip
ERRORS: tuple[Callable[[], Exception], ...] = (
    lambda: PermissionError(13, "Permission denied"), RecursionError, MemoryError, lambda: ZeroDivisionError("defect"),
    lambda: UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no"), lambda: OSError(5, "Input/output error"), KeyError,
)  # fmt: skip


class FailedOpen(AssertionError):
    pass


class Fuzz:
    """A project with a holder and an asker; hooks are answered in this process, on a ledger that stays open."""

    def __init__(self, above: Path, seed: int = SEED) -> None:
        self.seed = seed
        self.root = above / "project"
        for folder in ("src", "lib", "docs", "free"):
            (self.root / folder).mkdir(parents=True)
            (self.root / folder / "a.py").write_text("a = 1\n")
        (self.root / "rookery.toml").touch()
        self.environ = {"HOME": str(above), "ROOK_HOME": prepared_home(above / "home"), "ROOK_TEAM": "crew"}
        asker = Asker(self.root, self.environ)
        for name in ("holder", "asker"):
            asker.ok("join", name)
        asker.ok("--as", "holder", "reserve", *HELD, "--ttl", "24h")
        house = app.open_house(cwd=str(self.root), environ=self.environ)
        self._queue = app.open_queue(house)
        self._open = app.open_guests(house, self._queue)

    def close(self) -> None:
        self._queue.close()

    def given(self, number: int) -> Given:
        chance = random.Random(f"{self.seed}:{number}")
        if number % 2:
            host, event, denied = _valid(chance, str(self.root))
            text = json.dumps(event)
        else:
            host, text, denied = _spoilt(chance, str(self.root))
        words = () if chance.random() < 0.1 and host not in ("copilot",) and number % 2 else ("before",)
        breaks = chance.choice(tuple(PLACES)) if chance.random() < 0.1 else ""
        return Given(host, (*words, "--closed"), text, denied, breaks)

    def ask(self, given: Given) -> Reply:
        words = ["--as", "asker", "hook", given.host, *given.words]
        # A ledger that is written for every command that does not tell would be measured here, not the decision.
        environ = {**self.environ, "ROOK_GUARD_OPAQUE": "check" if len(given.stdin) % 32 == 0 else "allow"}
        call = Call(words, str(self.root), environ, lambda: given.stdin, print, peer=0, open_house=self._open)
        return router.run(call)

    def check(self, number: int) -> str:
        """Raises FailedOpen if this event is let through though it must not be, or is not answered at all."""
        given = self.given(number)
        with broken(given.breaks, number) as reached:
            try:
                reply = self.ask(given)
                found = decision(reply)
            except Exception as error:
                raise FailedOpen(self._told(number, given, f"{type(error).__name__}: {error!a}")) from error
        if "Traceback" in reply.err or reply.code not in (0, 2):
            raise FailedOpen(self._told(number, given, f"exit code {reply.code}: {reply.err[:300]!a}"))
        if (given.must_deny or reached) and found != "deny":
            raise FailedOpen(self._told(number, given, f"it was answered {found!r}"))
        return found

    def _told(self, number: int, given: Given, why: str) -> str:
        return (
            f"seed {self.seed}, event {number}: {why}\n{given.host} {given.words} {given.breaks} {given.stdin[:1500]!a}"
        )


@contextmanager
def broken(place: str, number: int) -> Generator[list[int]]:
    """The function there raises; whether it was reached is in the list."""
    reached: list[int] = []
    if not place:
        yield reached
        return
    where, name = PLACES[place]
    made = ERRORS[number % len(ERRORS)]

    def raising(*_args: Any, **_more: Any) -> Any:
        reached.append(number)
        raise made()

    before = getattr(where, name)
    setattr(where, name, raising)
    try:
        yield reached
    finally:
        setattr(where, name, before)
