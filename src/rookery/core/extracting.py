"""Evidence made of what an agent program tells of itself. Pure: events of `activity` in, pieces of evidence out.

    command, test    a shell's command with what came of it; it is a test run if its output is one's
    edit             a file, how it was changed, where first, by how many lines
    error            what the program says went wrong, and tools that failed
    prompt, response what was said; code: longer blocks in a response
    commit           what git said of a commit

A call waits for its answer. What is told twice has the same ref, `HOST:SESSION:ID`, so that whoever reads again, or
reads what another has read, adds nothing. It is the program's word, and nothing is taken for true because of it.
"""

from collections.abc import Iterable, Sequence

from . import activity, diffs, secrets, testruns, text
from .activity import Edit, Event
from .evidence import Found

CODE_LINES = 4  # as long a block of a response has to be to stand for itself
BLOCKS = 20  # of one response
WAITING = 256  # calls without an answer
PART = 120  # characters of a part of a ref
TITLE = 800  # characters of one line: it is cut to what is shown when secrets were taken out, lest half of one is left
COMMITS = 10  # of one command
_COMMAND = 2_000  # characters of a command that are kept beside its line
_FENCES = ("```", "~~~")


class Extractor:
    """One session's evidence, in the order in which it is told."""

    def __init__(self, host: str, scope: str = "", root: str = "") -> None:
        """`scope` is whose ids they are; left out: the session that the events name. `root` is where it works."""
        self._host = host
        self._scope = scope
        self._is_told = bool(scope)
        self._root = root.rstrip("/") + "/" if root else ""
        self._calls: dict[str, Event] = {}
        self._parts: list[Event] = []

    @property
    def is_waiting(self) -> bool:
        """Is anything begun of which the rest has not been told?"""
        return bool(self._calls or self._parts)

    def take(self, events: Iterable[Event]) -> list[Found]:
        found: list[Found] = []
        for event in events:
            if event.session and not self._is_told:
                self._scope = event.session
            if self._parts and not (event.part and event.kind == self._parts[0].kind):
                found += self._joined()
            if event.part:
                self._parts.append(event)
            else:
                found += self._taken(event)
        return found

    def rest(self) -> list[Found]:
        """What is left when nothing more will be told: commands that no answer came to."""
        found = self._joined()
        while self._calls:
            found += self._left()
        return found

    def _joined(self) -> list[Found]:
        if not self._parts:
            return []
        whole = self._parts[0]._replace(text="".join(part.text for part in self._parts), part=False)
        self._parts = []
        return self._taken(whole)

    def _taken(self, event: Event) -> list[Found]:
        if event.kind == activity.CALL and event.id:
            self._calls[event.id] = event
            return self._left() if len(self._calls) > WAITING else []
        if event.kind == activity.ANSWER:
            call = self._calls.pop(event.id, None)
            return self._did(call, event) if call else []
        if event.kind == activity.DONE:
            self._calls.pop(event.id, None)
            return self._did(event, event)
        if event.kind in (activity.PROMPT, activity.TEXT) and event.text.strip():
            return self._said(event)
        if event.kind == activity.ERROR and event.text.strip():
            return [Found("error", self._ref(event), _first(event.text), event.text, {}, True)]
        return []

    def _left(self) -> list[Found]:
        """The oldest call that waits is given up: a command was begun, and whether an edit was made is not known."""
        call = self._calls.pop(next(iter(self._calls)))
        found = self._ran(call, Event(activity.ANSWER)) if call.command else []
        return [each._replace(data={**each.data, "unfinished": True}) for each in found]

    def _ref(self, event: Event, *more: str) -> str:
        id = event.id or f"{event.kind}-{digest(event.text + event.command)}"
        return ":".join(_plain(part) for part in (self._host, self._scope or "-", id, *more))

    # -- words ---------------------------------------------------------------------------------------------------------

    def _said(self, event: Event) -> list[Found]:
        if event.kind == activity.PROMPT:
            return [Found("prompt", self._ref(event), _first(event.text), event.text)]
        found = [Found("response", self._ref(event), _first(event.text), event.text)]
        for n, (language, lines) in enumerate(blocks(event.text)[:BLOCKS], 1):
            body, data = "\n".join(lines) + "\n", {"language": language, "lines": len(lines)}
            title = f"{language}: {_first(body)}" if language else _first(body)
            found.append(Found("code", self._ref(event, f"code{n}"), title, body, data))
        return found

    # -- deeds ---------------------------------------------------------------------------------------------------------

    def _did(self, call: Event, answer: Event) -> list[Found]:
        if call.command:
            return self._ran(call, answer)
        if answer.ok and call.edits:
            return self._edited(call, answer)
        if answer.ok:
            return []
        title = text.one_line(f"{call.tool} {self._inside(call.target)}: {answer.text.strip()}", TITLE)
        return [Found("error", self._ref(call), title, answer.text, {"tool": call.tool}, True)]

    def _ran(self, call: Event, answer: Event) -> list[Found]:
        output = answer.text
        data: dict[str, object] = {"command": secrets.redacted(call.command)[0][:_COMMAND]}
        if answer.code is not None:
            data["exit"] = answer.code
        failed, kind = not answer.ok or bool(answer.code), "command"
        if counted := testruns.parsed(output):
            kind, failed = "test", failed or bool(counted.failed or counted.errors)
            data |= counted._asdict()
        found = [Found(kind, self._ref(call), text.one_line(call.command, TITLE), output, data, failed)]
        return found if failed or "git" not in call.command else found + commits(output)

    def _edited(self, call: Event, answer: Event) -> list[Found]:
        known = {edit.path: edit for edit in answer.edits if edit.patch}
        changed: dict[str, list[Edit]] = {}
        for edit in call.edits:
            changed.setdefault(edit.path, []).append(edit)
        found: list[Found] = []
        for n, (path, edits) in enumerate(changed.items()):
            shown = diffs.shown([known[path]] if path in known else edits)
            data: dict[str, object] = {"path": self._inside(path)}
            if shown.text:  # else nothing was told but the file
                data |= {"line": shown.line, "added": shown.added, "removed": shown.removed}
            title = f"{data['path']} +{shown.added} -{shown.removed}" if shown.text else data["path"]
            ref = self._ref(call, f"file{n + 1}") if n else self._ref(call)
            found.append(Found("edit", ref, text.one_line(str(title), TITLE), shown.text, data))
        return found

    def _inside(self, path: str) -> str:
        return path.removeprefix(self._root) if self._root else path


def blocks(said: str) -> list[tuple[str, Sequence[str]]]:
    """The fenced blocks of a text that have some lines, each with its language. One that does not end is none."""
    found: list[tuple[str, Sequence[str]]] = []
    fence, language, lines = "", "", list[str]()
    for line in said.split("\n"):
        bare = line.strip()
        if fence:
            if bare.startswith(fence) and not bare.strip(fence[0]):
                if len(lines) >= CODE_LINES:
                    found.append((language, lines))
                fence, lines = "", []
            else:
                lines.append(line)
        elif bare.startswith(_FENCES):
            info = bare.lstrip(bare[0])
            fence, language = bare[: len(bare) - len(info)], text.one_line(info, 30).partition(" ")[0]
    return found


def commits(output: str) -> list[Found]:
    """What git said of the commits that it made: `[main 1a2b3c4] Subject`."""
    found: list[Found] = []
    for line in output.split("\n"):
        head, ends, subject = line.partition("] ")
        branch, _, sha = head.removeprefix("[").rpartition(" ")
        branch = branch.removesuffix(" (root-commit)")
        if ends and line.startswith("[") and branch and len(sha) >= 7 and not sha.strip("0123456789abcdef"):
            title = text.one_line(f"{sha} {subject}", TITLE)
            found.append(Found("commit", f"git:{sha[:40]}", title, "", {"sha": sha[:40], "branch": branch[:200]}))
    return found[:COMMITS]


def _first(said: str) -> str:
    """The first line that says anything."""
    return text.one_line(said.strip().partition("\n")[0], TITLE)


def digest(said: str) -> str:
    import hashlib

    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:16]


def _plain(part: str) -> str:
    """As a part of a ref: without what would end one."""
    if len(part) > PART:
        part = digest(part)
    return "".join(sign if sign.isprintable() and sign not in " :" else "_" for sign in part) or "-"
