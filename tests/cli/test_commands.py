"""The `rook` command as people and programs meet it."""

import json
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from rookery.front.cli.router import COMMANDS
from tests.cli.conftest import Terminal

BIN = Path(sys.executable).parent


def send(rook: Terminal, *more: str) -> str:
    return rook.json("--as", "architect", "send", "implementer", "-s", "API is ready", "-m", "Start", *more)["id"]


def test_a_message_from_send_to_archive(rook: Terminal):
    id = send(rook, "-p", "high", "--tag", "api", "--payload", '{"n": 1}')
    (found,) = rook.json("--as", "implementer", "inbox")["messages"]
    assert (found["id"], found["priority"], found["tags"], found["payload"]) == (id, "high", ["api"], {"n": 1})
    assert rook.json("--as", "implementer", "read", id)["state"] == "read"
    answer = rook.json("--as", "implementer", "reply", id, "-m", "On it")
    assert rook.json("--as", "implementer", "ack", id)["messages"][0]["state"] == "completed"
    assert rook.json("--as", "implementer", "archive", id)["messages"][0]["state"] == "archived"
    thread = rook.json("thread", answer["id"])
    assert [m["id"] for m in thread["messages"]] == [id, answer["id"]]
    stages = [r["stage"] for r in rook.json("receipts", id)["recipients"][0]["receipts"]]
    assert stages == ["accepted", "seen", "answered", "acknowledged", "archived"]
    assert {m["id"] for m in rook.json("search", "ready")["messages"]} == {answer["id"], id}


@pytest.mark.parametrize("argv", [
    ["who"], ["whois", "architect"], ["feed"], ["events"], ["inbox"], ["health"], ["stats"], ["config"], ["doctor"],
    ["escalate", "--list"], ["--as", "architect", "status", "busy"], ["--as", "architect", "leave"], ["backup"],
    ["--as", "architect", "rename", "lead"], ["--as", "architect", "broadcast", "-s", "all hands"],
    ["--as", "architect", "handoff", "implementer", "-s", "yours", "--done", "the design"],
    ["--as", "architect", "escalate", "stuck here", "-m", "help"],
], ids=" ".join)  # fmt: skip
def test_every_command_speaks_to_programs_and_to_people(rook: Terminal, argv: list[str]):
    said = rook.ok(*argv)
    assert said.strip()
    assert "\x1b" not in said


@pytest.mark.parametrize("argv", [["who"], ["feed"], ["doctor"], ["config"], ["whois", "architect"]], ids=" ".join)
def test_a_terminal_gets_colours(rook: Terminal, argv: list[str]):
    assert "\x1b[" in rook.ok(*argv, terminal=True)


@pytest.mark.parametrize("argv", [["who"], ["inbox"], ["feed"], ["config"], ["health"], ["events"]], ids=" ".join)
def test_json_is_one_document(rook: Terminal, argv: list[str]):
    out = rook(*argv, "--json").out
    json.loads(out)
    assert out.count("\n") == 1


@pytest.mark.slow
def test_every_command_explains_itself(bare: Terminal):
    for name in [command.name for command in COMMANDS]:
        assert f"usage: rook {name}" in bare.ok(name, "--help")
        assert bare("help", name).out == bare(name, "-h").out, name


def test_shared_options_stand_before_or_after(rook: Terminal):
    before = rook.ok("--as", "architect", "--json", "inbox")
    assert json.loads(before) == rook.json("inbox", "--as", "architect")
    assert rook.json("who", "--team", "other")["agents"] == []


def test_exit_codes(rook: Terminal, tmp_path: Path):
    assert rook("send", "nobody-here", "-s", "x").code == 1
    assert rook("send").code == 2
    assert rook("sned").code == 2
    assert rook("read", "MSG-nothing").code == 1
    rook.environ["ROOK_HOME"] = str(tmp_path / "broken")
    (tmp_path / "broken").mkdir(mode=0o700)
    (tmp_path / "broken" / "rookery.db").write_bytes(b"this is no database, whatever its name may say" * 50)
    reply = rook("inbox")
    assert reply.code == 3
    assert "rookery.db" in reply.err


@pytest.mark.parametrize(("argv", "told", "hint"), [
    (["sned"], "no command 'sned'", "send"),
    (["send", "implementor", "-s", "x"], "No agent named implementor", "implementer"),
    (["send", "implementer"], "-s", "--help"),
    (["send", "implementer", "-s", "x", "--payload", "{nope"], "not JSON", "--payload"),
    (["send", "implementer", "-s", "x", "--payload", "[1]"], "JSON object", "--payload"),
    (["send", "implementer", "-s", "x", "--payload", '{"a": NaN}'], "not JSON", "--payload"),
    (["send", "implementer", "-s", "x", "--expires", "yesterday"], "yesterday", "2h"),
    (["send", "implementer", "-s", "x", "--expires", "2020-01-01T00:00:00Z"], "expired", "2h"),
    (["send", "implementer", "-s", " "], "subject", "-s"),
    (["send", "../etc", "-s", "x"], "..", "name"),
    (["send", "a/b/c", "-s", "x"], "slash", ""),
    (["send", "implementer", "-s", "x", "--attach", "missing.txt"], "missing.txt", "relative"),
    (["inbox", "-n", "0"], "limit", "1 to"),
    (["inbox", "-n", "many"], "many", "--help"),
    (["feed", "--type", "comit"], "comit", "commit"),
    (["config", "mesh.stuk_s"], "mesh.stuk_s", "mesh.stuck_s"),
    (["--as", "architct", "inbox"], "architct", "architect"),
    (["--team", "no/team", "inbox"], "no/team", ""),
    (["escalate"], "title", ""),
    (["join", "user"], "user", ""),
])  # fmt: skip
def test_refusals_say_what_and_what_next(rook: Terminal, argv: list[str], told: str, hint: str):
    before = rook.json("events")["newest"]
    reply = rook(*argv)
    assert reply.code in (1, 2)
    assert not reply.out
    assert reply.err.startswith("rook: ")
    assert told in reply.err
    assert hint in reply.err
    assert "Traceback" not in reply.err
    assert rook.json("events")["newest"] == before
    code = json.loads(rook(*argv, "--json").out)["error"]["code"]
    assert code == code.upper()


def test_what_an_agent_wrote_cannot_reach_the_terminal(rook: Terminal):
    evil = "\x1b]0;owned\x07\x1b[2J[bold]not markup[/bold]\u202egnp"
    id = rook.json("--as", "architect", "send", "implementer", "-s", evil, "-m", evil, "--tag", evil)["id"]
    for argv in (["inbox"], ["read", id], ["thread", id], ["search", "markup"], ["feed"], ["receipts", id]):
        shown = rook.ok("--as", "implementer", *argv, terminal=True, width=200)
        assert "\x1b]" not in shown
        assert "\x1b[2J" not in shown
        assert "\u202e" not in shown
        assert "owned" not in shown
    assert "[bold]not markup[/bold]" in rook.ok("--as", "implementer", "read", id)


def test_a_body_from_standard_input(rook: Terminal):
    rook.stdin = "a long\nbody é"
    id = rook.json("--as", "architect", "send", "implementer", "-s", "x", "-m", "-")["id"]
    assert rook.json("--as", "implementer", "read", id)["body"] == "a long\nbody é"
    rook.stdin = "broken \udcff bytes"
    assert rook("--as", "architect", "send", "implementer", "-s", "x", "-m", "-").code == 2


def test_several_recipients_on_either_side_of_the_flags(rook: Terminal):
    sent = rook.json("--as", "architect", "send", "implementer", "-s", "x", "user")
    assert [r["name"] for r in sent["recipients"]] == ["implementer", "user"]


@pytest.mark.slow
def test_the_same_name_twice_is_refused_and_can_be_taken_over(tmp_path: Path):
    """Two shells, each a process that stays while its commands run."""
    environ = {
        "PATH": f"{BIN}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "ROOK_HOME": str(tmp_path / "h"),
        "ROOK_TEAM": "t",
    }
    with subprocess.Popen(
        ["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ, cwd=tmp_path
    ) as first:
        assert first.stdin
        assert first.stdout
        first.stdin.write("rook join amy >/dev/null && rook inbox --json\n")
        first.stdin.flush()
        assert json.loads(first.stdout.readline())["agent"] == "amy"
        second = tmp_path / "second.sh"
        second.write_text("rook join amy; echo $?; rook join amy --takeover >/dev/null; rook inbox --json\n")
        done = subprocess.run(
            ["bash", str(second)], env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert done.stdout.splitlines()[0] == "1"
        assert "--takeover" in done.stderr
        assert json.loads(done.stdout.splitlines()[1])["agent"] == "amy"
        first.stdin.write("rook inbox --json\n")
        first.stdin.close()
        assert json.loads(first.stdout.readline())["error"]["code"] == "SESSION_FENCED"


@pytest.mark.slow
def test_a_command_run_by_an_agent_program_binds_the_program(tmp_path: Path):
    """Agent programs run each command in a shell of its own; the session outlives that shell."""
    environ = {
        "PATH": f"{BIN}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "ROOK_HOME": str(tmp_path / "h"),
        "ROOK_TEAM": "t",
    }
    program = tmp_path / "agent.py"
    program.write_text(
        "import subprocess\n"
        "sh = lambda c: subprocess.run(['bash', '-c', c], capture_output=True, text=True).stdout\n"
        "sh('rook join amy')\n"
        "print(sh('true; rook inbox --json'), end=''); print(sh('rook who --json; true'), end='')\n"
    )
    done = subprocess.run(
        [sys.executable, str(program)], env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    inbox, who = (json.loads(line) for line in done.stdout.splitlines())
    assert inbox["agent"] == "amy"
    assert [(a["name"], a["live"]) for a in who["agents"]] == [("amy", True)]


@pytest.mark.slow
def test_wait_is_woken_by_mail_from_another_process(rook: Terminal):
    with subprocess.Popen(
        [str(BIN / "rook"), "--as", "implementer", "wait", "--timeout", "30", "--json"],
        stdout=subprocess.PIPE, text=True, env={"PATH": "/usr/bin:/bin", **rook.environ},
    ) as waiter:  # fmt: skip
        id = send(rook)
        assert waiter.stdout
        assert json.loads(waiter.stdout.read())["messages"][0]["id"] == id


def test_wait_gives_up(rook: Terminal):
    reply = rook("--as", "implementer", "wait", "--timeout", "0")
    assert reply.code == 1
    assert "implementer" in reply.err


@pytest.mark.slow
def test_following_starts_with_the_past_and_goes_on(rook: Terminal):
    with subprocess.Popen(
        [str(BIN / "rook"), "feed", "-f", "--json", "--type", "message"],
        stdout=subprocess.PIPE, text=True, env={"PATH": "/usr/bin:/bin", **rook.environ},
    ) as follower:  # fmt: skip
        assert follower.stdout
        ids = [send(rook), send(rook), send(rook)]
        told = [json.loads(line) for line in islice(follower.stdout, 3)]
        follower.kill()
    assert [event["ref"] for event in told] == ids


def test_auto_join_only_where_it_is_wanted(rook: Terminal):
    assert rook.ok("join", "robin", "--auto") == ""
    rook.environ["ROOK_MESH_AUTO_JOIN_PATHS"] = str(rook.folder.parent) + "/*"
    assert "robin" in rook.ok("join", "robin", "--auto")
    rook.environ["ROOK_MESH_AUTO_JOIN_PATHS"] = "/somewhere/else"
    assert rook.ok("join", "other", "--auto") == ""


def test_backup_is_a_database_of_its_own_and_overwrites_nothing(rook: Terminal, tmp_path: Path):
    id = send(rook)
    copy = tmp_path / "copy" / "rookery.db"
    copy.parent.mkdir(mode=0o700)
    rook.ok("backup", str(copy))
    assert copy.stat().st_mode & 0o777 == 0o600
    assert rook("backup", str(copy)).code == 1
    rook.environ["ROOK_STORE"] = str(copy)
    assert rook.json("--as", "implementer", "inbox")["messages"][0]["id"] == id


def test_the_doctor_names_a_schema_from_the_future(rook: Terminal, tmp_path: Path):
    import apsw

    path = tmp_path / "home" / "rookery.db"
    other = apsw.Connection(str(path))
    other.execute("PRAGMA user_version = 999").fetchall()
    other.close()
    reply = rook("doctor", "--json")
    assert reply.code == 1
    (bad,) = [c for c in json.loads(reply.out)["checks"] if c["check"] == "store"]
    assert "999" in bad["seen"]
    assert "upgrade" in bad["do"]


def test_config_shows_where_a_value_came_from(rook: Terminal, tmp_path: Path):
    (tmp_path / "rookery.toml").write_text("[mesh]\nstuck_s = 60\n")
    rook.environ["ROOK_MESH_IDLE_S"] = "42"
    rows = {row["name"]: row for row in rook.json("config")["settings"]}
    assert (rows["mesh.stuck_s"]["value"], rows["mesh.stuck_s"]["source"]) == (60, str(tmp_path / "rookery.toml"))
    assert "ROOK_MESH_IDLE_S" in rows["mesh.idle_s"]["source"]
    assert rows["mesh.active_s"]["source"] == "default"


def test_mailboxes_go_out_and_come_back(rook: Terminal, tmp_path: Path):
    id = send(rook)
    assert rook.json("export", "mailboxes", "tree")["exported"] == 1
    assert (tmp_path / "tree" / "implementer" / "inbox" / f"{id}.json").exists()
    rook.environ["ROOK_TEAM"] = "copy"
    assert rook.json("import", "mailboxes", "tree") | {"folder": ""} == {"imported": 1, "skipped": 0, "folder": ""}
    assert rook.json("--as", "implementer", "inbox")["messages"][0]["id"] == id


@pytest.mark.parametrize(("argv", "near"), [
    (("verdict", "w1", "promot"), "Did you mean promote?"), (("land", "lst"), "Did you mean list?"),
    (("sned", "x"), "Did you mean send"), (("send", "ada", "-p", "urgnt"), "Did you mean urgent?"),
])  # fmt: skip
def test_what_was_nearly_right_is_guessed(rook: Terminal, argv: tuple[str, ...], near: str):
    reply = rook(*argv)
    assert reply.code == 2
    assert near in reply.err
    assert "rook: rook" not in reply.err
