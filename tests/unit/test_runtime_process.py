"""Who a process is. Real processes, stopped and killed; waiting is done by the kernel (waitid), never by time."""

import json
import os
import signal
import subprocess
import sys
import types
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.errors import StoreUnusable
from rookery.runtime import lineage, process
from rookery.runtime.lineage import binding, is_rook, runs_one_command
from rookery.runtime.process import Process, ancestors, identify, state

WAITS = "import sys; print('ready', flush=True); sys.stdin.read()"
ENVIRON = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@contextmanager
def child(program: str = WAITS) -> Generator[subprocess.Popen[bytes]]:
    """A process that says when it is ready and then waits for the end of its input."""
    command = [sys.executable, "-S", "-c", program]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert started.stdout
    try:
        assert started.stdout.readline() == b"ready\n"
        yield started
    finally:
        started.kill()
        started.communicate()


def identity(pid: int) -> Process:
    found = identify(pid)
    assert found
    return found


# --- state ------------------------------------------------------------------------------------------------------------


def test_a_process_runs_stops_runs_and_dies() -> None:
    with child() as one:
        me = identity(one.pid)
        assert state(*me) == "running"
        one.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, one.pid, os.WSTOPPED)
        assert state(*me) == "stopped"
        one.send_signal(signal.SIGCONT)
        os.waitid(os.P_PID, one.pid, os.WCONTINUED)
        assert state(*me) == "running"
        one.kill()
        os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)
        assert state(*me) == "dead"  # a zombie: nobody has asked for its exit code yet
        one.wait()
        assert state(*me) == "dead"
        assert identify(one.pid) is None


def test_h18_a_pid_with_another_start_time_is_dead() -> None:
    for pid in (os.getpid(), 1):
        ticks, mark, space = identity(pid).started.partition("@")
        assert state(pid, f"{int(ticks) + 1}{mark}{space}") == "dead"


def test_h18_another_users_process_is_not_dead() -> None:
    assert state(*identity(1)) == "running"  # root's, whoever we are
    if os.geteuid() == 0:
        with child(f"import os; os.setuid(65534); {WAITS}") as one:
            assert state(*identity(one.pid)) == "running"


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1, 2**70])
def test_a_pid_that_cannot_be_is_dead(pid: int) -> None:
    started = identity(os.getpid()).started
    assert state(pid, started) == "dead"
    assert identify(pid) is None
    assert ancestors(pid) == []


def test_a_process_whose_first_thread_ended_still_runs() -> None:
    program = (
        "import ctypes, sys, threading\n"
        "def letter(): return open('/proc/self/stat').read().rpartition(')')[2].split()[0]\n"
        "def work():\n"
        "    while letter() != 'Z': pass\n"
        "    print('ready', flush=True); sys.stdin.read()\n"
        "threading.Thread(target=work).start()\n"
        "ctypes.CDLL(None).pthread_exit(None)\n"
    )
    with child(program) as one:
        assert state(*identity(one.pid)) == "running"


def test_a_start_time_is_the_kernels() -> None:
    fields = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()
    assert identity(os.getpid()).started.partition("@")[0] == fields[19]


def test_two_children_differ_even_if_their_pid_did_not() -> None:
    with child() as one, child() as two:
        assert identity(one.pid) != identity(two.pid)


# --- the machine ------------------------------------------------------------------------------------------------------


def test_boot_and_host_are_the_same_for_every_process() -> None:
    program = "from rookery.runtime import process; print(process.boot_id(), process.host_name())"
    done = subprocess.run([sys.executable, "-c", program], env=ENVIRON, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [process.boot_id(), process.host_name()]
    assert process.host_name() == os.uname().nodename


# --- a made-up /proc: what this machine does not have -----------------------------------------------------------------


class Proc:
    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "self").symlink_to(str(os.getpid()))
        self.add(os.getpid(), ppid=20, started=500)

    def add(
        self, pid: int, *, ppid: int = 1, started: int = 5, name: str = "x", argv: str = "", letter: str = "S"
    ) -> None:
        folder = self.root / str(pid)
        folder.mkdir()
        fields = [letter, str(ppid), *["0"] * 15, "1", "0", str(started), "0"]
        (folder / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")
        (folder / "cmdline").write_text(argv)

    def namespace(self, name: str) -> None:
        (self.root / str(os.getpid()) / "ns").mkdir()
        (self.root / str(os.getpid()) / "ns" / "pid").symlink_to(name)


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Proc:
    root = tmp_path / "proc"
    root.mkdir()
    monkeypatch.setattr(process, "PROC", str(root))
    monkeypatch.setattr(process, "_namespace_of", (0, None))
    return Proc(root)


def test_a_name_may_look_like_fields(proc: Proc) -> None:
    proc.add(20, started=7, name="a) R 1 (b c\n) Z", argv="a\0b c\0\0")
    assert ancestors(os.getpid()) == [(Process(20, "7"), "a) R 1 (b c\n) Z", ["a", "b c", ""])]


def test_a_parent_younger_than_its_child_is_a_stranger(proc: Proc) -> None:
    proc.add(20, ppid=30, started=400, name="sh")
    proc.add(30, ppid=1, started=401, name="stranger")
    assert [name for _, name, _ in ancestors(os.getpid())] == ["sh"]


def test_a_circle_of_parents_ends(proc: Proc) -> None:
    proc.add(20, ppid=30)
    proc.add(30, ppid=20)
    assert len(ancestors(os.getpid())) == process.DEPTH_LIMIT


def test_the_climb_ends_where_a_parent_is_gone_or_hidden(proc: Proc, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ancestors(os.getpid()) == []
    proc.add(20, ppid=30)
    proc.add(30, ppid=1)
    hide(monkeypatch, "/30/", "/20/cmdline")
    assert ancestors(os.getpid()) == [(Process(20, "5"), "x", [])]


def test_a_hidden_process_is_unknown(proc: Proc, monkeypatch: pytest.MonkeyPatch) -> None:
    proc.add(20)
    assert state(20, "5") == "running"
    hide(monkeypatch, "/20/")
    assert state(20, "5") == "unknown"
    assert identify(20) is None


@pytest.mark.parametrize("text", ["", "20", "20 (x)", "20 (x) S 1 2"])
def test_a_torn_stat_is_no_process(proc: Proc, text: str) -> None:
    proc.add(20)
    (proc.root / "20" / "stat").write_text(text)
    assert state(20, "5") == "dead"


@pytest.mark.parametrize(("letter", "expected"), [("T", "stopped"), ("t", "stopped"), ("D", "running"), ("X", "dead")])
def test_letters_of_the_kernel(proc: Proc, letter: str, expected: str) -> None:
    proc.add(20, letter=letter)
    assert state(20, "5") == expected


def test_an_identity_from_another_namespace_is_unknown_here(proc: Proc) -> None:
    proc.namespace("pid:[77]")
    proc.add(20)
    assert identify(20) == Process(20, "5@77")
    assert state(20, "5@77") == "running"
    assert state(20, "6@77") == "dead"
    assert state(20, "5@78") == "unknown"
    assert state(20, "5") == "unknown"


def test_the_first_namespace_needs_no_mark(proc: Proc) -> None:
    proc.namespace(process.FIRST_NAMESPACE)
    proc.add(20)
    assert identify(20) == Process(20, "5")
    assert state(20, "5@77") == "unknown"


def test_a_proc_of_another_namespace_says_nothing(proc: Proc) -> None:
    (proc.root / "self").unlink()
    (proc.root / "self").symlink_to("20")
    proc.add(20)
    assert identify(20) is None
    assert ancestors(20) == []
    assert state(20, "5") == "unknown"


def test_without_proc_nothing_is_known(proc: Proc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "PROC", str(proc.root / "nothing"))
    assert state(os.getpid(), "500") == "unknown"
    with pytest.raises(StoreUnusable, match="boot"):
        process.boot_id()


def test_the_boot_without_its_id_is_its_time(proc: Proc) -> None:
    (proc.root / "stat").write_text("cpu 1 2\nbtime 1700000000\n")
    assert process.boot_id() == "boot-1700000000"


def hide(monkeypatch: pytest.MonkeyPatch, *parts: str) -> None:
    os_open = os.open

    def guarded(path: str, flags: int) -> int:
        if any(part in path for part in parts):
            raise PermissionError(13, "Permission denied")
        return os_open(path, flags)

    monkeypatch.setattr(os, "open", guarded)


@given(st.binary(max_size=15).filter(lambda name: b"\0" not in name), st.sampled_from("RSDTZ"), st.integers(0, 2**40))
def test_any_name_parses(name: bytes, letter: str, started: int) -> None:
    fields = [letter, "42", *["0"] * 15, "3", "0", str(started), "0"]
    seen = process._parse_stat(b"7 (" + name + b") " + " ".join(fields).encode() + b"\n")
    assert seen == (letter, 42, started, os.fsdecode(name), 3)


# --- systems without /proc --------------------------------------------------------------------------------------------


def test_elsewhere_psutil_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = types.ModuleType("psutil")

    class Error(Exception):
        pass

    class NoSuchProcess(Error):
        pass

    class AccessDenied(Error):
        pass

    class Fake:
        def __init__(self, pid: int) -> None:
            if pid == 9:
                raise NoSuchProcess
            if pid == 8:
                raise AccessDenied
            self.pid = pid

        @contextmanager
        def oneshot(self) -> Generator[None]:
            yield

        def create_time(self) -> float:
            return 1700000000.25

        def status(self) -> str:
            return {5: "stopped", 6: "zombie"}.get(self.pid, "sleeping")

        def ppid(self) -> int:
            return {4: 3, 3: 1}.get(self.pid, 0)

        def name(self) -> str:
            return "zsh"

        def cmdline(self) -> list[str]:
            return ["-zsh"]

    vars(fake).update(
        Process=Fake,
        Error=Error,
        NoSuchProcess=NoSuchProcess,
        AccessDenied=AccessDenied,
        STATUS_STOPPED="stopped",
        STATUS_ZOMBIE="zombie",
        STATUS_DEAD="dead",
        boot_time=lambda: 1600000000.0,
    )
    monkeypatch.setitem(sys.modules, "psutil", fake)
    monkeypatch.setattr(process, "LINUX", False)
    monkeypatch.setattr(process, "_namespace_of", (0, None))
    started = "1700000000250000"
    assert process.boot_id() == "boot-1600000000"
    assert identify(4) == Process(4, started)
    assert [state(pid, started) for pid in (4, 5, 6, 8, 9)] == ["running", "stopped", "dead", "unknown", "dead"]
    assert ancestors(4) == [(Process(3, started), "zsh", ["-zsh"])]


# --- ancestors and the binding ----------------------------------------------------------------------------------------

CHAIN = (
    "import json, os; from rookery.runtime import lineage, process\n"
    "chain = process.ancestors(os.getpid()); print(json.dumps([chain, lineage.binding(chain)]))"
)


def test_the_session_is_bound_to_the_program_behind_the_shell(tmp_path: Path) -> None:
    """An agent program that runs `sh -c 'rook join'`, as all of them do."""
    rook = tmp_path / "rook"
    rook.write_text(CHAIN)
    script = f'{sys.executable} {rook}; exit "$?"'  # a second command, or the shell would replace itself by the first
    agent = (
        "import os, subprocess\n"
        "open('/proc/self/comm', 'w').write('an (odd) name')\n"
        f"subprocess.run(['/bin/sh', '-e', '-c', {script!r}], check=True)\n"
        "print(os.getpid())"
    )
    done = subprocess.run([sys.executable, "-S", "-c", agent], env=ENVIRON, capture_output=True, text=True, check=True)
    told, pid = done.stdout.splitlines()
    chain, bound = json.loads(told)
    assert [name for _, name, _ in chain[:2]] == ["sh", "an (odd) name"]
    assert chain[0][2] == ["/bin/sh", "-e", "-c", script]
    assert chain[2][0] == list(identity(os.getpid()))
    assert bound == chain[1][0]
    assert bound[0] == int(pid)


def link(pid: int, *argv: str) -> process.Ancestor:
    return Process(pid, "1"), os.path.basename(argv[0])[:15], list(argv)


@pytest.mark.parametrize(
    ("chain", "pid"),
    [
        ([link(2, "-bash")], 2),
        ([link(2, "/bin/bash", "-c", "rook join"), link(3, "node", "claude")], 3),
        ([link(2, "bash", "-lc", "x"), link(3, "sh", "-c", "y"), link(4, "codex")], 4),
        ([link(2, "python3", "/v/bin/rook", "demo"), link(3, "/usr/bin/zsh")], 3),
        ([link(2, "uv", "run", "rook", "join"), link(3, "bash")], 3),
        ([link(2, "/x/uvx", "rook"), link(3, "bash", "build.sh")], 3),
        ([link(2, "make", "demo"), link(3, "bash")], 2),
        ([link(2, "rook", "up"), link(3, "sh", "-c", "x")], 3),
        ([link(2, "rook", "up"), link(3, "uv", "run"), link(4, "sh", "-c", "x")], 3),
        ([(Process(2, "1"), "sh", []), link(3, "bash", "-c", "x")], 2),
        ([(Process(2, "1"), "rook", [])], None),
        ([link(2, "rook")], None),
        ([], None),
    ],
)
def test_what_a_session_is_bound_to(chain: list[process.Ancestor], pid: int | None) -> None:
    bound = binding(chain)
    assert (bound and bound.pid) == pid


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("rook join", True),
        ("/usr/local/bin/rook", True),
        ("python3 /v/bin/rook send", True),
        ("python3.12 -I -W error -X dev /v/bin/rook", True),
        ("python -Werror -Xdev rook", True),
        ("python -m rookery", True),
        ("python -Im rookery.front.cli.main", True),
        ("python -mrookery.front.cli.main join", True),
        ("pypy3 --jit off", False),
        ("python -m rookeryx", False),
        ("python -m", False),
        ("python", False),
        ("python -", False),
        ("python -c rook rook", False),
        ("python -X rook", False),
        ("python agent.py rook", False),
        ("python -m pytest rook", False),
        ("rooks", False),
        ("node rook", False),
    ],
)
def test_what_is_rook(command: str, expected: bool) -> None:
    assert is_rook("?", command.split()) is expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("sh -c x", True),
        ("-bash -c x", True),
        ("bash -lic x", True),
        ("bash --norc --rcfile /c -c x", True),
        ("bash -eo pipefail -c x", True),
        ("bash +O extglob -o errexit -c x", True),
        ("fish --command x", True),
        ("fish --command=x", True),
        ("zsh -fc x", True),
        ("bash", False),
        ("-zsh", False),
        ("bash -i -l", False),
        ("bash script -c", False),
        ("bash -o nocaseglob script -c", False),
        ("bash -- -c", False),
        ("bash - -c", False),
        ("sh -s", False),
        ("bash --norc", False),
        ("python -c x", False),
        ("busybox sh", False),
    ],
)
def test_which_shells_end_with_their_command(command: str, expected: bool) -> None:
    assert runs_one_command("?", command.split()) is expected


def test_without_argv_the_name_decides() -> None:
    assert is_rook("rook", [])
    assert is_rook("rook", [""])
    assert not runs_one_command("sh", [])


# --- how a program is started again -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "argv", "words"),
    [
        ("/opt/codex", ["codex", "--full-auto", "do it"], ["/opt/codex"]),
        ("/usr/bin/node", ["node", "/opt/gemini.js", "-p", "x"], ["/usr/bin/node", "/opt/gemini.js"]),
        ("/usr/bin/node", ["node", "--max=8", "/opt/g.js"], ["/usr/bin/node", "--max=8", "/opt/g.js"]),
        ("/usr/bin/node", ["pi"], []),
        ("/usr/bin/python3", ["python3", "relative.py"], []),
    ],
)  # fmt: skip
def test_a_program_is_its_file_or_its_interpreter_with_the_script(program: str, argv: list[str], words: list[str]):
    assert process._without_task(program, argv) == words


def test_a_process_tells_how_it_is_started_again_and_only_the_variables_that_are_asked_for():
    environ = {"HOME": "/h", "SECRET": "s", "ODD": "a=b"}
    child = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=environ)
    assert child.stdin
    assert child.stdout
    child.stdin.write(b"\n")
    child.stdout.readline()  # before its first word the kernel may still be laying its variables out
    try:
        assert process.command_of(child.pid) == [os.path.realpath("/bin/cat")]
        assert process.variables(child.pid, ("HOME", "ODD", "NOT")) == {"HOME": "/h", "ODD": "a=b"}
    finally:
        child.communicate()
    assert process.command_of(child.pid) == []
    assert process.variables(child.pid, ("HOME",)) == {}


# --- which process is an agent program --------------------------------------------------------------------------------

ROOK = ["python3", "/usr/bin/rook", "join"]
COMMAND = ["/bin/bash", "-c", "rook join x"]


@pytest.mark.parametrize(("chain", "is_program"), [
    ([COMMAND, ["node", "/opt/agent/cli.js"]], True),
    ([["sh", "-lc", "rook join x; true"], COMMAND, ["python3", "agent.py"]], True),
    ([COMMAND, ["bash", "agent.sh"]], True),
    ([COMMAND, ["bash", "-e", "agent.sh", "now"]], True),
    ([COMMAND, ["bash"]], False), ([COMMAND, ["-bash"]], False), ([COMMAND, ["bash", "--rcfile", "x", "-i"]], False),
    ([COMMAND, ["zsh", "-l"]], False), ([COMMAND, ["bash", "-o", "vi"]], False), ([COMMAND, ["bash", "-"]], False),
    ([["bash"], ["tmux"]], False), ([["node", "/opt/agent/cli.js"]], False), ([], False),
])  # fmt: skip
def test_h42_what_runs_commands_through_a_shell_is_a_program_and_a_shell_at_a_terminal_is_not(
    chain: list[list[str]], is_program: bool
) -> None:
    above = [(process.Process(1 << 22 | number, "1"), argv[0], argv) for number, argv in enumerate([ROOK, *chain])]
    assert lineage._runs_commands(above) is is_program
