"""The plugins for OpenCode and pi, under a real Node: they ask without a shell, obey, and fail as they were set to."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rookery.hosts import setup
from rookery.runtime import installed
from tests.support.families import few
from tests.support.panes import until

pytestmark = pytest.mark.node
NODE = shutil.which("node") or "node"
TEXTS = {name: installed.packaged("hosts", "plugins", name) for name in setup.TEXTS}
ODD = 'it\'s $HOME `id` "x"\nend'

# Stands for rook: writes down how it was called, and answers by moment from answers.json.
ROOK = f"""#!{sys.executable} -IS
import json, os, sys, time
here = os.path.dirname(os.path.abspath(__file__))
with open(here + "/asked.jsonl", "a") as log:
    log.write(json.dumps({{"words": sys.argv[1:], "given": json.loads(sys.stdin.read()), "cwd": os.getcwd(),
                          "pid": os.getpid()}}) + "\\n")
answer = json.load(open(here + "/answers.json")).get(sys.argv[3], {{}})
if "sleep" in answer:
    time.sleep(answer["sleep"])
sys.stderr.write(answer.get("err", ""))
sys.stdout.write(answer.get("out", ""))
sys.exit(answer.get("code", 0))
"""
OPENCODE = """
import { Rookery } from "./plugin.mjs"
const said = []
const client = { session: { prompt: async (what) => said.push(what) } }
const hooks = await Rookery({ client, directory: DIRECTORY })
const tried = async (name, ...args) => { try { await hooks[name](...args) } catch (error) { return error.message } }
const session = { sessionID: "ses_1" }
const prompt = { parts: [{ type: "text", text: "do it" }] }
const system = { system: [] }
const after = { output: "done" }
const server = { content: [] }
await hooks.event({ event: { type: "session.created", properties: { info: { id: "ses_1" } } } })
await hooks["chat.message"](session, prompt)
await hooks["experimental.chat.system.transform"](session, system)
const write = { ...session, tool: "write", callID: "c1" }
const before = await tried("tool.execute.before", write, { args: { filePath: ODD } })
await hooks["tool.execute.after"]({ ...write, args: { filePath: ODD } }, after)
await hooks["tool.execute.after"]({ ...session, tool: "mcp", callID: "c2" }, server)
await hooks["experimental.text.complete"](session, {})
if (said.length) await hooks["chat.message"](session, { parts: [{ type: "text", text: said[0].body.parts[0].text }] })
console.log(JSON.stringify({ prompt, system: system.system, before, after, server, said }))
"""
PI = """
import extension from "./plugin.mjs"
const handlers = {}
extension({ on: (name, handler) => { handlers[name] = handler } })
const context = { cwd: DIRECTORY, sessionManager: { getSessionId: () => "s1", getSessionFile: () => "/t.jsonl" } }
const told = {}
const call = { toolName: "write", toolCallId: "c1", input: { path: ODD } }
await handlers.session_start({}, context)
told.prompt = await handlers.before_agent_start({ prompt: "do it" }, context)
told.before = await handlers.tool_call(call, context)
told.after = await handlers.tool_result({ ...call, content: [{ type: "text", text: "done" }] }, context)
told.stop = await handlers.agent_before_settle({ entries: [] }, context)
told.again = await handlers.agent_before_settle({ entries: [] }, context)
await handlers.session_shutdown({}, context)
console.log(JSON.stringify(told))
"""
# A program that comes to rest. DONE is how it goes on: woken, busy again, or over.
RESTS = {
    "opencode": """
import { Rookery } from "./plugin.mjs"
import { existsSync, readFileSync } from "node:fs"
const asked = () => existsSync("asked.jsonl") && readFileSync("asked.jsonl", "utf8").includes('"idle"')
const seen = async () => { while (!asked()) await new Promise((resolve) => setTimeout(resolve, 20)) }
let woken
const text = new Promise((resolve) => { woken = resolve })
const client = { session: { promptAsync: async (what) => woken(what) } }
const hooks = await Rookery({ client, directory: DIRECTORY })
await hooks.event({ event: { type: "session.created", properties: { info: { id: "ses_1" } } } })
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "ses_other" } } })
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "ses_1" } } })
const busy = () => hooks["chat.message"]({ sessionID: "ses_1" }, { parts: [] })
DONE
""",
    "pi": """
import extension from "./plugin.mjs"
import { existsSync, readFileSync } from "node:fs"
const asked = () => existsSync("asked.jsonl") && readFileSync("asked.jsonl", "utf8").includes('"idle"')
const seen = async () => { while (!asked()) await new Promise((resolve) => setTimeout(resolve, 20)) }
let woken
const text = new Promise((resolve) => { woken = resolve })
const handlers = {}
extension({ on: (name, handler) => { handlers[name] = handler }, sendUserMessage: (...what) => woken(what) })
const context = { cwd: DIRECTORY, hasUI: true, sessionManager: { getSessionId: () => "s1" } }
await handlers.agent_settled({}, { ...context, hasUI: false })
await handlers.agent_settled({}, context)
const busy = () => handlers.before_agent_start({}, context)
DONE
""",
}
WOKEN = "console.log(JSON.stringify(await Promise.race([text, new Promise((resolve) => setTimeout(resolve, 60000))])))"
SCRIPTS = {"opencode": ("opencode.js", OPENCODE), "pi": ("pi.ts", PI)}
ONE_BY_DEFAULT = ["opencode", pytest.param("pi", marks=pytest.mark.slow)]  # each question is a process under a process


class Stage:
    def __init__(self, folder: Path, host: str, *, closed: bool = False, rook: str = "") -> None:
        self.folder = folder / ODD
        self.folder.mkdir()
        command = self.folder / "rook"
        command.write_text(ROOK)
        command.chmod(0o755)
        want = setup.Wanted(rook or str(command), closed, TEXTS)
        plugin = next(piece for piece in setup.of_host(host, want) if piece.path.endswith(("rookery.js", "rookery.ts")))
        (self.folder / "plugin.mjs").write_text(plugin.put(None))
        values = f"const DIRECTORY = {json.dumps(str(self.folder))}; const ODD = {json.dumps(ODD)};\n"
        (self.folder / "script.mjs").write_text(values + SCRIPTS[host][1])

    def play(self, **answers: Any) -> dict[str, Any]:
        """What each moment is answered with: a form, or a whole ending."""
        endings = {moment: said if "code" in said or "sleep" in said or "raw" in said else {"out": json.dumps(said)}
                   for moment, said in answers.items()}  # fmt: skip
        for ending in endings.values():
            ending["out"] = ending.get("raw", ending.get("out", ""))
        (self.folder / "answers.json").write_text(json.dumps(endings))
        done = subprocess.run([NODE, "script.mjs"], cwd=self.folder, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def rests(self, host: str, done: str) -> "Stage":
        script = self.folder / "script.mjs"
        script.write_text(script.read_text().partition("\n")[0] + RESTS[host].replace("DONE", done))
        return self

    def asked(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "asked.jsonl").read_text().split("\n")[:-1]]


@pytest.mark.slow
def test_opencode_asks_at_every_moment_and_passes_the_answers_on(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "opencode")
    told = stage.play(start={"context": "you are wren"}, prompt={"context": "mail"}, before={"deny": "held by robin"},
                      after={"context": "news"}, stop={"hold": "read this first"})  # fmt: skip
    assert told["prompt"]["parts"][0]["text"] == "do it\n\nmail"
    assert told["system"] == ["you are wren"]
    assert told["before"] == "held by robin"
    assert told["after"]["output"] == "done\nnews"
    assert told["server"]["content"] == [{"type": "text", "text": "news"}]
    assert told["said"] == [{"path": {"id": "ses_1"}, "body": {"noReply": True, "parts": [
        {"type": "text", "text": "read this first"}]}}]  # fmt: skip
    asked = stage.asked()
    assert [each["words"] for each in asked] == [
        ["hook", "opencode", moment] for moment in ("start", "prompt", "before", "after", "after", "stop")
    ], "what we put in ourselves is no prompt"
    assert asked[2]["given"] == {"event": "before", "session": "ses_1", "cwd": str(stage.folder), "tool": "write",
                                 "input": {"filePath": ODD}, "call": "c1"}  # fmt: skip
    assert asked[1]["given"]["prompt"] == "do it", "it may name what is loaded"
    assert asked[2]["cwd"] == str(stage.folder), "where it runs is no word of a shell either"


@pytest.mark.slow
def test_pi_asks_at_every_moment_and_passes_the_answers_on(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "pi")
    told = stage.play(start={"context": "you are wren"}, prompt={"context": "mail"}, before={"deny": "held by robin"},
                      after={"context": "news"}, stop={"hold": "read this first"})  # fmt: skip
    assert told["prompt"]["message"]["content"] == "you are wren\n\nmail"
    assert told["before"] == {"block": True, "reason": "held by robin"}
    assert [part["text"] for part in told["after"]["content"]] == ["done", "news"]
    assert told["stop"]["continue"] is True
    assert told["stop"]["entries"][0]["content"] == "read this first"
    asked = stage.asked()
    assert [each["given"].get("again") for each in asked if each["words"][2] == "stop"] == [False, True]
    assert asked[-1]["words"] == ["hook", "pi", "end"]
    assert asked[0]["given"]["transcript"] == "/t.jsonl"
    assert [each["given"]["prompt"] for each in asked if each["words"][2] == "prompt"] == ["do it"]


@pytest.mark.slow
@pytest.mark.parametrize("host", ONE_BY_DEFAULT)
def test_a_warning_before_a_tool_comes_with_its_result(tmp_path: Path, host: str) -> None:
    told = Stage(tmp_path, host).play(before={"context": "unchecked"}, after={"context": "news"})
    if host == "pi":
        assert [part["text"] for part in told["after"]["content"]] == ["done", "unchecked\n\nnews"]
    else:
        assert told["after"]["output"] == "done\nunchecked\n\nnews"
    assert "before" not in told, "the tool runs"


@pytest.mark.slow
@pytest.mark.parametrize("host", ONE_BY_DEFAULT)
def test_nothing_to_say_changes_nothing(tmp_path: Path, host: str) -> None:
    told = Stage(tmp_path, host).play()
    if host == "pi":
        assert told == {}
    else:
        assert (told["system"], told["said"], told["after"]["output"]) == ([], [], "done")
        assert "before" not in told


def refusal(host: str, told: dict[str, Any]) -> str:
    said = told.get("before")
    return said["reason"] if isinstance(said, dict) else said or ""


@pytest.mark.parametrize("host", ONE_BY_DEFAULT)
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({"code": 1, "err": "broken"}, id="breaks"),
        pytest.param({"raw": "chess"}, id="no JSON", marks=pytest.mark.slow),
        pytest.param({"raw": "3"}, id="no object", marks=pytest.mark.slow),
        pytest.param({"sleep": 60}, id="too late", marks=pytest.mark.slow),  # it is killed long before
        pytest.param({"code": 3}, id="unreachable", marks=pytest.mark.slow),
    ],
)
def test_without_an_answer_it_is_open_or_closed_as_set(tmp_path: Path, host: str, answer: dict[str, Any]) -> None:
    for closed in (False, True):
        (folder := tmp_path / str(closed)).mkdir()
        stage = Stage(folder, host, closed=closed)
        said = refusal(host, stage.play(before=dict(answer)))
        assert bool(said) is closed, said
        assert ["hook", host, "before", *(["--closed"] if closed else [])] in [each["words"] for each in stage.asked()]
        assert all("--closed" not in each["words"] for each in stage.asked() if each["words"][2] != "before")


@pytest.mark.slow
@pytest.mark.parametrize("host", few(SCRIPTS, "pi"))
def test_without_a_rook_it_is_open_or_closed_as_set(tmp_path: Path, host: str) -> None:
    for closed in (False, True):
        (folder := tmp_path / str(closed)).mkdir()
        said = refusal(host, Stage(folder, host, closed=closed, rook="/nowhere/rook").play())
        assert bool(said) is closed


@pytest.mark.slow
@pytest.mark.parametrize("host", ONE_BY_DEFAULT)
def test_exit_code_2_and_a_question_are_refusals(tmp_path: Path, host: str) -> None:
    stage = Stage(tmp_path, host)
    assert refusal(host, stage.play(before={"code": 2, "err": "no answer in time\n"})) == "no answer in time"
    assert refusal(host, stage.play(before={"ask": "which files?"})) == "which files?"


# -- at rest -----------------------------------------------------------------------------------------------------------


def waiters(stage: Stage) -> list[dict[str, Any]]:
    return [each for each in stage.asked() if each["words"][2] == "idle"]


@pytest.mark.slow
@pytest.mark.parametrize("host", list(RESTS))
def test_what_a_waiting_process_ends_with_begins_a_turn(tmp_path: Path, host: str) -> None:
    stage = Stage(tmp_path, host).rests(host, WOKEN + "; process.exit(0)")
    told = stage.play(idle={"wake": ODD})
    if host == "pi":
        assert told == [ODD, {"deliverAs": "followUp"}]
    else:
        assert told == {"path": {"id": "ses_1"}, "body": {"parts": [{"type": "text", "text": ODD}]}}
    (asked,) = waiters(stage)
    assert asked["words"] == ["hook", host, "idle"]
    assert asked["given"]["session"] == ("s1" if host == "pi" else "ses_1")


@pytest.mark.slow
@pytest.mark.parametrize("host", few(RESTS, "pi"))
@pytest.mark.parametrize("done", ["await seen(); console.log(1)", "await seen(); await busy(); console.log(1)"])
def test_it_does_not_outlive_the_rest_or_the_program_and_keeps_neither_waiting(
    tmp_path: Path, host: str, done: str
) -> None:
    stage = Stage(tmp_path, host).rests(host, done)
    stage.play(idle={"sleep": 600})
    (asked,) = waiters(stage)
    until(lambda: not os.path.exists(f"/proc/{asked['pid']}"), f"{asked['pid']} is gone")
