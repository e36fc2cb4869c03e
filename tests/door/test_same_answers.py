"""The same commands in two homes, one with a daemon and one without: stdout, stderr and exit codes are equal.

Ids and times differ from one run to the next, so each is replaced: an id by the order in which it was first seen.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from rookery import door
from rookery.front.cli.call import Call, Reply
from rookery.front.cli.router import COMMANDS
from rookery.runtime import places
from tests.support.doors import environment, running
from tests.support.fastdoor import ask, whole
from tests.support.stores import prepared_home


class Step(NamedTuple):
    line: str
    stdin: bytes = b""
    saved: str = ""  # the id in its answer, for later steps: `{name}`
    environ: Mapping[str, str] = MappingProxyType({})
    width: int = 100
    terminal: bool = False


ADA, BOB = "--as ada", "--as bob"
STEPS = (
    # the mesh
    Step("join ada --json"), Step("join bob"), Step("join ada"), Step("join user"), Step("join no/pe/x"), Step("who"),
    Step("who --json"), Step("who", terminal=True), Step("who", width=40), Step("whois ada"), Step("whois nobody"),
    Step(f"{ADA} status busy --json"), Step(f"{ADA} status"), Step("status"), Step("join carl --auto"),
    Step("join carl", environ={"ROOK_AGENT": "dora"}), Step("join dora"), Step("--as dora rename dana"),
    Step("--as dora inbox"), Step("--as dana leave"), Step("--as dana leave --json"),
    # mail
    Step(f"{ADA} send bob -s hello -m - --json", b"a body\nof two lines \xc3\xa9\n", "first"),
    Step(f"{ADA} send bob -s hello -m -", b"no \xff text"), Step(f"{ADA} send bob -s empty -m -"),
    Step(f"{ADA} send bob user -s both -p urgent --tag a --payload " + '{"n":1} --json', saved="second"),
    Step(f"{ADA} send nobody -s x"), Step(f"{ADA} send nobody -s x --json"), Step("send"), Step("send bob"),
    Step(f"{ADA} send bob -s x --payload [1]"), Step(f"{ADA} send bob -s x --attach nowhere.txt"),
    Step(f"{ADA} send bob -s x --expires yesterday"), Step(f"{BOB} inbox"), Step(f"{BOB} inbox --json"),
    Step(f"{BOB} inbox", terminal=True, width=70), Step(f"{BOB} inbox -n 0"), Step("inbox"), Step("--as nobody inbox"),
    Step("inbox", environ={"ROOK_AGENT": ""}),
    Step(f"{BOB} inbox --json", environ={"ROOK_MAIL_INBOX_LIMIT": "1"}), Step("inbox", environ={"ROOK_AGENT": "bob"}),
    Step(f"{BOB} inbox", environ={"ROOK_MAIL_INBX_LIMIT": "1"}), Step(f"{BOB} read {{first}}"),
    Step(f"{BOB} read {{second}} --json"), Step("read MSG-nothing"), Step(f"{BOB} reply {{first}} -m - --json", b"yes"),
    Step(f"{BOB} ack {{first}} {{second}}"), Step(f"{BOB} ack {{first}} --json"), Step("thread {first}"),
    Step("thread {first} --json"), Step("receipts {first}"), Step("receipts {first} --json"),
    Step("wake bob"), Step("wake nobody"), Step("dead"), Step("dead list --all --json"), Step("dead show {first}"),
    Step("dead resend {first}"), Step("dead drop {first} --json"), Step("search hello"),
    Step("search hello --json"), Step("search nothing-like-it"), Step(f"{BOB} archive {{first}}"),
    Step(f"{ADA} broadcast -s all -m hands"), Step(f"{ADA} broadcast --group none -s all"),
    Step(f"{ADA} handoff bob -s yours --done design --json"), Step(f"{ADA} escalate stuck -m help"),
    Step("kinds"), Step("kinds --json"), Step("kinds show scout"), Step("kinds show nothing"), Step("kinds drop scout"),
    Step("config set nothing off"),
    Step("lenses"), Step("lenses --json"), Step("escalate --list"), Step("escalate --list --json"), Step("escalate"),
    # tasks and plans
    Step("task add Parse -m - -p high --file src/io/ --json", b"all of it", "task"),
    Step("task add Write --dep {task}"),
    Step("task list"), Step("task list --json"), Step("task show {task}"), Step("task show nothing"), Step("task"),
    Step(f"{ADA} task claim {{task}} --json"), Step(f"{BOB} task claim {{task}}"), Step(f"{ADA} task renew {{task}}"),
    Step(f"{ADA} task progress {{task}} -m half"), Step(f"{ADA} task release {{task}} -m later"),
    Step("task assign {task} bob"), Step(f"{ADA} task claim {{task}} --json"), Step(f"{BOB} task claim --next"),
    Step(f"{BOB} task block {{task}} -m -", b"no key"), Step("task unblock {task}"), Step(f"{BOB} task claim {{task}}"),
    Step(f"{BOB} task fail {{task}} -m broken"), Step("task reset {task}"), Step(f"{BOB} task claim {{task}}"),
    Step(f"{BOB} task done {{task}} -m green --commit abc --json"), Step(f"{ADA} task review {{task}} SHIP -m fine"),
    Step("task add Other --json", saved="other"), Step("task revise {other} --title Another"),
    Step("task split {other} one two"), Step("task cancel {other} -m no"), Step("task delete {other}"),
    Step(f"{ADA} task claim T-1 --spec docs/spec.md"), Step("task claims"), Step("task claims --json"),
    Step("plan new Ship --json", saved="plan"), Step("plan list"), Step("plan show {plan}"), Step("plan graph {plan}"),
    Step("plan cancel {plan}"), Step("plan nothing"),
    # discussions, paths, shared outputs
    Step(f"{ADA} thread new Talk --with bob -m hi --json", saved="talk"), Step("thread list"),
    Step(f"{BOB} thread post {{talk}} -m -", b"more of it"), Step("thread tail {talk}"),
    Step("thread tail {talk} --json"), Step("thread search more"), Step("thread link {talk} {task}"),
    Step("thread tail nothing"),
    Step("can-commit --json", stdin=b"docs/b c.md\0"), Step("can-commit --json", stdin=b"src/io/x.py\0"),
    Step(f"{ADA} can-write src/io/x.py ./a/../b"), Step(f"{ADA} can-write ../outside --json"), Step("artifacts"),
    Step("artifacts show nothing"), Step("artifacts --json"), Step("show e9"), Step("show e9 --json"), Step("pin e9"),
    Step("unpin e9 --json"),
    Step("bundle candidates"), Step("bundle list"), Step("bundle list --all --json"), Step("bundle show bundle-0001"),
    Step(f"{ADA} bundle load bundle-0001"), Step(f"{ADA} bundle unload bundle-0001"),
    Step("bundle consume bundle-0001"), Step("bundle delete bundle-0001"), Step(f"{ADA} load w99"),
    Step(f"{ADA} unload w99"),
    Step(f"{ADA} loaded"), Step(f"{ADA} loaded --json"), Step(f"{ADA} expand bundle-0001#1"),
    Step(f"{ADA} show bundle-0001#1"),
    # what a person judges
    Step("docket"), Step("docket --all --json"), Step("docket w99"), Step("docket pin w99/1"),
    Step("deliverables"), Step("deliverables w99 --json"), Step("conflicts"),
    Step("conflicts change-0009"), Step("rule add docs --path docs/** --checks green"), Step("rule list"),
    Step("rule list --json"), Step("rule remove docs"), Step("rule remove docs --json"),
    # what workers made
    Step("changes"), Step("changes --json"), Step("changes show change-0009"), Step("land list"),
    Step("land list --json"),
    Step("land list --state none"), Step("land add change-0009"), Step("land retry land-0009"),
    Step(f"{ADA} land undo land-0009"), Step("land undo land-0009"), Step("land drop land-0009 -m no"),
    # workers, and what they say
    Step("workers"), Step("workers --json"), Step("worker show w9"), Step("tell w9 hello"), Step("stop w9"),
    Step("respawn w9"), Step("delete w9"), Step("kinds"), Step("kinds show scout"), Step("kinds drop scout"),
    Step("crew list"), Step("crew status"), Step("crew scale 3"), Step("crew stop"),
    Step("questions"), Step("questions --json"), Step("questions show q-9"), Step("answer q-9 yes --json"),
    Step(f"{ADA} ask which"), Step(f"{ADA} done -m green"), Step(f"{ADA} fail -m -", b"it does not work"),
    Step(f"{ADA} progress doing:it --json"), Step("answer q-9 --approve --option 1"),
    # files and slots
    Step(f"{ADA} reserve src/io/ docs/*.md -m writing"), Step(f"{ADA} reserve src/io/ --json"),
    Step(f"{BOB} reserve src/io/x.py"), Step(f"{BOB} reserve src/io/x.py --json"), Step(f"{BOB} can-write src/io/x.py"),
    Step(f"{BOB} can-write docs/a.md src/io/x.py --json"), Step("reserve"), Step(f"{ADA} reserve ../outside"),
    Step(f"{ADA} reserve a --ttl 0"), Step(f"{ADA} reserve a --ttl soon"), Step("reservations"),
    Step("reservations --json"), Step("reservations src/io/x.py --agent ada"), Step("reservations -n 0"),
    Step(f"{ADA} transfer bob src/io/ --done half --json"), Step(f"{ADA} transfer bob src/io/"),
    Step(f"{BOB} release src/io/"), Step(f"{BOB} release src/io/ --json"), Step(f"{ADA} release --all"),
    Step(f"{ADA} release docs/ --force"), Step("release docs/ --force"), Step(f"{ADA} release"),
    Step("slot list"), Step("slot set build 2"), Step(f"{ADA} slot set build 9"), Step("slot set build -- -1"),
    Step("slot list build --json"), Step("slot list", terminal=True), Step(f"{ADA} slot give build"),
    Step("slot give no!pe --json"),
    # hooks of agent programs
    Step(f"{ADA} hook claude", b'{"hook_event_name": "SessionStart"}'), Step("hook claude before", b"no json"),
    Step(f"{BOB} send ada -s late"), Step(f"{ADA} hook claude", b'{"hook_event_name": "Stop"}'),
    Step("hook nobody", b"{}"), Step("hook claude never"),
    # the team, its tokens and its budget
    Step("team show"), Step("team show --json"), Step("token list"), Step("token new"),
    Step("token new --agent no/pe/x"),
    Step("token revoke token-0009"), Step("token list --json"), Step("budget"), Step("budget", terminal=True),
    Step("budget set --max-tokens 1000 --json"), Step("budget set --max-tokens few"),
    Step(f"{ADA} budget report -i 900 -o 50 --json"), Step(f"{ADA} budget report -i 100"), Step("budget --json"),
    Step(f"{ADA} send bob -s over"), Step("budget set --unset maxTokens"),
    # the log, and the rest
    Step("feed"), Step("feed -n 3 --json"), Step("feed --type comit"), Step("events --json"), Step("events -n 2"),
    Step("stats"), Step("stats --json"), Step("config"), Step("config mail"),
    Step("config mail.stuk"), Step("config mesh --json", environ={"ROOK_MESH_IDLE_S": "42"}), Step(""), Step("help"),
    Step("help send"), Step("send --help"), Step("send --help", width=50), Step("--version"), Step("sned"),
    Step("help sned"), Step("--team"), Step("--team no/team who"), Step("--team other who --json"),
    Step("inbox --nope"),
    Step("who", environ={"ROOK_TEAM": ""}),
)  # fmt: skip


class Side:
    """A home of its own, and how commands are run there."""

    def __init__(self, folder: Path, through_door: bool) -> None:
        self._folder = folder
        prepared_home(environment(folder)["ROOK_HOME"])
        self._through_door = through_door
        self._team = places.find(cwd=str(folder), environ={"HOME": str(folder)}).team
        self._known: dict[str, str] = {}
        self._seen: dict[str, str] = {}

    def take(self, step: Step) -> tuple[int, str, str]:
        argv = [word.format(**self._known) if not word.startswith(('{"', "[")) else word for word in step.line.split()]
        environ = {**environment(self._folder), "ROOK_TEAM": "crew", "ROOK_AGENT": "user", **dict(step.environ)}
        reply = self._asked(argv, environ, step) if self._through_door else self._run(argv, environ, step)
        if step.saved:
            self._known[step.saved] = json.loads(reply.out)["id"]
        return reply.code, self._plain(reply.out), self._plain(reply.err)

    def _asked(self, argv: list[str], environ: dict[str, str], step: Step) -> Reply:
        reply = ask(environ, self._folder, *argv, stdin=lambda: step.stdin, width=step.width, terminal=step.terminal)
        assert reply is not None, "it did not go through the door"
        return reply

    def _run(self, argv: list[str], environ: dict[str, str], step: Step) -> Reply:
        def stdin() -> str:
            return step.stdin.decode("utf-8", "surrogateescape")

        call = Call(argv, str(self._folder), environ, stdin, _no_stream, step.width, step.terminal, os.getpid())
        return whole(call)

    def _plain(self, text: str) -> str:
        text = text.replace(str(self._folder), "@").replace(self._team, "<team>")
        text = re.sub(r"\b([A-Za-z]+)-(?=[0-9a-z]*\d)[0-9a-z]{12}\b", self._number, text)
        text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z", "<time>", text)
        text = re.sub(r"\d\d-\d\d \d\d:\d\dZ|\d\d:\d\d(:\d\d)?Z|\d\d:\d\d:\d\d", "<time>", text)
        return re.sub(r'(_ago_s": )\d+', r"\1<seconds>", text)

    def _number(self, found: "re.Match[str]") -> str:
        return self._seen.setdefault(found[0], f"{found[1]}-{len(self._seen)}")


def _no_stream(_text: str) -> None:
    raise AssertionError("nothing here follows")


@pytest.fixture
def answers(tmp_path: Path) -> list[tuple[Any, Any]]:
    """What both sides said, step by step."""
    (tmp_path / "b").mkdir()
    with running(tmp_path / "a"):
        sides = Side(tmp_path / "a", True), Side(tmp_path / "b", False)
        return [(sides[0].take(step), sides[1].take(step)) for step in STEPS]


@pytest.mark.slow
def test_every_answer_is_the_same(answers: list[tuple[Any, Any]]):
    compared = list(zip(STEPS, answers, strict=True))
    assert [(step.line, through, alone) for step, (through, alone) in compared if through != alone] == []
    assert [step.line for step, (through, _) in compared if not any(through[1:])] == ["join carl --auto"]
    # The replacement of ids and times leaves something to compare, and not only refusals.
    said = [through for through, _ in answers]
    assert len({json.dumps(one) for one in said}) > len(said) * 0.8
    codes = [code for code, *_ in said]
    assert {0, 1, 2} <= set(codes)
    assert codes.count(0) > len(codes) // 2


@pytest.mark.slow
def test_every_command_that_may_go_through_is_among_them():
    """So that a command added later is compared too, or named as one that runs alone."""
    tried = {" ".join(door._command(step.line.split())[:length]) for step in STEPS for length in (1, 2)}
    assert {command.name for command in COMMANDS if not door.runs_alone(command.name.split())} <= tried
