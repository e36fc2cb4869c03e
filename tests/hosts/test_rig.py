"""The two rules of the rig, an environment built from nothing and a network without a way out; and it leaves nothing.

Each is shown with a control: what the rig keeps away is there without it.
"""

import json
import os
import select
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hosts.jail import PORT
from tests.hosts.model.script import expect, say
from tests.hosts.programs import ALL
from tests.hosts.programs.port import BASE_URL
from tests.hosts.stage import ROOT, Stage

pytestmark = pytest.mark.hosts

PATIENCE_S = 30.0
LOOK_AROUND = """
import json, socket, sys
def connect(host, port):
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError as error:
        return type(error).__name__ + ": " + str(error)
    return "connected"
found = {
    "interfaces": [name for _, name in socket.if_nameindex()],
    "routes": open("/proc/net/route").read().splitlines()[1:],
    "caller": connect("127.0.0.1", int(sys.argv[1])),
    "world": connect("192.0.2.1", 80),
    "model": connect("127.0.0.1", int(sys.argv[2])),
}
print(json.dumps(found))
"""


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path, ALL["claude"])


def test_there_is_no_way_out(stage: Stage) -> None:
    with socket.create_server(("127.0.0.1", 0)) as outside:
        port = outside.getsockname()[1]
        look = [sys.executable, "-c", LOOK_AROUND, str(port), str(PORT)]
        inside = json.loads(stage.start(look).stdout)
        control = json.loads(subprocess.run(look, capture_output=True, check=True).stdout)
    assert inside["interfaces"] == ["lo"]
    assert inside["routes"] == []
    assert inside["model"] == "connected"
    assert "refused" in inside["caller"]
    assert "unreachable" in inside["world"]
    assert control["caller"] == "connected"
    assert f"http://127.0.0.1:{PORT}" == BASE_URL


def test_nothing_of_the_callers_environment_comes_in(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_CALLER", "canary-9e1f")
    list_it = [sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"]
    inside = json.loads(stage.start(list_it, environ={"OWN": "1"}).stdout)
    control = json.loads(subprocess.run(list_it, capture_output=True, check=True).stdout)
    inside.pop("LC_CTYPE", None)  # Python's own
    assert inside == stage.built() | {"OWN": "1"}
    assert control["SECRET_OF_THE_CALLER"] == "canary-9e1f"


def test_what_a_program_leaves_behind_is_ended(stage: Stage) -> None:
    """Also what has left the process group and whose parent is gone."""
    orphan = "setsid sh -c 'echo $$ > news; exec sleep 1000' &"
    run = stage.start(["sh", "-c", f"mkfifo news; {orphan} read pid < news; echo $pid"])
    assert run.code == 0
    assert len(run.left_behind) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(int(run.stdout), 0)


def test_a_program_that_does_not_end_is_ended(stage: Stage) -> None:
    run = stage.start(["sleep", "1000"], deadline_s=0.1)
    assert run.code is None
    assert run.left_behind == ["sleep 1000"]
    assert run.complaint() == "it was ended at its deadline"


def test_a_killed_test_takes_its_program_along(stage: Stage) -> None:
    news = stage.folder / "news"
    os.mkfifo(news)
    play = (
        "import sys; from pathlib import Path\n"
        "from tests.hosts.programs import ALL; from tests.hosts.stage import Stage\n"
        "Path(sys.argv[1]).mkdir()\n"
        "Stage(Path(sys.argv[1]), ALL['claude']).start(['sh', '-c', f'echo $$ > {sys.argv[2]}; exec sleep 1000'])\n"
    )
    test = subprocess.Popen(
        [sys.executable, "-c", play, str(stage.folder / "inner"), str(news)], cwd=ROOT, env={"PATH": os.defpath}
    )
    program = os.pidfd_open(int(read_line(news)))
    try:
        assert not ended(program, 0)
        test.kill()
        test.wait()
        assert ended(program, PATIENCE_S)
    finally:
        os.close(program)


def read_line(news: Path) -> bytes:
    told = os.open(news, os.O_RDWR)  # does not wait for a writer that may never come
    try:
        assert select.select([told], [], [], PATIENCE_S)[0], "no word from the program"
        return os.read(told, 100)
    finally:
        os.close(told)


def ended(process: int, patience_s: float) -> bool:
    return bool(select.select([process], [], [], patience_s)[0])


def test_a_script_that_is_not_followed_fails_the_test(stage: Stage) -> None:
    bash = stage.program.bash
    with pytest.raises(AssertionError, match="the model was not told 'the moon is out'"):
        stage.play([bash("echo one"), expect("the moon is out"), say("done")])


def test_a_script_that_is_too_short_fails_the_test(stage: Stage) -> None:
    with pytest.raises(AssertionError, match="more than the script has"):
        stage.play([stage.program.bash("echo one")])


def test_a_program_that_fails_fails_the_test(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage.program, "command", lambda prompt: ["sh", "-c", f"echo {prompt} >&2; exit 3"])
    with pytest.raises(AssertionError, match=r"(?s)it ended with 3.*as told"):
        stage.play([say("done")], "as told")
