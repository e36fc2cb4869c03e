"""H42: inside an agent tree the mailbox API, a backup and an export show an agent its own mail and nobody else's."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rookery import app
from tests.support import attacks
from tests.support.procs import ROOT

SECRET = "xyzzy-the-key-is-under-the-mat"
# Every way in which the API shows, marks or sends; run in a process below the agent program.
CALLS = """
import json, os, sys
import rookery
from rookery.mailbox import MailboxManager, MessageType

def tried(work):
    try:
        return ["done", repr(work())]
    except rookery.RookError as error:
        return [error.code, str(error)]

box, other, own = MailboxManager(), sys.argv[2], sys.argv[3]
told = {
    "check": tried(lambda: box.check_mailbox("ada")), "check-user": tried(lambda: box.check_mailbox("user")),
    "read": tried(lambda: box.read_message(other)), "thread": tried(lambda: box.get_thread(other)),
    "count": tried(lambda: box.get_pending_count("ada")), "done": tried(lambda: box.mark_completed(other)),
    "work": tried(lambda: box.mark_processing(other)), "reply": tried(lambda: box.reply(other, "mallory", "x")),
    "named-thread": tried(lambda: box.send("mallory", "ada", "s", "b", thread_id="sprint-12")),
    "empty-sender": tried(lambda: box.send("", "ada", "s", "b")),
    "as-other": tried(lambda: box.send("ada", "leader", "s", "b")),
    "own-check": tried(lambda: [m.body for m in box.check_mailbox("mallory")]),
    "own-read": tried(lambda: box.read_message(own).body), "own-thread": tried(lambda: len(box.get_thread(own))),
    "own-send": tried(lambda: box.send("mallory", "ada", "s", "mine").body),
    "own-reply": tried(lambda: box.reply(own, "mallory", "fine").body),
    "own-done": tried(lambda: box.mark_completed(own).status.value),
}
with open(sys.argv[1], "w") as out:
    json.dump(told, out)
"""


class Den:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "ROOK_HOME": str(folder / "rook"), "ROOK_TEAM": "crew",
            "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))), "LANG": "C.UTF-8",
        }  # fmt: skip
        self.house = app.open_house(cwd=str(folder), environ=self.environ, team="crew")
        (folder / "calls.py").write_text(CALLS)

    def call(self, verb: str, as_: str | None = None, **args: Any) -> Any:
        return self.house.client.call(verb, args, self.house.caller(as_, open_addresses=True))

    def run(self, *words: str) -> None:
        """Below a program that joined as mallory through `sh -c`."""
        joins = f"{sys.executable} -m rookery join mallory >/dev/null; true"
        code = "import subprocess,sys; subprocess.run(['sh','-c',sys.argv[1]],check=True); subprocess.run(sys.argv[2:])"
        subprocess.run([sys.executable, "-c", code, joins, *words], cwd=self.folder, env=self.environ, check=True,
                       stdin=subprocess.DEVNULL)  # fmt: skip


@pytest.fixture
def den(tmp_path: Path) -> Den:
    return Den(tmp_path)


@pytest.mark.slow
def test_h42_inside_an_agent_tree_the_mailbox_api_is_one_agents(den: Den) -> None:
    for name in ("ada", "leader"):
        den.call("join", name=name)
    other = den.call("send", "leader", to=["ada"], subject="s", body=SECRET)["id"]
    own = den.call("send", "leader", to=["mallory"], subject="s", body="for you")["id"]
    den.call("send", "leader", to=["ada"], subject="s", body=SECRET, thread="sprint-12")
    out = den.folder / "told.json"
    den.run(sys.executable, "calls.py", str(out), other, own)
    told = json.loads(out.read_text())
    assert SECRET not in json.dumps(told)
    shown = {name: said for name, said in told.items() if said[0] == "done" and said[1] not in ("None", "[]")}
    assert [name for name in shown if not name.startswith("own-")] == []
    assert told["own-check"] == ["done", "['for you']"], told
    assert {name: told[name][0] for name in told if name.startswith("own-")} == dict.fromkeys(
        (name for name in told if name.startswith("own-")), "done"
    ), told
    assert told["named-thread"][0] == "NOT_YOURS", "whoever writes into a thread may read all of it"
    assert told["empty-sender"][0] == "BAD_NAME"
    events = [each for each in den.call("events", limit=1000)["events"] if each["type"] == "authority.refused"]
    assert {each["actor"] for each in events} == {"mallory"}
    state = [each["state"] for each in den.call("inbox", "ada", all=True)["messages"] if each["id"] == other]
    assert state == ["unread"]


@pytest.mark.slow
def test_h42_no_copy_of_the_store_is_made_inside_an_agent_tree(den: Den) -> None:
    den.call("send", "user", to=["ada"], subject="s", body=SECRET)
    commands = [["backup", "copy.db"], ["export", "mailboxes", "out"], ["down"], ["--as", "mallory", "backup", "x.db"]]
    calls = den.folder / "commands.json"
    calls.write_text(json.dumps(commands))
    out = den.folder / "commands.out"
    den.run(*attacks.ME, "attack", str(calls), str(out))
    told = json.loads(out.read_text())
    assert [said for _, _, said in told] == ["NOT_YOURS"] * len(commands), told
    assert not (den.folder / "copy.db").exists()
    assert not (den.folder / "out").exists(), "a refusal leaves no folder behind"
    events = [each for each in den.call("events", limit=1000)["events"] if each["type"] == "authority.refused"]
    assert {each["ref"] for each in events} == {"store.backup", "export_mail", "daemon.stop"}
    outside = subprocess.run([sys.executable, "-m", "rookery", "backup", "copy.db"], cwd=den.folder, env=den.environ,
                             stdin=subprocess.DEVNULL, capture_output=True)  # fmt: skip
    assert outside.returncode == 0, "a timer of the user's makes backups, without a terminal"
