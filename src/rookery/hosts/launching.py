"""How an agent program is started as a worker. Pure: what is wanted in, an argument vector out.

    interactive   the program in a terminal, as a person has it: the first prompt is its last argument, and it stays
    headless      the program without one: the prompt is its standard input, what it does a JSON stream on its standard
                  output (`streams`), and it ends with its turn

What a worker may do is one word, `permissions`, and none of those that are given without asking for them lifts a limit
that the program has of itself:

    edit    files in its folder; commands that the program lets run then, `rook`, and those named in `commands`
    read    nothing is written; `rook` runs, so that it can report
    ask     the program's own settings; what it asks, a person answers
    all     anything, without a question: only where a kind says so

A text is one argument or standard input, never a shell's. One that could be taken for a command of the program's own
(`/quit`, `!ls`, `@file`) gets words before it. What each program does with all this was seen by running it
(tests/hosts/test_launched.py, docs/workers-hosts.md).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rookery.core import errors, kinds, text, workers
from rookery.core.record import NamedTuple

from .quoting import inline, toml
from .reaching import TEXT_LIMIT, is_id

INTERACTIVE, HEADLESS = "interactive", "headless"
BACKENDS = {"tmux": INTERACTIVE, "pty": INTERACTIVE, INTERACTIVE: INTERACTIVE, HEADLESS: HEADLESS}
EDIT, READ, ASK, ALL = "edit", "read", "ask", "all"
PERMISSIONS = (EDIT, READ, ASK, ALL)
SCRIPT = "script"
OWN = "rook"  # the command that every worker may run
SERVER = "rook"
CODEX_FLAGS = "/<session-flags>/config.toml"  # the file that it takes its arguments for
OPENING = "Your task:\n\n"
# What the server of a worker's tools is told of its surroundings, by programs that tell it only what is named.
PASSED_ON = ("ROOK_HOME", "ROOK_STORE", "ROOK_TEAM", "ROOK_AGENT", "ROOK_TOKEN_FILE", "ROOK_WORKER", "ROOK_RUN")


class Order(NamedTuple):
    """A worker that is wanted."""

    host: str
    backend: str
    prompt: str  # the first thing it is told
    program: tuple[str, ...] = ()  # the words that start it; its own name where none are given
    model: str = ""
    seed: str = ""  # the session of the same program that it goes on from, which stays as it is
    guardrails: str = ""  # what binds it besides its task
    permissions: str = EDIT
    commands: tuple[str, ...] = ()  # the beginnings of more commands that it may run
    folders: tuple[str, ...] = ()  # besides its tree, those that it may read and write: its own worker folder
    server: tuple[str, ...] = ()  # the words that start Rookery's MCP server, for programs that take one
    hooks: str = ""  # how hooks call `rook`, for programs that are given theirs when they start; empty: it has them
    closed: bool = False  # a tool whose hook does not answer is refused
    trusted: bool = False  # the person trusts what this repository has set up for the program
    tree: str = ""  # the folder that it is started in
    task: str = ""
    brief: str = ""  # the path of its task.md


class Launch(NamedTuple):
    argv: tuple[str, ...]
    stdin: str | None = ""  # None: its terminal
    environ: Mapping[str, str] = {}  # besides the common ones
    streams: bool = False  # what it prints is read by `streams`
    typed: str = ""  # the first prompt, where it has to be brought to it when it runs


def launch(order: Order) -> Launch:
    """How it is started; a refusal says what the program can not."""
    order = _seeded(order)
    _check(order)
    if order.host == SCRIPT:
        return Launch(order.program, "", {"ROOK_TASK": order.task, "ROOK_BRIEF": order.brief})
    order = order._replace(program=order.program or (order.host,), prompt=_opened(order.prompt))
    made = _HOSTS[order.host](order, BACKENDS[order.backend] == HEADLESS)
    if BACKENDS[order.backend] == HEADLESS:
        return made._replace(stdin=_told(order), streams=True)
    return _fitting(order, made._replace(stdin=None))


def program(host: str, given: Sequence[str], known: Mapping[str, Mapping[str, Sequence[str]]]) -> tuple[str, ...]:
    """The words that start a program: those that were given, else those of the setting `hosts`, else its name."""
    own = () if host == SCRIPT else (host,)
    return tuple(given) or tuple(known.get(host, {}).get("program", ())) or own


def can_fork(host: str) -> bool:
    """Whether a session of this program can go on as two."""
    return host in _FORKING


def _check(order: Order) -> None:
    workers.check_host(order.host)
    if order.backend not in BACKENDS:
        raise errors.BadInput(f"No backend {text.quoted(order.backend)}.", "One of: tmux, pty, headless.")
    if order.permissions not in PERMISSIONS:
        raise errors.BadInput(f"No permissions {text.quoted(order.permissions)}.", f"One of: {', '.join(PERMISSIONS)}.")
    for what, said in (("the prompt", order.prompt), ("the guardrails", order.guardrails), ("the model", order.model)):
        text.check_text(said, what)
    if order.model[:1] == "-":
        raise errors.BadInput(f"{text.quoted(order.model)} is no model.", "A model's name does not begin with a dash.")
    for command in order.commands:
        _check_command(command)
    if order.host == SCRIPT and not order.program:
        hint = "Say --program COMMAND, or name it as [hosts.script] program in your own settings."
        raise errors.BadInput("The scripted host needs the program to run.", hint, code="NO_PROGRAM")
    _check_seed(order)


def _check_command(command: str) -> None:
    if not kinds.is_plain_command(command):
        raise errors.BadInput(
            f"{text.quoted(command)} can not be allowed as a command.",
            "Say how it begins, in plain words: `make test`, `npm run lint`.",
            code="BAD_COMMAND",
        )


def _seeded(order: Order) -> Order:
    """A seed may say of which program it is: `claude:ID`."""
    program, colon, id = order.seed.partition(":")
    if not colon:
        return order
    if program != order.host:
        raise errors.Refused(
            f"The session to go on from is one of {text.quoted(program)}, and the worker's program is {order.host}.",
            f"Say --host {text.word(program)}, or start it without a seed.",
            code="CAN_NOT_FORK",
        )
    return order._replace(seed=id)


def _check_seed(order: Order) -> None:
    if not order.seed:
        return
    if not can_fork(order.host):
        raise errors.Refused(
            f"A session of {order.host} can not go on as two.",
            f"Start it without a seed; {', '.join(_FORKING)} can.",
            code="CAN_NOT_FORK",
        )
    if not is_id(order.seed):
        raise errors.BadInput(f"{text.quoted(order.seed)} is no session.", "Give the program's own id of it.")


def _opened(prompt: str) -> str:
    """The prompt in words that are no command of the program's own."""
    said = prompt.strip()
    return said if said[:1].isalnum() else OPENING + said


def _told(order: Order) -> str:
    """The first prompt, with the guardrails where the program has no other place for them."""
    if order.guardrails and order.host not in _SYSTEM_PROMPTS:
        return f"{order.guardrails.strip()}\n\n{order.prompt}"
    return order.prompt


def _fitting(order: Order, made: Launch) -> Launch:
    """With the prompt as an argument, or to be typed if it is longer than an argument may be."""
    prompt = _told(order)
    if len(prompt.encode("utf-8", "replace")) > TEXT_LIMIT:
        return made._replace(typed=prompt)
    return made._replace(argv=(*made.argv, *_PROMPTED[order.host](prompt)))


# -- each program ----------------------------------------------------------------------------------------------------


def _claude(order: Order, headless: bool) -> Launch:
    streamed = ("--print", "--output-format", "stream-json", "--verbose") if headless else ()
    modes = {
        EDIT: ("--permission-mode", "acceptEdits"),
        READ: ("--permission-mode", "dontAsk", "--disallowedTools=Edit,Write,NotebookEdit"),
        ASK: (),
        ALL: ("--dangerously-skip-permissions",),
    }
    allowed = [f"Bash({command} *)" for command in _commands(order)]
    if order.server:
        allowed.append(f"mcp__{SERVER}")
    words = [*order.program, *streamed, *modes[order.permissions], f"--allowedTools={','.join(allowed)}"]
    words += _model(order, "--model") + [f"--add-dir={folder}" for folder in order.folders]
    if order.guardrails:
        words.append(f"--append-system-prompt={order.guardrails}")
    if order.server:
        words.append(f"--mcp-config={_json({'mcpServers': {SERVER: _server(order)}})}")
    if order.hooks:
        words.append(f"--settings={_json({'hooks': _hooks(order)})}")
    if order.seed:
        words += ["--resume", order.seed, "--fork-session"]
    return Launch(tuple(words))


def _codex(order: Order, headless: bool) -> Launch:
    """Its options come before the word that forks. In its sandbox nothing has to be asked: what is not let through
    fails. Its servers run outside of it: a reader reports by their tools."""
    modes = {EDIT: "workspace-write", READ: "read-only", ALL: "danger-full-access"}
    words = [*order.program, *(("exec", "--json") if headless else ())]
    if order.permissions in modes:
        words += ["--sandbox", modes[order.permissions]]
        words += [] if headless else ["--ask-for-approval", "never"]
    words += _model(order, "--model")
    if order.permissions != READ:  # beside a sandbox that lets nothing be written it does not start
        words += [f"--add-dir={folder}" for folder in order.folders]
    if order.guardrails:
        words += ["-c", f"developer_instructions={toml(order.guardrails)}"]
    if order.server:
        words += ["-c", f"mcp_servers.{SERVER}={_codex_server(order)}"]
    if order.hooks:
        words += ["-c", f"hooks={_codex_hooks(order)}"]
    if order.seed:  # at a terminal it would ask in which folder: the session's, or its own
        words += [*(("--cd", order.tree) if order.tree else ()), "fork", order.seed]
    return Launch((*words, *(("-",) if headless else ())))


def _codex_server(order: Order) -> str:
    args, passed = (", ".join(map(toml, each)) for each in (order.server[1:], PASSED_ON))
    return (
        f"{{command={toml(order.server[0])}, args=[{args}], env_vars=[{passed}], startup_timeout_sec=30, required=true,"
        ' default_tools_approval_mode="approve"}'
    )


def _codex_hooks(order: Order) -> str:
    """With the digests by which it trusts these very hooks, and no others, for this one session."""
    from . import trust

    groups = _hooks(order)
    trusted = {name: {"trusted_hash": digest} for _, name, digest in trust.codex_hooks(CODEX_FLAGS, {"hooks": groups})}
    return inline({**groups, "state": trusted})


def _gemini(order: Order, headless: bool) -> Launch:
    """Its shell is not kept from other folders; to name one makes it ask whether that is trusted."""
    modes = {EDIT: "auto_edit", READ: "plan", ASK: "default", ALL: "yolo"}
    words = [*order.program, f"--approval-mode={modes[order.permissions]}"]
    words += ["--skip-trust"] if order.trusted else []
    words += ["--output-format", "stream-json"] if headless else []
    if order.permissions != ALL:  # beside that, it would allow no others
        words += [f"--allowed-tools=run_shell_command({command})" for command in _commands(order)]
    return Launch((*words, *_model(order, "--model")))


def _opencode(order: Order, headless: bool) -> Launch:
    """Of itself it asks only for what is outside its folder; its rules are settings, which its environment may hold."""
    words = [*order.program, *(("run", "--format", "json") if headless else ())]
    words += _model(order, "--model")
    words += ["--auto"] if order.permissions == ALL else []
    said: dict[str, object] = {}
    if order.permissions == READ:
        allowed = {f"{command} *": "allow" for command in _commands(order)}
        said["permission"] = {"edit": "deny", "bash": {"*": "deny", **allowed}}
    if order.server:
        said["mcp"] = {SERVER: {"type": "local", "command": list(order.server)}}
    return Launch(tuple(words), environ={"OPENCODE_CONFIG_CONTENT": _json(said)} if said else {})


def _copilot(order: Order, headless: bool) -> Launch:
    """`--trust-folder` is for a session without a terminal."""
    words = [*order.program, "--no-auto-update", *(("--output-format", "json", "--no-ask-user") if headless else ())]
    words += ["--trust-folder"] if order.trusted and headless else []
    words += [f"--add-dir={folder}" for folder in order.folders] + _model(order, "--model")
    if order.server:
        known = {"type": "local", "tools": ["*"], **_server(order)}
        words += [f"--additional-mcp-config={_json({'mcpServers': {SERVER: known}})}", f"--allow-tool={SERVER}"]
    words += [f"--allow-tool=shell({command}:*)" for command in _commands(order)]
    modes = {EDIT: ("--allow-tool=write",), READ: ("--deny-tool=write",), ASK: (), ALL: ("--allow-all-tools",)}
    return Launch((*words, *modes[order.permissions]))


def _pi(order: Order, headless: bool) -> Launch:
    """It asks for nothing and limits nothing but the tools that it has. A reader has no shell, and so no `rook`."""
    words = [*order.program, *(("--mode", "json", "--print") if headless else ())]
    words += ["--approve" if order.trusted else "--no-approve"]
    words += ["--tools", "read,grep,find,ls"] if order.permissions == READ else []
    words += _model(order, "--model") + (["--fork", order.seed] if order.seed else [])
    words += ["--append-system-prompt", order.guardrails] if order.guardrails else []
    return Launch(tuple(words))


_HOSTS: Mapping[str, Callable[[Order, bool], Launch]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
    "copilot": _copilot,
    "pi": _pi,
}
_PROMPTED: Mapping[str, Callable[[str], Sequence[str]]] = {
    "claude": lambda prompt: ("--", prompt),
    "codex": lambda prompt: ("--", prompt),
    "gemini": lambda prompt: (f"--prompt-interactive={prompt}",),
    "opencode": lambda prompt: (f"--prompt={prompt}",),
    "copilot": lambda prompt: (f"--interactive={prompt}",),
    "pi": lambda prompt: ("--", prompt),
}
HOOKED = ("claude", "codex")  # those that take hooks as arguments
_SYSTEM_PROMPTS = ("claude", "codex", "pi")
_FORKING = ("claude", "codex", "pi")  # OpenCode does it too, and then does not end: a session is bound to its folder


def _commands(order: Order) -> tuple[str, ...]:
    return tuple(dict.fromkeys((OWN, *order.commands)))


def _model(order: Order, option: str) -> list[str]:
    return [option, order.model] if order.model else []


def _server(order: Order) -> dict[str, object]:
    return {"command": order.server[0], "args": list(order.server[1:])}


def _hooks(order: Order) -> dict[str, list[dict[str, Any]]]:
    from . import setup

    return setup.given(order.host, order.hooks, closed=order.closed)


def _json(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
