"""H46: an error inside the guard is a decision, by the configured policy; never a traceback, never exit code 1."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rookery import door
from rookery.core import errors, hook_failures
from rookery.core.hook_failures import Failure, Policy
from rookery.core.hooks import Moment
from rookery.front.cli import call as calling
from rookery.front.hook import answering, asking, guard, targets
from rookery.hosts import known, profile
from rookery.runtime import resolve, shell
from tests.support import fastdoor, ledger
from tests.support.hooking import BEFORE, Asker, decision, edit, event, reason
from tests.support.hooking import shell as shelled
from tests.support.procs import PATIENCE_S, environment
from tests.support.stores import prepared_home

ROOK = str(Path(sys.executable).parent / "rook")
POLICIES: dict[str, tuple[dict[str, str], tuple[str, ...], str]] = {
    "default": ({}, (), "warn"),
    "closed": ({}, ("--closed",), "deny"),
    "strict": ({"ROOK_GUARD_STRICT": "true"}, (), "deny"),
    "opaque=deny": ({"ROOK_GUARD_OPAQUE": "deny"}, (), "deny"),
    "opaque=ask": ({"ROOK_GUARD_OPAQUE": "ask"}, (), "ask"),
    "opaque=ask, closed": ({"ROOK_GUARD_OPAQUE": "ask"}, ("--closed",), "deny"),
}
each_policy = pytest.mark.parametrize("policy", POLICIES)


@pytest.fixture
def asker(tmp_path: Path) -> Asker:
    """Someone asks where someone else holds src/a.py."""
    (tmp_path / "src").mkdir()
    (tmp_path / "rookery.toml").touch()
    environ = {"HOME": str(tmp_path), "ROOK_HOME": prepared_home(tmp_path / "home"), "ROOK_TEAM": "crew"}
    made = Asker(tmp_path, environ)
    for name in ("holder", "asker"):
        made.ok("join", name)
    made.ok("--as", "holder", "reserve", "src/a.py")
    return made


def judged(asker: Asker, policy: str, given: Any, host: str = "claude") -> tuple[str, str]:
    """(decision, what is expected of the policy)."""
    environ, flags, expected = POLICIES[policy]
    reply = Asker(asker.folder, {**asker.environ, **environ}).hook(given, *flags, host=host, who="asker")
    assert "Traceback" not in reply.err
    return decision(reply), expected


# -- the rule ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", Failure)
@pytest.mark.parametrize("opaque", ["check", "allow", "ask", "deny"])
def test_h46_the_rule_is_one_table(failure: Failure, opaque: str) -> None:
    for closed in (False, True):
        for strict in (False, True):
            policy = Policy(closed, strict, opaque)
            for moment in (None, *Moment):
                answer = hook_failures.decide(moment, failure, "why", policy)
                refused = closed or (moment in (None, Moment.BEFORE) and (strict or opaque == "deny"))
                assert bool(answer.deny) is refused
                if not refused and moment in (None, Moment.BEFORE):
                    assert bool(answer.ask) is (opaque == "ask")
                    assert answer.ask or answer.context
                assert sum(map(bool, answer)) <= 1


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (errors.BadInput("x", code="BAD_EVENT"), Failure.EVENT), (errors.BadInput("x", code="USAGE"), Failure.USAGE),
        (errors.StoreBusy("x"), Failure.STORE), (errors.StoreCorrupt("x"), Failure.STORE),
        (errors.SessionFenced("x"), Failure.CALLER), (PermissionError(13, "no"), Failure.TARGET),
        ("\ud800".encode, Failure.TARGET), (RecursionError(), Failure.INTERNAL), (MemoryError(), Failure.INTERNAL),
        (door.HookFailed("late", "late"), Failure.LATE), (KeyError("x"), Failure.INTERNAL),
    ],
)  # fmt: skip
def test_h46_every_error_has_a_kind_and_one_line(error: Any, failure: Failure) -> None:
    if callable(error):
        with pytest.raises(UnicodeError) as caught:
            error()
        error = caught.value
    assert hook_failures.kind_of(error) is failure
    assert len(hook_failures.describe(error).splitlines()) == 1


# -- whatever breaks, wherever -----------------------------------------------------------------------------------------

BREAKS: list[Callable[[], BaseException]] = [
    lambda: PermissionError(13, "Permission denied", "/proc/1/cwd"), lambda: RecursionError("too deep"), MemoryError,
    lambda: UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"), lambda: ZeroDivisionError("oops"),
    lambda: errors.StoreBusy("Others write.", "Wait."), lambda: errors.StoreCorrupt("It is damaged.", "`rook doctor`"),
    lambda: errors.BadInput("No.", code="BAD_PATH"), lambda: SystemError("deep inside"),
]  # fmt: skip
PLACES: dict[str, tuple[Any, str]] = {
    "reading the command": (shell, "writes"), "the event": (profile, "read"), "standard input": (answering, "parsed"),
    "resolving": (resolve, "absolute"), "asking": (asking, "can_write"), "the verb": (calling.Desk, "verb"),
    "who calls": (calling.Desk, "caller"), "the decision": (guard, "judged"), "spelling": (targets, "spelled_in"),
    "the answer": (profile, "write"), "moving there": (answering, "placed"),
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["shell", "edit"])
def test_h46_whatever_breaks_is_answered_by_policy(
    asker: Asker, place: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (place, kind) == ("reading the command", "edit"):
        return
    where, name = PLACES[place]
    folder = str(asker.folder)
    given = shelled("claude", "rm src/b.py", folder) if kind == "shell" else edit("claude", "src/b.py", folder)
    for made in BREAKS:

        def broken(*_args: Any, made: Callable[[], BaseException] = made, **_more: Any) -> Any:
            raise made()

        with monkeypatch.context() as patched:
            patched.setattr(where, name, broken)
            for policy in POLICIES:
                found, expected = judged(asker, policy, given)
                # Where nothing can be written down for the host, only the exit code is left.
                allowed = {"ask": ("ask", "deny"), "warn": ("warn", "")}.get(expected, (expected,))
                assert found in (allowed if place == "the answer" else (expected,)), (policy, made())


def test_h46_the_control_an_error_that_is_let_through_fails_the_test_above(
    asker: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell, "writes", lambda *_args, **_more: 1 / 0)
    monkeypatch.setattr(hook_failures, "decide", lambda *_args: hook_failures.NOTHING)
    found, expected = judged(asker, "closed", shelled("claude", "rm src/b.py", str(asker.folder)))
    assert found != expected


@each_policy
@pytest.mark.parametrize("host", BEFORE)
def test_h46_every_host_is_refused_or_warned_in_its_own_form(asker: Asker, host: str, policy: str) -> None:
    given = json.dumps(event(host, "Bash", {}, str(asker.folder)))[:-1]
    found, expected = judged(asker, policy, given, host)
    assert found == ("deny" if expected == "ask" and known.find(host).forms.ask is None else expected)


def unreadable(path: str, *_args: Any, **_more: Any) -> str:
    if path.startswith("/proc/1/"):
        raise PermissionError(13, "Permission denied", path)
    return REALPATH(path)


REALPATH = os.path.realpath


def test_h46_a_path_that_can_not_be_followed_hides_no_other(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve.os.path, "realpath", unreadable)  # root may follow it
    folder = str(asker.folder)
    told = asker.hook(shelled("claude", "rm src/a.py; : > /proc/1/cwd/x", folder), who="asker")
    assert decision(told) == "deny"
    assert "held by holder" in reason(told)
    for policy in POLICIES:
        found, expected = judged(asker, policy, shelled("claude", "rm src/b.py; : > /proc/1/cwd/x", folder))
        assert found == expected, policy


def test_h46_what_leads_elsewhere_in_another_process_is_taken_as_it_is_meant(asker: Asker) -> None:
    """A resident process has another folder than the command will have."""
    folder = str(asker.folder)
    for path in ("/proc/self/cwd/src/a.py", f"/proc/self/root{folder}/src/a.py", "/proc/thread-self/cwd/src/a.py"):
        assert decision(asker.hook(shelled("claude", f"rm {path}", folder), who="asker")) == "deny", path
    asked = shelled("claude", "cd src && rm /proc/self/cwd/a.py", folder)
    assert decision(asker.hook(asked, who="asker")) == "deny", "from the folder that the command is in by then"


ODD = {"high": "\ud800", "byte": "\udcff", "nul": "a\0b", "long": "x" * 5000, "wild": "*" * 400, "set": "[" * 200}


@pytest.mark.parametrize("kind", ODD)
def test_h46_an_odd_name_hides_no_held_one(asker: Asker, kind: str) -> None:
    odd = ODD[kind]
    folder = str(asker.folder)
    for command in (f"rm src/a.py 'src/{odd}'", f"rm 'src/{odd}' src/a.py", f"rm src/a.py; echo '{odd}'"):
        told = asker.hook(shelled("claude", command, folder), "--closed", who="asker")
        assert decision(told) == "deny", command
    told = asker.hook(event("claude", "Write", {"file_path": f"src/{odd}"}, folder), "--closed", who="asker")
    assert decision(told) in ("", "deny")


WRONG: list[Any] = [None, 7, True, [], {}, ["x", None], [[]], {"command": 1}]


@pytest.mark.parametrize("host", BEFORE)
def test_h46_an_event_of_wrong_types_is_no_event(asker: Asker, host: str) -> None:
    at = known.find(host).fields
    good = shelled(host, "rm src/a.py", str(asker.folder))
    for field in (at.tool, at.input):
        for wrong in WRONG:
            told = asker.hook({**good, field: wrong}, "--closed", host=host, who="asker")
            assert decision(told) == "deny", (field, wrong)
    for wrong in WRONG[1:]:
        told = asker.hook({**good, at.input: {"command": wrong}}, "--closed", host=host, who="asker")
        assert decision(told) == "deny", wrong
        assert decision(asker.hook({**good, at.cwd: wrong}, "--closed", host=host, who="asker")) == "deny", wrong


# -- the store, the folder, the settings -------------------------------------------------------------------------------


@each_policy
def test_h46_a_damaged_store_is_answered_by_policy(asker: Asker, policy: str) -> None:
    (asker.folder / "home" / "rookery.db").write_bytes(b"no ledger at all" * 1000)
    for name in ("rookery.db-wal", "rookery.db-shm"):
        (asker.folder / "home" / name).unlink(missing_ok=True)
    found, expected = judged(asker, policy, edit("claude", "src/a.py", str(asker.folder)))
    assert found == expected


@each_policy
def test_h46_settings_that_can_not_be_read_are_answered_by_policy(asker: Asker, policy: str) -> None:
    (asker.folder / "rookery.toml").write_text("[guard\n")
    found, expected = judged(asker, policy, edit("claude", "src/a.py", str(asker.folder)))
    assert found == expected, "what the environment says counts"


def test_h46_a_strict_team_by_definition_refuses_too(asker: Asker) -> None:
    """Its settings do not say so; the ledger does."""
    asker.ok("team", "set", "--strict")
    told = asker.hook(shelled("claude", "rm src/b.py", str(asker.folder)).__repr__(), who="asker")
    assert decision(told) == "deny"


# -- in processes of their own -----------------------------------------------------------------------------------------


def run(asker: Asker, *words: str, stdin: Any = b"", **environ: str) -> tuple[int, bytes, bytes]:
    given: dict[str, Any] = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
    done = subprocess.run(
        [ROOK, "hook", "claude", *words], env={**environment(), **asker.environ, **environ}, cwd=asker.folder,
        capture_output=True, timeout=PATIENCE_S, **given,
    )  # fmt: skip
    assert b"Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


HOSTILE = [b"", b"\xff\xfe", b"{" * 100_000, b'{"tool_name": "\\ud800"', b"null", b'{"hook_event_name": 7}']


@pytest.mark.parametrize("stdin", [HOSTILE[0], *(pytest.param(each, marks=pytest.mark.slow) for each in HOSTILE[1:])])
def test_h46_hostile_input_to_a_real_process(asker: Asker, stdin: bytes) -> None:
    assert run(asker, "--closed", stdin=stdin)[0] == 2
    assert run(asker, "before", "--closed", stdin=stdin)[0] == 2
    assert run(asker, "before", stdin=stdin, ROOK_GUARD_OPAQUE="deny")[0] == 2
    code, out, _ = run(asker, "before", stdin=stdin)
    assert code == 0
    assert b"additionalContext" in out


def test_h46_an_input_that_can_not_be_read(asker: Asker) -> None:
    """It may only be written, or is not there at all."""
    given = os.open(os.devnull, os.O_WRONLY)
    try:
        assert run(asker, "before", "--closed", stdin=given)[0] == 2
        assert run(asker, "before", stdin=given)[0] == 0
    finally:
        os.close(given)
    words = f"exec {ROOK} hook claude before --closed <&- >&-"
    done = subprocess.run(["sh", "-c", words], env={**environment(), **asker.environ}, cwd=asker.folder)
    assert done.returncode == 2


def test_h46_a_folder_that_was_removed(asker: Asker, tmp_path: Path) -> None:
    words = f"mkdir gone; cd gone; rmdir ../gone; exec {ROOK} hook claude before --closed"
    given = json.dumps(shelled("claude", "rm src/a.py", str(tmp_path))).encode()
    done = subprocess.run(
        ["sh", "-c", words], env={**environment(), **asker.environ, "ROOK_AGENT": "asker"}, cwd=asker.folder,
        input=given, capture_output=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 2 or b'"deny"' in done.stdout
    assert b"Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("say", ["ROOK_GUARD_STRICT=true", "ROOK_GUARD_OPAQUE=deny", ""])
def test_h46_the_deadline_is_answered_by_policy(asker: Asker, say: str) -> None:
    """The store is locked for as long as it takes; nothing but the settings can be asked."""
    environ = dict([say.split("=")]) if say else {}
    given = json.dumps(shelled("claude", "make", str(asker.folder))).encode()
    with ledger.locked(str(asker.folder / "home" / "rookery.db")):
        environ |= {"ROOK_STORE_BUSY_S": "500", "ROOK_GUARD_OPAQUE": environ.get("ROOK_GUARD_OPAQUE", "check")}
        given_after = given.replace(b"PreToolUse", b"PostToolUse")
        code, _, _ = run(asker, "after", stdin=given_after, ROOK_AGENT="asker", **environ)
        assert code == 0, "after a tool there is nothing to refuse"

    def act(line: Any) -> None:
        fastdoor.greet(line, asker.folder / "home")
        door.receive(line)
        door.send(line, door.WANTS_STDIN)
        door.receive(line)
        line.recv(1)  # until it is gone

    with fastdoor.Impostor(asker.folder / "home", act):
        code, out, err = run(asker, "before", stdin=given, ROOK_AGENT="asker", **environ)
    assert code == (2 if say else 0)
    assert (out or err) if not say else not out, "a warning; on a very slow machine without the host's own form"


@pytest.mark.parametrize("closed", [True, False])
def test_h46_a_daemon_that_goes_away(asker: Asker, closed: bool) -> None:
    def act(line: Any) -> None:
        fastdoor.greet(line, asker.folder / "home")
        door.receive(line)

    given = json.dumps(shelled("claude", "rm src/a.py", str(asker.folder))).encode()
    with fastdoor.Impostor(asker.folder / "home", act):
        code, _, err = run(asker, "before", *(["--closed"] * closed), stdin=given)
    assert code == (2 if closed else 0)
    assert b"daemon" in err


@each_policy
def test_h46_whatever_breaks_in_a_resident_process(asker: Asker, policy: str) -> None:
    environ, flags, expected = POLICIES[policy]

    def broken(_call: Any) -> Any:
        raise RecursionError

    with fastdoor.hosted(asker.environ, asker.folder, broken):
        words = ("hook", "claude", "before", *flags)
        reply = fastdoor.ask({**asker.environ, **environ}, asker.folder, *words, stdin=lambda: b"{}")
    assert reply is not None
    assert decision(reply) == expected
