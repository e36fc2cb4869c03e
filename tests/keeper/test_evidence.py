"""Evidence in a real daemon: out of the streams of workers, the records of other agents, and what workers say."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support import recorded
from tests.support.doors import environment
from tests.support.families import few
from tests.support.panes import until
from tests.support.supervised import Site, site

KINDS = {"command": 3, "edit": 3, "test": 2, "commit": 1, "response": 1, "code": 1}
SECRET = "ghp_" + "Q7" * 18
HOSTS = {
    "claude": KINDS, "codex": KINDS, "gemini": KINDS | {"prompt": 1}, "opencode": KINDS,
    "copilot": KINDS | {"prompt": 1}, "pi": KINDS | {"prompt": 1},
}  # fmt: skip
# As the program of that name does: it is told what to do, prints what it does, and ends.
PRINTS = """\
#!/bin/sh
cat >/dev/null
cat "{stream}"
"""


@pytest.fixture
def here() -> Generator[Site]:
    with site(ROOK_EVIDENCE_READ_S="0.2") as made:
        yield made


def instead_of(here: Site, name: str, stream: Path) -> str:
    """A PATH on which a program of that name prints this."""
    folder = here.folder / "bin"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(PRINTS.format(stream=stream))
    (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def evidence(here: Site, **asked: Any) -> list[dict[str, Any]]:
    return here.call("artifacts", limit=200, **asked)["artifacts"]


def kinds(here: Site, **asked: Any) -> Counter[str]:
    return Counter(each["kind"] for each in evidence(here, **asked))


def spawned(here: Site, host: str = "claude") -> str:
    return here.call("spawn", assignment="Add", host=host, backend="headless")["id"]


@pytest.mark.slow
@pytest.mark.parametrize("host", few(HOSTS, "claude"))
def test_what_a_worker_prints_of_itself_is_evidence_and_stands_in_a_file_beside_it(here: Site, host: str) -> None:
    path = instead_of(here, host, recorded.DATA / "streams" / f"{host}.jsonl")
    with here.up(PATH=path):
        id = spawned(here, host)
        card = here.becomes("ended", id)
        assert kinds(here, worker=id) == HOSTS[host] | {"tail": 1}
        found = evidence(here, worker=id)
        run = card["runs"][0]["id"]
        assert {each["run"] for each in found} == {run}
        assert {each["taskId"] for each in found} == {card["task"]}
        until(lambda: listed(here, id) == [each["ref"] for each in found], lambda: listed(here, id))
    file = here.files(id) / "artifacts.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_text())["schemaVersion"] == "1.0.0"


def listed(here: Site, id: str) -> list[str]:
    path = here.files(id) / "artifacts.json"
    return [each["ref"] for each in json.loads(path.read_text())["artifacts"]] if path.exists() else []


@pytest.mark.slow
@pytest.mark.parametrize("point", ["worker_told", "worker_harvested", "worker_closed", "worker_over"])
def test_a_daemon_killed_on_the_way_loses_nothing_and_tells_nothing_twice(here: Site, point: str) -> None:
    path = instead_of(here, "claude", recorded.DATA / "streams" / "claude.jsonl")
    with here.up(program="tests.support.dying", DIES_AT=point, DIES_AT_TIME="1", PATH=path) as dying:
        id = spawned(here)
        assert dying.wait() == -signal.SIGKILL
    with here.up(PATH=path):
        here.becomes("ended", id)
        assert kinds(here, worker=id) == KINDS | {"tail": 1}


@pytest.mark.slow
def test_a_worker_that_is_forgotten_in_the_middle_was_told_of_as_far_as_it_came(here: Site) -> None:
    """While it runs: what is there is told with the next beat, and not only at the end."""
    stream = here.folder / "stream"
    lines = recorded.lines("streams", "claude")
    stream.write_text("".join(f"{line}\n" for line in lines[:7]))
    path = instead_of(here, "claude", stream)
    script = here.folder / "bin" / "claude"
    script.write_text(script.read_text() + f'while [ ! -e "{here.folder}/end" ]; do sleep 0.05; done\n')
    with here.up(PATH=path):
        id = spawned(here)
        until(lambda: kinds(here, worker=id)["command"] == 2, lambda: (kinds(here), here.log()))
        assert here.card(id)["state"] == "running"
        here.finish(0)
        here.becomes("ended", id)


# -- secrets -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_secret_that_a_worker_printed_is_found_nowhere_but_in_its_own_output(here: Site) -> None:
    """Neither in the ledger nor in any file of the home but the raw output of the run, which is private and goes."""
    lines = recorded.lines("streams", "claude")
    stream = here.folder / "stream"
    told = "\n".join(lines).replace("one\\ntwo", f"token {SECRET}").replace("Adding is right now", f"Use {SECRET}")
    assert told.count(SECRET) > 3
    stream.write_text(told + "\n")
    here.program("program", more=f"echo 'export GITHUB_TOKEN={SECRET}'")
    here.finish(3)
    with here.up(PATH=instead_of(here, "claude", stream)):
        for id in (spawned(here), here.spawn()):
            here.becomes("ended", id)
            until(lambda id=id: listed(here, id))
            kept = {each["name"].partition("-")[2] for each in here.call("artifacts", kind="run")["artifacts"]}
            assert kept, "what it said is kept"
        assert "[redacted]" in here.call("show", ref="c1")["body"] + here.card("w2")["tail"]
    holding = {str(path.relative_to(here.home)) for path in files(here.home) if SECRET.encode() in path.read_bytes()}
    raw = {path for path in holding if Path(path).name in ("output.log", "output.ndjson")}
    assert raw, "the control: it was printed"
    assert holding == raw


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]


# -- what workers say, and what git has ------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_a_scripted_worker_says_and_commits_is_evidence(here: Site) -> None:
    rook = f"{Path(sys.executable).with_name('rook')}"
    git = "git -c user.name=wren -c user.email=wren@nest.invalid"
    here.program("program", more=f"""\
{rook} progress 'doing: the parser' 'the tests'
echo x >made.txt; git add made.txt; {git} commit -qm 'The parser'
echo y >more.txt
{rook} done --outcome completed --test 'pytest: 3 passed' -m 'The parser parses what it is given, and refuses the rest.'
""")  # fmt: skip
    here.finish(0)
    with here.up():
        id = here.spawn()
        here.becomes("ended", id)
        said = [each["title"] for each in evidence(here, worker=id, kind="status")]
        result = "w1 done: The parser parses what it is given, and refuses the rest."
        assert said == [result, "w1 progress: 0 of 2: the parser"]
        commits = evidence(here, worker=id, kind="commit")
        assert [each["title"].partition(" ")[2] for each in commits] == ["Parse the header", "The parser"]
        (change,) = here.call("changes")["changes"]
        assert commits[0]["data"] == {"sha": change["head"], "change": change["id"]}


# -- agents at their own terminals -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_another_agent_does_is_read_by_the_daemon_that_its_hook_told(here: Site) -> None:
    lines = recorded.lines("transcripts", "claude")
    record = here.folder / ".claude" / "projects" / "-repo" / "s-1.jsonl"
    record.parent.mkdir(parents=True)
    record.write_text("".join(f"{line}\n" for line in lines[:30]))
    start = {"hook_event_name": "SessionStart", "session_id": "s-1", "transcript_path": str(record)}
    with here.up():
        hook(here, start)
        until(lambda: kinds(here)["command"] == 1, lambda: (kinds(here), here.log()))
    with record.open("a") as file:  # while there is no daemon
        file.write("".join(f"{line}\n" for line in lines[30:]))
    with here.up():
        until(lambda: kinds(here) == KINDS | {"prompt": 1}, lambda: (kinds(here), here.log()))
    assert {each["by"] for each in evidence(here)} == {"ada"}
    assert {each["worker"] for each in evidence(here)} == {None}


@pytest.mark.slow
@pytest.mark.parametrize("host", ["copilot", "pi"])
def test_so_are_the_records_of_copilot_which_does_not_tell_where_and_of_pi(here: Site, host: str) -> None:
    below = {"copilot": "session-state/s-1/events.jsonl", "pi": "sessions/--repo--/2026_s-1.jsonl"}
    record = here.folder / "home" / below[host]
    record.parent.mkdir(parents=True)
    record.write_text("".join(f"{line}\n" for line in recorded.lines("transcripts", host)))
    start = {"copilot": {"sessionId": "s-1"}, "pi": {"session": "s-1", "transcript": str(record)}}[host]
    with here.up():
        own = str(here.folder / "home")
        hook(here, start, host, "start", COPILOT_HOME=own, PI_CODING_AGENT_DIR=own)
        until(lambda: kinds(here) == KINDS | {"prompt": 1}, lambda: (kinds(here), here.log()))


PROGRAM = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"  # has a hook of its own run


def hook(here: Site, event: dict[str, Any], *host: str, **more: str) -> None:
    environ = environment(here.folder, **here.environ, ROOK_AGENT="ada", ROOK_MESH_AUTO_JOIN="true", **more)
    words = [sys.executable, "-c", PROGRAM, sys.executable, "-m", "rookery", "hook", *(host or ("claude",))]
    done = subprocess.run(
        words, cwd=here.repo, env=environ, input=json.dumps(event), text=True, capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
