"""Argument vectors of workers: no text is anything but a text, no default is dangerous, what can not be is refused.

What the real programs make of them is seen in tests/hosts/test_launched.py.
"""

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import workers
from rookery.core.errors import RookError
from rookery.hosts import claude, codex, launching, setup, trust
from rookery.hosts.launching import Launch, Order, launch

HOSTS = ("claude", "codex", "gemini", "opencode", "copilot", "pi")
DANGEROUS = ("dangerously", "danger-full-access", "yolo", "bypass", "--allow-all", "--auto")
TEXTS = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=60)


def made(host: str, backend: str = "tmux", prompt: str = "Do it.", **more: Any) -> Launch:
    return launch(Order(host, backend, prompt, **more))


def refused(host: str, **more: Any) -> RookError:
    with pytest.raises(RookError) as caught:
        made(host, **more)
    return caught.value


@pytest.mark.parametrize("backend", ["tmux", "pty", "headless"])
@pytest.mark.parametrize("host", HOSTS)
def test_nothing_dangerous_is_said_unless_it_is_asked_for(host: str, backend: str) -> None:
    for permissions in ("edit", "read", "ask"):
        words = made(host, backend, permissions=permissions, trusted=True, folders=("/home",)).argv
        assert not [word for word in words for bad in DANGEROUS if bad in word], permissions
    if host != "pi":  # which limits nothing of itself
        assert made(host, backend, permissions="all").argv != made(host, backend).argv


@given(host=st.sampled_from(HOSTS), headless=st.booleans(), prompt=TEXTS, guardrails=TEXTS)
def test_a_text_is_one_argument_or_standard_input(host: str, headless: bool, prompt: str, guardrails: str) -> None:
    backend = "headless" if headless else "tmux"
    plain = made(host, backend, "Do it.", guardrails="Be good.").argv
    hostile = made(host, backend, prompt, guardrails=guardrails or "Be good.")
    assert len(hostile.argv) == len(plain), "a text became words"
    said = hostile.stdin if headless else hostile.argv[-1]
    assert said is not None
    assert prompt.strip() in said


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("prompt", ["/quit", "!ls", "@/etc/passwd", "--help", "-p", "#note", ""])
def test_a_prompt_is_never_a_command_of_the_program(host: str, prompt: str) -> None:
    assert made(host, "headless", prompt).stdin == f"Your task:\n\n{prompt}"
    last = made(host, prompt=prompt).argv[-1]
    assert last.endswith(f"Your task:\n\n{prompt}")
    assert last.startswith(("Your task", "--prompt-interactive=Your task", "--prompt=Your", "--interactive=Your"))


def test_a_prompt_that_is_longer_than_an_argument_may_be_is_to_be_typed() -> None:
    long = "word " * 30_000
    at_terminal = made("claude", prompt=long)
    assert (at_terminal.typed, at_terminal.stdin) == (long.strip(), None)
    assert max(map(len, at_terminal.argv)) < 200
    assert made("claude", "headless", long).stdin == long.strip()


def test_guardrails_are_the_systems_words_where_there_are_any_else_part_of_the_prompt() -> None:
    for host in HOSTS:
        told = made(host, "headless", guardrails="Never push.")
        apart = any("Never push." in word for word in told.argv)
        assert apart == (host in ("claude", "codex", "pi"))
        assert told.stdin == ("Do it." if apart else "Never push.\n\nDo it.")


def test_a_seed_is_forked_where_the_program_can_and_refused_where_not() -> None:
    assert made("claude", seed="claude:abc-1").argv[-5:-2] == ("--resume", "abc-1", "--fork-session")
    assert made("codex", seed="abc-1", tree="/t").argv[-6:-2] == ("--cd", "/t", "fork", "abc-1")
    assert made("codex", "headless", seed="abc-1").argv[-3:] == ("fork", "abc-1", "-")
    assert "--fork" in made("pi", seed="abc-1").argv
    for host in ("gemini", "opencode", "copilot"):
        assert refused(host, seed="abc-1").code == "CAN_NOT_FORK"
    assert refused("codex", seed="claude:abc-1").code == "CAN_NOT_FORK"
    for seed in ("--last", "../x", "a b", "claude:-x"):
        assert refused("claude", seed=seed).hint


@pytest.mark.parametrize(
    "more",
    [
        {"backend": "screen"},
        {"permissions": "everything"},
        {"model": "--dangerously-skip-permissions"},
        {"commands": ("rm -rf *",)},
        {"commands": ("a)b",)},
        {"commands": ("",)},
        {"commands": ("--x",)},
        {"prompt": "a\0b"},
        {"guardrails": "\ud800"},
    ],
)
def test_what_makes_no_sense_is_refused_with_a_hint(more: dict[str, Any]) -> None:
    error = refused("claude", **{"backend": "tmux", "prompt": "Do it.", **more})
    assert error.hint


def test_a_program_that_is_not_known_is_refused_with_the_nearest() -> None:
    error = refused("claud")
    assert (error.code, "claude" in error.hint) == ("UNKNOWN_HOST", True)


def test_a_script_is_run_as_it_is_named_with_its_task_in_the_environment() -> None:
    told = made("script", "headless", program=("/bin/worker", "--fast"), task="task-0001", brief="/w1/task.md")
    assert told == Launch(("/bin/worker", "--fast"), "", {"ROOK_TASK": "task-0001", "ROOK_BRIEF": "/w1/task.md"})
    assert refused("script", backend="headless").code == "NO_PROGRAM"


def test_the_words_that_start_a_program_are_given_or_set_or_its_name() -> None:
    known = {"script": {"program": ["/bin/worker", "--fast"]}, "claude": {}}
    assert launching.program("script", (), known) == ("/bin/worker", "--fast")
    assert launching.program("script", ("./mine",), known) == ("./mine",)
    assert launching.program("claude", (), known) == ("claude",)
    assert launching.program("script", (), {}) == ()


ROOK = '/opt/it\'s "here"/rook'


def test_claude_code_is_given_its_hooks_where_it_has_none() -> None:
    (said,) = [word for word in made("claude", hooks=ROOK).argv if word.startswith("--settings=")]
    hooks = json.loads(said.removeprefix("--settings="))["hooks"]
    assert set(hooks) == set(claude.EVENTS)
    lines = [entry["command"] for groups in hooks.values() for group in groups for entry in group["hooks"]]
    assert all(setup.spoken(line, "claude")[:3] == [ROOK, "hook", "claude"] for line in lines)
    assert not [word for word in made("claude").argv if word.startswith("--settings")]


def test_a_hook_that_does_not_answer_refuses_where_that_is_asked_for() -> None:
    for host in launching.HOOKED:
        assert "--closed" in " ".join(made(host, hooks="rook", closed=True).argv)
        assert "--closed" not in " ".join(made(host, hooks="rook").argv)


def test_codex_is_given_its_hooks_and_trusts_these_and_no_others() -> None:
    words = made("codex", hooks=ROOK).argv
    (said,) = [word for word in words if word.startswith("hooks=")]
    hooks = tomllib.loads(said)["hooks"]
    state = hooks.pop("state")
    assert set(hooks) == set(codex.EVENTS)
    trusted = trust.codex({"projects": {"/": {"trust_level": "trusted"}}, "hooks": {"state": state}},
                          launching.CODEX_FLAGS, {"hooks": hooks}, ["/"])  # fmt: skip
    assert trusted.well
    assert len(state) == len(hooks)
    changed = {**hooks, "Stop": [{"hooks": [{**hooks["Stop"][0]["hooks"][0], "command": "rook hook codex start"}]}]}
    assert not trust.codex({"projects": {"/": {"trust_level": "trusted"}}, "hooks": {"state": state}},
                           launching.CODEX_FLAGS, {"hooks": changed}, ["/"]).well  # fmt: skip


@pytest.mark.parametrize("host", launching.HOOKED)
def test_a_folder_that_has_our_hooks_is_known_by_its_files(host: str) -> None:
    wanted = setup.Wanted("/elsewhere/rook", False, dict.fromkeys(setup.TEXTS, ""))
    written: dict[str, str] = {}
    for piece in setup.of_host(host, wanted):
        if piece.path in setup.hook_files(host):
            written[piece.path] = piece.put(written.get(piece.path))
    assert setup.is_hooked(host, written)
    for other in ("", "{}", "{ torn", '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "make"}]}]}}'):
        assert not setup.is_hooked(host, dict.fromkeys(written, other))


@pytest.mark.parametrize("host", launching.HOOKED)
def test_what_only_looks_like_our_hooks_leaves_no_worker_without_a_guard(host: str) -> None:
    """H48: a repository's file counts if it is exactly what this `rook` writes."""
    rook = "/usr/bin/rook"
    written: dict[str, str] = {}
    for piece in setup.of_host(host, setup.Wanted(rook, False, dict.fromkeys(setup.TEXTS, ""))):
        if piece.path in setup.hook_files(host):
            written[piece.path] = piece.put(written.get(piece.path))
    assert setup.has_our_hooks(host, written, rook)
    assert not setup.has_our_hooks(host, written, rook, closed=True), "these let a tool run when nobody answers"
    assert not setup.has_our_hooks(host, written, "/elsewhere/rook")
    first = next(text for text in written.values() if "hook" in text)
    lookalikes = (
        first.replace(f"{rook} hook", f"true {rook} hook"),
        first.replace(f"{rook} hook", "/tmp/rook hook"),
        first.replace('"hooks": [', '"matcher": "Nothing", "hooks": [', 1),
        first.replace('"hooks":[', '"matcher": "Nothing", "hooks":[', 1),
        "", "{}", "[]", "{ torn", '{"hooks": []}', '{"hooks": {"PreToolUse": {}}}',
    )  # fmt: skip
    for other in lookalikes:
        if other != first:
            assert not setup.has_our_hooks(host, dict.fromkeys(written, other), rook), other[:200]


def test_a_worker_may_always_run_rook_and_what_its_kind_names() -> None:
    words = made("claude", commands=("make test", "rook")).argv
    assert "--allowedTools=Bash(rook *),Bash(make test *)" in words
    assert launching.can_fork("claude")


def test_the_programs_that_can_be_asked_for_are_those_that_can_be_started() -> None:
    assert sorted(workers.HOSTS) == sorted([*launching._HOSTS, launching.SCRIPT])  # pyright: ignore[reportPrivateUsage]
