"""What each agent program needs in a repository to ask Rookery: its hooks, the MCP server, what it reads about us."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from shlex import join, split
from typing import Any, NamedTuple

from rookery.core.errors import BadInput
from rookery.core.hooks import WAIT_S, Moment

from . import claude, known, marked
from .pieces import Block, Hooks, OwnFile, Piece, Server, Switch
from .quoting import toml

TIMEOUT_S = 10  # the hook has a deadline of its own, far below; this is for a machine that is lost in thought
SHORTER = {("codex", "SessionEnd"): 3}  # more than it allows, which it complains of in its stream
SETTINGS = "rookery.toml"
FOLDERS = {
    "claude": ".claude", "codex": ".codex", "gemini": ".gemini", "opencode": ".opencode", "copilot": ".github/hooks",
    "pi": ".pi",
}  # fmt: skip
SKILLS = {"claude": ".claude/skills"}
OTHER_SKILLS = ".agents/skills"
# What tells `rook` where it is and who speaks.
PASSED_ON = (
    "ROOK_HOME", "ROOK_STORE", "ROOK_TEAM", "ROOK_AGENT", "ROOK_URL", "ROOK_TOKEN", "ROOK_TOKEN_FILE", "ROOK_WORKER",
    "ROOK_RUN",
)  # fmt: skip
HOOK_PATH = "/v1/hook/"
TEXTS = ("ask.js", "opencode.js", "pi.ts", "AGENTS.md", "SKILL.md", "pre-commit")


class Wanted(NamedTuple):
    rook: str  # the command: a word, or a full path
    closed: bool  # a tool whose hook does not answer is refused
    texts: Mapping[str, str]  # our own files, as TEXTS names them
    opencode: str = "opencode.json"  # or opencode.jsonc, where that is there
    url: str = ""  # of a daemon that is asked by HTTP, by programs that can


def pieces(hosts: Sequence[str], wanted: Wanted) -> list[Piece]:
    """All that is written for these programs, in the order in which it is shown."""
    found = [piece for host in hosts for piece in _BUILDERS[host](wanted)]
    folders = dict.fromkeys(SKILLS.get(host, OTHER_SKILLS) for host in hosts)
    found += [OwnFile(f"{folder}/rookery/SKILL.md", wanted.texts["SKILL.md"]) for folder in folders]
    found += [Switch(SETTINGS), Block("AGENTS.md", marked.PAGE, wanted.texts["AGENTS.md"])]
    return _once(found)


def _once(found: Sequence[Piece]) -> list[Piece]:
    """Two programs may read one file: what both want there is written once."""
    kept: list[Piece] = []
    for piece in found:
        same = any(type(piece) is type(other) and piece.path == other.path for other in kept)
        if isinstance(piece, Hooks) or not same:  # hooks are each program's own, and may be of two kinds
            kept.append(piece)
    return kept


def of_host(host: str, wanted: Wanted) -> list[Piece]:
    """Only what the program itself reads: hooks first."""
    return _BUILDERS[host](wanted)


def given(host: str, rook: str, *, closed: bool = False) -> dict[str, list[dict[str, Any]]]:
    """A program's hooks, by event, for one that is started with them and finds none in its folder."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for piece in _hooks(host, rook, closed=closed):
        for event, entry in piece.entries.items():
            most = SHORTER.get((host, event), entry["timeout"])
            groups.setdefault(event, []).append({"hooks": [{**entry, "timeout": most}]})
    return groups


def is_hooked(host: str, files: Mapping[str, str]) -> bool:
    """Does one of these files, by their path in a repository, have our hooks already? One that can not be read, by the
    program neither, has none."""
    for piece in _hooks(host, "rook"):
        for path, text in files.items():
            with suppress(BadInput):
                if path == piece.path and piece.found(text):
                    return True
    return False


def has_our_hooks(host: str, files: Mapping[str, str], rook: str, *, closed: bool = False) -> bool:
    """The same for the files of a repository, which anyone may have written: all of our hooks, exactly as this `rook`
    writes them. What only looks like them would leave a worker without a guard."""
    for as_closed in {closed, True}:
        piece = _hooks(host, rook, closed=as_closed)[0]
        with suppress(BadInput):
            if piece.has_all(files.get(piece.path) or "{}"):
                return True
    return False


def hook_files(host: str) -> list[str]:
    """Where a program's hooks may stand, from a repository's folder on."""
    return list(dict.fromkeys(piece.path for piece in _hooks(host, "rook")))


def _hooks(host: str, rook: str, *, closed: bool = False) -> list[Hooks]:
    made = of_host(host, Wanted(rook, closed, dict.fromkeys(TEXTS, "")))
    return [piece for piece in made if isinstance(piece, Hooks)]


# -- words -----------------------------------------------------------------------------------------------------------


def words(wanted: Wanted, host: str, moment: Moment) -> list[str]:
    closed = wanted.closed and moment is Moment.BEFORE
    return [wanted.rook, "hook", host, moment.value, *(["--closed"] if closed else [])]


def is_hook(host: str, *, waits: bool = False) -> Callable[[Mapping[str, Any]], bool]:
    """Is an entry one of ours, whatever path rook had when it was written? Those that wait are looked for apart."""

    def ours(entry: Mapping[str, Any]) -> bool:
        for key in ("command", "bash"):
            said = entry.get(key)
            if isinstance(said, str) and (words := spoken(said, host)):
                return (words[3:4] == [Moment.IDLE.value]) is waits
        return not waits and str(entry.get("url", "")).partition("?")[0].endswith(f"{HOOK_PATH}{host}")

    return ours


def spoken(command: str, host: str) -> list[str]:
    """The words of our call in a command line; none if it has none."""
    try:
        said = split(command)
    except ValueError:
        return []
    for at, word in enumerate(said[1:-1], 1):
        if word == "hook" and said[at + 1] == host and said[at - 1].rpartition("/")[2] == "rook":
            return said[at - 1 :]
    return []


def is_server(value: Mapping[str, Any]) -> bool:
    said = value.get("command")
    line = [*said] if isinstance(said, list) else [said, *value.get("args", ())]
    return len(line) == 2 and str(line[0]).rpartition("/")[2] == "rook" and line[1] == "mcp"


def _stdio(wanted: Wanted) -> dict[str, Any]:
    return {"command": wanted.rook, "args": ["mcp"]}


def _events(host: str) -> Mapping[str, Moment]:
    return known.find(host).events


# -- each program ----------------------------------------------------------------------------------------------------


def _claude(wanted: Wanted) -> list[Piece]:
    """As a line for a shell, though Claude Code can do without one: Copilot runs the hooks of this file too, takes no
    `args`, and has hooks of its own; so it is passed over here."""
    entries: dict[str, Mapping[str, Any]] = {}
    for event, moment in _events("claude").items():
        line = _unless_copilot(words(wanted, "claude", moment))
        block = {"onFailure": "block"} if wanted.closed and moment is Moment.BEFORE else {}
        # The first one binds the program's process, which only a process below it can; the others know the session.
        by_http = bool(wanted.url) and moment is not Moment.START
        how = _by_http(wanted, "claude", moment) if by_http else {"type": "command", "command": line}
        entries[event] = {**how, "timeout": TIMEOUT_S, **block}
    path = ".claude/settings.json"
    waiters = Hooks(path, _waiters(wanted), is_hook("claude", waits=True))
    return [Hooks(path, entries, is_hook("claude")), waiters, _shared_server(wanted)]


def _unless_copilot(line: Sequence[str]) -> str:
    return f'test -n "$COPILOT_CLI" || {join(line)}'


def _waiters(wanted: Wanted) -> dict[str, Mapping[str, Any]]:
    """In the background, after what may be followed by nothing: what it ends with wakes the program."""
    line = _unless_copilot(words(wanted, "claude", Moment.IDLE))
    entry = {"type": "command", "command": line, "timeout": WAIT_S, "asyncRewake": True}
    return dict.fromkeys(claude.WAITS, entry)


def _by_http(wanted: Wanted, host: str, moment: Moment) -> dict[str, Any]:
    """The token is in the program's environment, and never in the file."""
    closed = "?closed=1" if wanted.closed and moment is Moment.BEFORE else ""
    return {"type": "http", "url": f"{wanted.url}{HOOK_PATH}{host}{closed}",
            "headers": {"Authorization": "Bearer $ROOK_TOKEN"}, "allowedEnvVars": ["ROOK_TOKEN"]}  # fmt: skip


def _shared_server(wanted: Wanted) -> Server:
    return Server(".mcp.json", "mcpServers", _stdio(wanted), is_server)


def _codex(wanted: Wanted) -> list[Piece]:
    entries = {
        event: {"type": "command", "command": join(words(wanted, "codex", moment)), "timeout": TIMEOUT_S}
        for event, moment in _events("codex").items()
    }
    # Codex gives a server nothing of its own environment that is not named. `required` is left to the user: with it a
    # first call never comes too early, but Codex does not start for whoever has no `rook`.
    passed = ", ".join(f'"{name}"' for name in PASSED_ON)
    body = (
        f'[mcp_servers.rook]\ncommand = {toml(wanted.rook)}\nargs = ["mcp"]\n'
        f"env_vars = [{passed}]\nstartup_timeout_sec = 30"
    )
    return [
        Hooks(".codex/hooks.json", entries, is_hook("codex")),
        Block(".codex/config.toml", marked.TOML, body, _no_other_server),
    ]


def _no_other_server(text: str, path: str) -> None:
    if marked.says(text, path, "mcp_servers", "rook") is not None:
        raise BadInput(
            f"{path} has an MCP server called rook already.",
            "Remove it, or leave Codex out with --host; nothing was written.", code="BAD_FILE", path=path,
        )  # fmt: skip


def _gemini(wanted: Wanted) -> list[Piece]:
    entries = {
        event: {"type": "command", "command": join(words(wanted, "gemini", moment)), "timeout": TIMEOUT_S * 1000}
        for event, moment in _events("gemini").items()
    }
    path = ".gemini/settings.json"
    return [
        Hooks(path, entries, is_hook("gemini"), comments=True),
        Server(path, "mcpServers", _stdio(wanted), is_server, comments=True),
    ]


def _copilot(wanted: Wanted) -> list[Piece]:
    entries = {
        event: {"type": "command", "bash": join(words(wanted, "copilot", moment)), "timeoutSec": TIMEOUT_S}
        for event, moment in _events("copilot").items()
    }
    hooks = Hooks(".github/hooks/rookery.json", entries, is_hook("copilot"), grouped=False, head={"version": 1})
    return [hooks, _shared_server(wanted)]


def _opencode(wanted: Wanted) -> list[Piece]:
    value = {"type": "local", "command": [wanted.rook, "mcp"], "enabled": True}
    head = {"$schema": "https://opencode.ai/config.json"}
    server = Server(wanted.opencode, "mcp", value, is_server, comments=True, head=head)
    return [OwnFile(".opencode/plugins/rookery.js", _filled("opencode.js", wanted)), server]


def _pi(wanted: Wanted) -> list[Piece]:
    return [
        OwnFile(".pi/extensions/rookery.ts", _filled("pi.ts", wanted)),
        Server(".pi/mcp.json", "mcpServers", _stdio(wanted), is_server),
    ]


def _filled(name: str, wanted: Wanted) -> str:
    """A JSON string is a string of JavaScript too."""
    import json

    text = wanted.texts[name].replace("// @ASK@\n", wanted.texts["ask.js"])
    return text.replace('"@ROOK@"', json.dumps(wanted.rook)).replace('"@CLOSED@"', json.dumps(wanted.closed))


_BUILDERS: dict[str, Callable[[Wanted], list[Piece]]] = {
    "claude": _claude, "codex": _codex, "gemini": _gemini, "opencode": _opencode, "copilot": _copilot, "pi": _pi,
}  # fmt: skip
