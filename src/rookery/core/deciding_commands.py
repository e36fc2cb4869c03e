"""Shell commands in which an agent would decide for the user: found in their text, before they run.

The ledger refuses such calls from inside an agent tree. What it can not see is a window that an agent opens in the
user's own terminal multiplexer, so the hook reads commands for what would be typed there. This is a net against eager
agents, not a proof: text can be hidden.
"""

import re

_DECIDING = {
    "rule": ("add", "remove"), "land": ("add", "retry", "undo", "drop"), "team": ("set",), "token": ("new", "revoke"),
    "kinds": ("add", "drop"), "budget": ("set",), "config": ("set",), "trust": (), "restore": (), "web": (),
    "store": ("move", "copy"),
}  # fmt: skip
_JUDGING = ("verdict", "answer", "task")  # an agent may, as itself; in a window it would be the user
# Programs that run text given to them, in a place that is not below the agent program.
_ELSEWHERE = re.compile(
    r"(?:^|[\s;&|(/])(?:tmux|screen|zellij|dtach|abduco|script|ssh|at|batch|systemd-run|xterm|setsid|daemonize)\b"
)
_RUNS_TEXT = re.compile(r"(?:^|[\s;&|(/])(?:\w*sh|eval|source|xargs|parallel|python[\d.]*|perl|ruby|node|expect)\b")
_READS = re.compile(r"^\s*(?:echo|printf|cat|grep|rg|sed|awk|git|ls|man|less|head|tail|wc|diff|jq)\b")
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)")
_ROOK = re.compile(r"(?:^|[\s;&|(/=`])(?:rook|-m\s+rookery)\s+(?P<words>[^;&|\n)`]*)")
_AS_USER = re.compile(r"--as[= ]+user\b|\bROOK_AGENT=user\b", re.IGNORECASE)
_OPTIONS_WITH_VALUE = ("--as", "--team")
TEXT_LIMIT = 1 << 17  # characters; a longer command is judged by its beginning


def find(command: str) -> str:
    """The part of a shell command that would decide for the user; "" if there is none."""
    text = _plain(command)
    if "rook" not in text or (_READS.match(text) and not (_RUNS_TEXT.search(text) or _ELSEWHERE.search(text))):
        return ""
    elsewhere = bool(_ELSEWHERE.search(text))
    for found in _ROOK.finditer(text):
        said = found["words"].strip()
        before = text[max(0, found.start() - 80) : found.end()]
        if _AS_USER.search(said) or _AS_USER.search(before) or _decides(said.split(), elsewhere):
            return f"rook {said}"[:120]
    return ""


def _plain(command: str) -> str:
    """Without quotes, and without here documents that nothing runs."""
    kept: list[str] = []
    end = ""
    for line in command[:TEXT_LIMIT].split("\n"):
        if end:
            end = "" if line.strip() == end else end
            continue
        kept.append(line)
        found = _HEREDOC.search(line)
        if found and not (_RUNS_TEXT.search(line) or _ELSEWHERE.search(line)):
            end = found[1]
    return re.sub(r"[\"'\\]", "", "\n".join(kept))


def _decides(words: list[str], elsewhere: bool) -> bool:
    said: list[str] = []
    values = 0
    for word in words:
        if values:
            values -= 1
        elif word in _OPTIONS_WITH_VALUE:
            values = 1
        elif not word.startswith("-"):
            said.append(word)
    first, second = [*said, "", ""][:2]
    if first in _DECIDING:
        return not _DECIDING[first] or second in _DECIDING[first]
    return (first == "verdict" and "promote" in said) or (elsewhere and first in _JUDGING)


def denial(part: str) -> str:
    return (
        f"Rookery: not run. `{part}` decides for the user, and you are an agent.\n"
        "Ask them instead: `rook ask` (a worker) or `rook escalate`. They decide in a terminal of their own."
    )
