"""An agent program that tries to decide for the user, in real processes.

python -m tests.support.attacks program NAME FILE ...    takes a name through `sh -c`, as agent programs do, and
                                                         then starts an attacker in each way that FILE names
python -m tests.support.attacks known NAME FILE WORDS    the same for a process that is called NAME and runs WORDS first
python -m tests.support.attacks attack CALLS OUT         runs each command of CALLS in this process, as `rook` does
python -m tests.support.attacks http CALLS OUT           sends each verb of CALLS to the daemon of ROOK_HOME
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ME = [sys.executable, "-m", "tests.support.attacks"]
WAIT_S = 60.0


def attack(calls: str, out: str) -> None:
    """Each command by its own `Call`: the process that asks is this one, as in `rookery.front.cli.main`."""
    from rookery.front.cli.call import Call
    from rookery.front.cli.router import run

    told: list[Any] = []
    for argv in json.loads(Path(calls).read_text()):
        call = Call([*argv, "--json"], os.getcwd(), os.environ, lambda: "", lambda _text: None, peer=os.getpid())
        reply = run(call)
        error = json.loads(reply.out)["error"]["code"] if reply.code and reply.out.startswith('{"error"') else ""
        told.append([argv, reply.code, error or (reply.code and reply.err[:200]) or ""])
    _write(out, told)


def shell(calls: str, out: str) -> None:
    """Each command in a process of its own: with a daemon up it goes through the fast path."""
    told: list[Any] = []
    for argv in json.loads(Path(calls).read_text()):
        done = subprocess.run([sys.executable, "-m", "rookery", *argv, "--json"], capture_output=True, text=True)
        error = json.loads(done.stdout)["error"]["code"] if done.returncode and done.stdout[:8] == '{"error"' else ""
        told.append([argv, done.returncode, error or (done.returncode and done.stderr[:200]) or ""])
    _write(out, told)


def python(calls: str, out: str) -> None:
    """Each verb by the handles of `rookery.connect`, and by the connection of a model's tools."""
    import anyio

    import rookery
    from rookery.app import open_house
    from rookery.front.mcp.seat import LocalSeat

    told: list[Any] = []
    house = open_house(cwd=os.getcwd(), environ=os.environ)
    seat = LocalSeat(house, os.getpid())
    with rookery.connect() as team:
        for verb, args in json.loads(Path(calls).read_text()):
            for way, call in {
                "handle": lambda: team.call(verb, **args),  # noqa: B023
                "user": lambda: team.agent("user").call(verb, **args),  # noqa: B023
                "seat": lambda: anyio.run(seat.call, verb, args),  # noqa: B023
            }.items():
                try:
                    call()
                    told.append([[way, verb], 0, ""])
                except rookery.RookError as error:
                    told.append([[way, verb], error.exit_code, error.code])
    house.close()
    _write(out, told)


def http(calls: str, out: str) -> None:
    """Each verb over HTTP, with the token of a file: {"token": PATH, "verb": ..., "args": ..., "as": NAME}.

    With `from`, the connection comes from that address.
    """
    told = [[call["verb"], *_posted(call)] for call in json.loads(Path(calls).read_text())]
    _write(out, told)


def _posted(call: Mapping[str, Any]) -> tuple[int, str]:
    """(status, error code). With `leaves`, a process that is gone as soon as the request was sent: (0, "")."""
    from http.client import HTTPConnection

    where = json.loads(Path(os.environ["ROOK_HOME"], "run", "runtime.json").read_text())
    given = Path(call["token"]).read_text() if call.get("token") else where["token"]
    body = {"teamId": os.environ["ROOK_TEAM"], **({"agentId": call["as"]} if call.get("as") else {}), **call["args"]}
    sent = {"Authorization": f"Bearer {given.strip()}", "Content-Type": "application/json"}
    leaves = bool(call.get("leaves")) and os.fork()
    if leaves:
        os.waitpid(leaves, 0)
        return 0, ""
    source = (call["from"], 0) if call.get("from") else None
    connection = HTTPConnection(where["url"].removeprefix("http://"), timeout=WAIT_S, source_address=source)
    connection.request("POST", f"/v1/call/{call['verb']}", json.dumps(body), sent)
    if call.get("leaves"):
        os._exit(0)
    answer = connection.getresponse()
    data = json.loads(answer.read())
    connection.close()
    return answer.status, data["error"]["code"] if answer.status >= 400 else ""


def _write(out: str, told: list[Any]) -> None:
    written = Path(out + ".part")
    written.write_text(json.dumps(told))
    written.rename(out)


def program(name: str, plan: str) -> None:
    """Joins, tells who it is, and attacks in every way of the plan: {way: {"before": [...], "environ": {...}}}."""
    joins = f"{sys.executable} -m rookery join {name} >/dev/null; true"
    subprocess.run(["sh", "-c", joins], check=True)
    for way, how in json.loads(Path(plan).read_text()).items():
        out = os.path.join(os.path.dirname(plan), f"{way}.out")
        start(how, [how.get("by", "attack"), how["calls"], out], os.environ)
        wait_for(out)


def known(name: str, plan: str, *first: str) -> None:
    """A process of that name: it calls `first`, and then attacks in every way of the plan."""
    Path("/proc/self/comm").write_text(name)
    subprocess.run(first, input="{}", text=True, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for way, how in json.loads(Path(plan).read_text()).items():
        out = os.path.join(os.path.dirname(plan), f"{way}.out")
        start(how, [how.get("by", "attack"), how["calls"], out], os.environ)
        wait_for(out)


def start(how: Mapping[str, Any], words: Sequence[str], environ: Mapping[str, str]) -> None:
    """`before` stands before the command; with `forks`, nobody waits for it and its parent is gone at once."""
    given = {**({} if how.get("bare") else environ), **how.get("environ", {})}
    command = how.get("whole") or [*how.get("before", []), *ME, *words]
    if not how.get("forks"):
        subprocess.run(command, env=given, stdin=subprocess.DEVNULL, check=False)
        return
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvpe(command[0], command, given)
        os._exit(0)
    os.wait()


def wait_for(path: str) -> Any:
    ends = time.monotonic() + WAIT_S
    while not os.path.exists(path):
        assert time.monotonic() < ends, f"{path} was not written"
        os.sched_yield()
    return json.loads(Path(path).read_text())


if __name__ == "__main__":
    parts = {"attack": attack, "shell": shell, "python": python, "program": program, "known": known, "http": http}
    parts[sys.argv[1]](*sys.argv[2:])
