"""H42: an agent decides nothing for the user, in whatever way it asks; the user does, from a terminal of their own."""

import json
import os
import pty
import pwd
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rookery import app
from rookery.core import authority
from rookery.core.caller import Caller, Origin
from rookery.runtime import agent_mark, process
from rookery.service.verbs import TABLE
from tests.support import attacks
from tests.support.doors import running
from tests.support.procs import ROOT
from tests.support.supervised import Site, site

TEAM = "crew"

# A command for every deciding verb. What fails for another reason has passed the rule that is tested here.
COMMANDS: dict[str, list[str]] = {
    "kind.add": ["kinds", "add", "kind.md"], "kind.drop": ["kinds", "drop", "nothing"],
    "rule.add": ["rule", "add", "mine", "--path", "**", "--checks", "green", "--risk", "high"],
    "rule.remove": ["rule", "remove", "nothing"], "land.add": ["land", "add", "change-0001"],
    "land.retry": ["land", "retry", "land-0001"], "land.undo": ["land", "undo", "land-0001"],
    "land.drop": ["land", "drop", "land-0001"], "team.set": ["team", "set", "--leader", "leader"],
    "token.new": ["token", "new", "--role", "operator"], "token.revoke": ["token", "revoke", "token-9999"],
    "config.set": ["config", "set", "authority.terminal", "off"], "budget.set": ["budget", "set", "--max-tokens", "5"],
    "trust.accept": ["trust", "--yes"], "trust.revoke": ["trust", "--revoke"],
    "import_mail": ["import", "mailboxes", "box"], "export_mail": ["export", "mailboxes", "out"],
    "store.backup": ["backup", "copy.db"], "daemon.stop": ["down"],
    "worker.attach": ["attach", "w1"],
}  # fmt: skip
FORCED = [["release", "--force", "src/a.py"]]  # decides by an option
JUDGED = [["answer", "Q-0001", "--approve"], ["task", "review", "task-0001", "SHIP"], ["verdict", "w1/1", "promote"]]
LOOKS = ("export_mail", "store.backup", "daemon.stop", "worker.attach")  # these need no terminal
PASSED = {"", "EXISTS", "NOT_RUNNING",
          "UNKNOWN_KIND", "UNKNOWN_RULE", "UNKNOWN_CHANGE", "UNKNOWN_LANDING", "UNKNOWN_TOKEN", "NOT_HELD",
          "UNKNOWN_QUESTION", "UNKNOWN_TASK", "UNKNOWN_DELIVERABLE", "UNKNOWN_WORKER"}  # fmt: skip


def test_every_deciding_verb_has_a_command_here() -> None:
    assert sorted(COMMANDS) == sorted(verb.name for verb in TABLE if verb.who == authority.USER)


class Scene:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "kind.md").write_text("---\nname: fixer\ndescription: Fix things\n---\nFix it.\n")
        (folder / "box").mkdir()
        (folder / "rookery.toml").write_text("land.auto = true\n")  # what `rook trust` is asked about
        self.environ = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "ROOK_HOME": str(folder / "rook"), "ROOK_TEAM": TEAM,
            "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))), "LANG": "C.UTF-8",
        }  # fmt: skip
        with self.house() as house:
            house.client.call("join", {"name": "leader"}, house.caller())

    def house(self) -> "Opened":
        return Opened(self)

    def calls(self, name: str, commands: list[list[str]]) -> str:
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(commands))
        return str(path)

    def run(self, words: list[str]) -> None:
        subprocess.run([*attacks.ME, *words], cwd=self.folder, env=self.environ, check=True, stdin=subprocess.DEVNULL)

    def facts(self) -> tuple[Any, ...]:
        """What only the user changes."""
        with self.house() as house:
            ask: Callable[..., Any] = lambda verb, **args: house.client.call(verb, args, house.caller())  # noqa: E731
            tokens = [each["id"] for each in ask("token.list")["tokens"]]
            team = ask("team.show")
            return (ask("rule.list")["rules"], tokens, team["leader"], team["budget"]["maxTokens"],
                    [each["name"] for each in ask("kinds")["kinds"] if each["layer"] == "registered"])  # fmt: skip

    def refusals(self) -> list[dict[str, Any]]:
        with self.house() as house:
            found = house.client.call("events", {"limit": 10_000}, house.caller())["events"]
        return [each for each in found if each["type"] == "authority.refused"]


class Opened:
    def __init__(self, scene: Scene) -> None:
        self.house = app.open_house(cwd=str(scene.folder), environ=scene.environ, team=TEAM)

    def __enter__(self) -> app.House:
        return self.house

    def __exit__(self, *_: object) -> None:
        self.house.close()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    folder = tmp_path / "scene"
    folder.mkdir()
    return Scene(folder)


def as_user(commands: list[list[str]]) -> list[list[str]]:
    return [["--as", "user", *each] for each in commands]


WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "as": {"named": True},
    "variable": {"environ": {"ROOK_AGENT": "user"}},
    "settings": {"environ": {"ROOK_LAND_AUTO": "true", "ROOK_LEADER": "mallory", "ROOK_AGENT": "user"}},
    "sh": {"before": ["sh", "-c", '"$@"', "sh"], "named": True},
    "setsid": {"before": ["setsid", "-w"], "named": True},
    "nohup": {"before": ["nohup"], "named": True},
    "forks": {"forks": True, "named": True},
    "bare": {"before": ["env", "-i"], "bare": True, "named": True},
    "terminal": {"whole": ["script", "-qec", "__COMMAND__", "/dev/null"], "named": True},
    "detached": {"forks": True, "bare": True, "named": True},
    "own-terminal": {
        "whole": ["script", "-qec", "__COMMAND__", "/dev/null"],
        "forks": True,
        "bare": True,
        "named": True,
    },
}


def way(scene: Scene, name: str, commands: list[list[str]]) -> dict[str, Any]:
    how = dict(WAYS[name])
    how["calls"] = scene.calls(name, as_user(commands) if how.pop("named", False) else commands)
    if how.get("bare"):
        how["environ"] = scene.environ
        if how.get("before") == ["env", "-i"]:
            how["before"] = ["env", "-i", *(f"{key}={value}" for key, value in scene.environ.items())]
    if "whole" in how:
        out = str(scene.folder / f"{name}.out")
        inner = " ".join([*attacks.ME, "attack", how["calls"], out])
        how["whole"] = [inner if each == "__COMMAND__" else each for each in how["whole"]]
    return how


@pytest.mark.slow
def test_h42_no_way_from_inside_an_agent_program_decides(scene: Scene) -> None:
    before = scene.facts()
    commands = [*COMMANDS.values(), *FORCED, *JUDGED]
    plan = {name: way(scene, name, commands) for name in WAYS}
    (scene.folder / "plan.json").write_text(json.dumps(plan))
    scene.run(["program", "mallory", str(scene.folder / "plan.json")])
    let_through: list[Any] = []
    for name in WAYS:
        told = json.loads((scene.folder / f"{name}.out").read_text())
        assert len(told) == len(commands), name
        mine = JUDGED if name == "plain" else []  # as itself it may judge what it is asked
        mine = [*mine, *as_user([COMMANDS[each] for each in LOOKS])] if WAYS[name].get("forks") else mine
        let_through += [
            (name, argv, said)
            for argv, code, said in told
            if argv not in mine and not (code == 1 and said in ("NOT_YOURS", "NO_TERMINAL"))
        ]
    assert not let_through, "\n".join(map(str, let_through))
    assert scene.facts() == before, "something was decided"
    told = scene.refusals()
    assert {each["ref"] for each in told} >= set(COMMANDS) - {"export_mail", "import_mail"}
    assert {each["actor"] for each in told} >= {"mallory"}, "the record names the agent that tried"
    assert all(each["caller"].get("pid") for each in told)


@pytest.mark.slow
def test_h42_a_second_name_is_refused_and_does_not_review(scene: Scene) -> None:
    with scene.house() as house:
        house.client.call("task.add", {"title": "work", "review": True}, house.caller("leader"))
    commands = [
        ["task", "claim", "task-0001"], ["task", "done", "task-0001", "-m", "did it"], ["join", "second"],
        ["--as", "second", "task", "review", "task-0001", "SHIP"], ["leave"], ["join", "third"],
        ["task", "review", "task-0001", "SHIP"], ["--as", "leader", "task", "review", "task-0001", "SHIP"],
    ]  # fmt: skip
    plan = {"second": {"calls": scene.calls("second", commands), "before": ["sh", "-c", '"$@"', "sh"]}}
    (scene.folder / "plan.json").write_text(json.dumps(plan))
    scene.run(["program", "mallory", str(scene.folder / "plan.json")])
    told = json.loads((scene.folder / "second.out").read_text())
    assert [code for _, code, _ in told[:2]] == [0, 0], told
    assert [said for _, _, said in told[2:]] == ["NOT_YOURS", "NOT_YOURS", "", "NOT_YOURS", "OWN_WORK", "NOT_YOURS"]
    with scene.house() as house:
        assert house.client.call("task.show", {"id": "task-0001"}, house.caller())["review"] == "pending"


ARGUMENTS: dict[str, dict[str, Any]] = {
    "kind.add": {"written": "x"}, "kind.drop": {"name": "x"}, "rule.add": {"name": "x"}, "rule.remove": {"name": "x"},
    "land.add": {"change": "x"}, "land.retry": {"id": "x"}, "land.undo": {"id": "x"}, "land.drop": {"id": "x"},
    "token.new": {"role": "operator"}, "token.revoke": {"id": "x"},
    "config.set": {"name": "authority.terminal", "value": "off"}, "trust.accept": {"accepted": {}},
    "import_mail": {"letters": []}, "budget.set": {"max_tokens": 5}, "team.set": {"leader": "leader"},
}  # fmt: skip


@pytest.mark.slow
def test_h42_neither_the_fast_path_nor_python_nor_a_models_tools_decide(scene: Scene) -> None:
    before = scene.facts()
    verbs = [[verb.name, ARGUMENTS.get(verb.name, {})] for verb in TABLE if verb.who == authority.USER]
    calls = scene.folder / "verbs.json"
    calls.write_text(json.dumps(verbs))
    commands = [each for each in COMMANDS.values() if each[0] not in ("import", "export")]
    plan = {
        "shell": {"by": "shell", "calls": scene.calls("shell", as_user([*commands, *FORCED, *JUDGED]))},
        "plain-shell": {"by": "shell", "calls": scene.calls("plain-shell", [*commands, *FORCED])},
        "python": {"by": "python", "calls": str(calls)},
    }
    (scene.folder / "plan.json").write_text(json.dumps(plan))
    with running(scene.folder, ROOK_TEAM=TEAM) as daemon:
        scene.run(["program", "mallory", str(scene.folder / "plan.json")])
        counted = daemon.door.get("/metrics").body
    assert "rook_commands_total 0" not in counted, "nothing went through the fast path"
    for name in plan:
        told = json.loads((scene.folder / f"{name}.out").read_text())
        assert [each for each in told if each[2] not in ("NOT_YOURS", "NO_TERMINAL")] == [], name
    assert scene.facts() == before


def in_terminal(words: list[str], scene: Scene) -> None:
    """As the user does: a shell in a terminal of its own, which is no agent's."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(scene.folder)
        os.execvpe(words[0], words, scene.environ)
    while True:
        try:
            if not os.read(master, 4096):
                break
        except OSError:
            break
    os.waitpid(pid, 0)
    os.close(master)


def test_h42_the_same_calls_from_the_users_own_terminal_are_answered(scene: Scene) -> None:
    out = str(scene.folder / "terminal.out")
    commands = [*COMMANDS.values(), *FORCED, *JUDGED]
    in_terminal([*attacks.ME, "attack", scene.calls("mine", commands), out], scene)
    told = json.loads(Path(out).read_text())
    assert [each for each in told if each[2] not in PASSED] == []
    assert scene.facts()[0], "the rule stands"
    assert scene.refusals() == []


def test_h42_without_a_terminal_nobody_decides_and_an_operator_token_does(scene: Scene) -> None:
    commands = [*COMMANDS.values(), *FORCED, *JUDGED]
    out = scene.folder / "none.out"
    subprocess.run([*attacks.ME, "attack", scene.calls("none", commands), str(out)], cwd=scene.folder, check=True,
                   env=scene.environ, stdin=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
    reads = {json.dumps(COMMANDS[each]) for each in LOOKS}
    told = json.loads(out.read_text())
    assert [each for each in told if each[2] != "NO_TERMINAL" and json.dumps(each[0]) not in reads] == []
    made = scene.folder / "made.out"
    in_terminal(["sh", "-c", f"{sys.executable} -m rookery token new --role operator --json > {made}"], scene)
    scene.environ["ROOK_TOKEN"] = json.loads(made.read_text())["token"]
    subprocess.run([*attacks.ME, "attack", scene.calls("token", commands), str(out)], cwd=scene.folder, check=True,
                   env=scene.environ, stdin=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
    assert [each for each in json.loads(out.read_text()) if each[2] not in PASSED] == []


def test_h42_a_caller_that_only_says_so_decides_nothing(scene: Scene) -> None:
    """Python, without the interfaces: a name is no proof."""
    with scene.house() as house:
        for caller in (Caller(), Caller(agent="user"), house.caller("user"), Caller(agent="leader")):
            for verb in TABLE:
                if verb.who == authority.USER and verb.writes:
                    with pytest.raises(app.errors.NotYours) as caught:
                        house.client.call(verb.name, ARGUMENTS.get(verb.name, {}), caller)
                    assert caught.value.code in ("NOT_YOURS", "NO_TERMINAL"), verb.name


def test_h42_the_mark_of_an_agent_program_is_looked_at_for_every_process(scene: Scene) -> None:
    """No process above it, a terminal of its own: only the mark tells the user from a process that an agent left."""
    users = Origin(pid=4711, terminal=True)
    with scene.house() as house:
        for origin, is_refused in ((users, False), (users._replace(marked=True), True)):
            asked = house.caller("user", origin=origin)
            try:
                house.client.call("team.set", {"leader": "leader"}, asked)
                assert not is_refused
            except app.errors.NotYours:
                assert is_refused


def test_h42_a_process_whose_program_is_gone_takes_no_name_of_another(scene: Scene) -> None:
    """Below no program that is known, with a mark: it is nobody, under an old name or a new one."""
    orphan = Origin(pid=os.getpid(), terminal=True, marked=True)
    mine = process.identify(os.getpid())
    assert mine
    with scene.house() as house:
        asked = house.caller(None, origin=orphan, process=tuple(mine))
        for name, takeover in (("leader", False), ("leader", True), ("stranger", False)):
            with pytest.raises(app.errors.NotYours):
                house.client.call("join", {"name": name, "takeover": takeover}, asked)
        users = house.caller(None, origin=orphan._replace(marked=False), process=tuple(mine))
        assert house.client.call("join", {"name": "leader", "takeover": True}, users)["name"] == "leader"
    assert {each["ref"] for each in scene.refusals()} == {"join"}


# -- agent programs that are known by name -----------------------------------------------------------------------------

WRAPPED = {
    "timeout": ["timeout", "60"],
    "script": ["sh", "wrapper.sh"],
    "python": [sys.executable, "-c", "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"],
}


def known_program(scene: Scene, plan: dict[str, Any], first: list[str], name: str = "claude") -> None:
    """Runs a plan of attacks below a process that has the name of an agent program and calls `first` before."""
    (scene.folder / "plan.json").write_text(json.dumps(plan))
    (scene.folder / "wrapper.sh").write_text('"$@"\ntrue\n')
    scene.run(["known", name, str(scene.folder / "plan.json"), *first])


IN_TERMINAL = ("plain", "as", "terminal")


@pytest.mark.slow
@pytest.mark.parametrize("wrapper", WRAPPED)
@pytest.mark.parametrize("calls", [["hook", "claude", "start"], ["join", "mallory"]], ids=["hook", "join"])
def test_h42_a_program_behind_a_wrapper_is_not_the_user(scene: Scene, wrapper: str, calls: list[str]) -> None:
    """The hook or join that tells of a program is called by something in between, which is gone afterwards."""
    before, commands = scene.facts(), [*COMMANDS.values(), *FORCED]
    plan = {name: way(scene, name, commands) for name in IN_TERMINAL}
    known_program(scene, plan, [*WRAPPED[wrapper], sys.executable, "-m", "rookery", *calls])
    for name in plan:
        told = json.loads((scene.folder / f"{name}.out").read_text())
        assert [each for each in told if each[2] not in ("NOT_YOURS", "NO_TERMINAL", "WHO_ARE_YOU")] == [], name
    assert scene.facts() == before


@pytest.mark.slow
def test_h42_a_known_program_without_hooks_is_not_the_user(scene: Scene) -> None:
    before, commands = scene.facts(), [*COMMANDS.values(), *FORCED]
    known_program(scene, {name: way(scene, name, commands) for name in IN_TERMINAL}, ["true"])
    for name in IN_TERMINAL:
        told = json.loads((scene.folder / f"{name}.out").read_text())
        assert [each for each in told if each[2] not in ("NOT_YOURS", "NO_TERMINAL", "WHO_ARE_YOU")] == [], name
    assert scene.facts() == before
    assert scene.refusals(), "and it is recorded"


@pytest.mark.slow
def test_h42_the_control_a_program_that_nobody_knows_is_the_user_with_a_terminal(scene: Scene) -> None:
    plan = {"terminal": way(scene, "terminal", [*COMMANDS.values()])}
    known_program(scene, plan, ["true"], name="tool")
    told = json.loads((scene.folder / "terminal.out").read_text())
    assert any(each[2] in PASSED for each in told), "the tests above would have found it"


def test_h42_looking_at_the_hooks_leaves_the_shell_of_the_user_alone(scene: Scene) -> None:
    """`rook doctor` calls each hook as an agent program does, and a hook may be tried by hand."""
    subprocess.run(["git", "init", "-q"], cwd=scene.folder, check=True)
    rook = f"{sys.executable} -m rookery"
    said = scene.folder / "said.out"
    tried = f"{rook} init --yes --host claude; {rook} doctor; echo '{{}}' | {rook} hook claude start"
    lines = f"({tried}) >doctor.out 2>&1\n{rook} team set --leader leader --json > {said}\nexit\n"
    scene.environ |= {"PS1": "", "HOME": str(scene.folder.parent / "home")}
    subprocess.run(["script", "-qec", "bash --norc -i", "/dev/null"], input=lines, text=True, cwd=scene.folder,
                   env=scene.environ, check=False, stdout=subprocess.DEVNULL, timeout=120)  # fmt: skip
    assert "claude hook" in (scene.folder / "doctor.out").read_text()
    assert json.loads(said.read_text())["leader"] == "leader", said.read_text()


# -- from inside a worker's run ----------------------------------------------------------------------------------------

BACKENDS = ("headless", "pty", pytest.param("tmux", marks=pytest.mark.tmux))


def attack_command(here: Site, name: str) -> tuple[str, str]:
    """A shell command that attacks without any variable of the run, and the file in which it tells how that went."""
    calls, out = here.folder / f"{name}.json", here.folder / f"{name}.out"
    without_files = [each for verb, each in COMMANDS.items() if verb not in ("kind.add", "import_mail")]
    calls.write_text(json.dumps(as_user([*without_files, *JUDGED])))
    names = ("PATH", "HOME", "ROOK_HOME", "PYTHONPATH")
    kept = {key: value for key, value in here.house.environ.items() if key in names}
    bare = " ".join(f"'{key}={value}'" for key, value in {**kept, "ROOK_TEAM": here.team}.items())
    return f"exec env -i {bare} {' '.join(attacks.ME)} attack {calls} {out}", str(out)


ENDS_ITS_SHELL = "kill -9 $SHELL_OF_RUN\nwhile kill -0 $SHELL_OF_RUN 2>/dev/null; do sleep 0.05; done"


def detached(here: Site, name: str = "own", before: str = "", in_terminal: bool = False) -> list[Any]:
    """A worker whose program attacks in a process that has no parent and no variable of the run left."""
    command, out = attack_command(here, name)
    script = here.program(f"{name}-attack", text=f"#!/bin/sh\n{before}\n{command}\n")
    started = f"script -qec {script} /dev/null" if in_terminal else script
    bare = 'env -i "PATH=$PATH" SHELL_OF_RUN=$PPID'
    here.program(name, more=f"(setsid {bare} {started} >/dev/null 2>&1 &)")
    here.spawn(program=[str(here.folder / name)], backend=here.environ["BACKEND"])
    return attacks.wait_for(out)


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_h42_a_worker_decides_nothing_however_it_detaches(backend: str) -> None:
    """The store has no rule about terminals here: it is the process tree that tells."""
    with site() as here, here.up() as daemon:
        assert agent_mark.is_marked(daemon.process.pid), "and with it whatever it starts: workers, checks, terminals"
        here.environ["BACKEND"] = backend
        told = detached(here)
        assert [each for each in told if each[2] != "NOT_YOURS"] == []
        refused = [each for each in here.events("authority.refused") if each["ref"] != "export_mail"]
        assert {each["actor"] for each in refused} == {here.card()["name"]}, "and the record names it"
        assert here.call("rule.list")["rules"] == []
        here.finish()


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_h42_a_worker_that_ends_the_shell_of_its_run_decides_nothing(backend: str) -> None:
    """Nothing above it is left, and it has a terminal of its own: its mark tells."""
    with site() as here, here.up():
        here.call("config.set", name="authority.terminal", value="on")
        here.environ["BACKEND"] = backend
        told = detached(here, "orphan", before=ENDS_ITS_SHELL, in_terminal=True)
        assert [each for each in told if each[2] not in ("NOT_YOURS", "NO_TERMINAL")] == []


@pytest.mark.slow
@pytest.mark.tmux
def test_h42_a_window_in_rookerys_own_tmux_is_no_terminal_of_the_user() -> None:
    with site() as here, here.up():
        here.call("config.set", name="authority.terminal", value="on")
        here.spawn(backend="tmux")
        here.begun()
        command, out = attack_command(here, "window")
        window = ["tmux", "-S", str(here.home / "run" / "tmux"), "new-session", "-d", command]
        subprocess.run(window, env={"PATH": os.environ["PATH"]}, check=True, stdin=subprocess.DEVNULL)
        told = attacks.wait_for(out)
        assert [each for each in told if each[2] not in ("NOT_YOURS", "NO_TERMINAL")] == []
        here.finish()


@pytest.mark.slow
def test_h42_the_control_without_adoption_a_detached_process_is_nobodys() -> None:
    with site() as here, here.up(program="tests.support.no_adoption"):
        here.environ["BACKEND"] = "headless"
        told = detached(here)
        assert any(each[2] in PASSED for each in told), "the test above would have found it"
        here.finish()


@pytest.mark.slow
def test_h42_the_control_without_a_mark_a_process_without_its_tree_is_the_user() -> None:
    with site() as here, here.up(program="tests.support.no_mark"):
        here.call("config.set", name="authority.terminal", value="on")
        here.environ["BACKEND"] = "headless"
        told = detached(here, "orphan", before=ENDS_ITS_SHELL, in_terminal=True)
        assert any(each[2] in PASSED for each in told), "the tests above would have found it"


def test_h42_a_daemon_that_an_agent_starts_has_the_users_settings(tmp_path: Path) -> None:
    """Variables of the agent say neither what its settings are nor in whose folder they lie."""
    given = {"XDG_CONFIG_HOME": str(tmp_path / "own"), "ROOK_LAND_AUTO": "true"}
    (tmp_path / "own" / "rookery").mkdir(parents=True)
    (tmp_path / "own" / "rookery" / "config.toml").write_text("land.check = ['true']\n")
    for program, is_kept in (("tests.support.marked", False), ("rookery", True)):
        with running(tmp_path / program, program=program, **given) as daemon:
            told = Path(f"/proc/{daemon.process.pid}/environ").read_bytes().split(b"\0")
            has = {name: any(each.startswith(f"{name}=".encode()) for each in told) for name in (*given, "ROOK_HOME")}
            assert has == dict.fromkeys(given, is_kept) | {"ROOK_HOME": True}
            assert (f"HOME={pwd.getpwuid(os.getuid()).pw_dir}".encode() in told) is not is_kept
