"""An agent program that is described by a file: the example of the documentation runs, and mistakes are named."""

import json
from pathlib import Path

import pytest

from rookery.core import errors
from rookery.core.hooks import Answer, Deed, Moment
from rookery.core.ports import Screen
from rookery.core.screen import Patterns, State, read
from rookery.hosts import profile, written

PAGE = Path(__file__).parents[2] / "docs" / "hosts-your-own.md"
EXAMPLE = PAGE.read_text().partition("```toml\n")[2].partition("```")[0]
EVENT = {
    "type": "tool.pre", "sess": "s-1", "where": {"dir": "/src/shop"},
    "tool": {"id": "put_file", "args": {"target": "app.py"}, "call": "c-1"},
}  # fmt: skip


def magpie(text: str = EXAMPLE) -> profile.Profile:
    return written.parse(text.encode(), "magpie.toml", "magpie")


def test_the_example_of_the_page_reads_the_event_of_the_page() -> None:
    assert " ".join(json.dumps(EVENT).split()) in " ".join(PAGE.read_text().split())
    event = profile.read(magpie(), EVENT)
    assert (event.moment, event.session, event.cwd, event.call) == (Moment.BEFORE, "s-1", "/src/shop", "c-1")
    assert (event.deed, event.paths, event.untold) == (Deed.EDIT, ("app.py",), "")


def test_the_example_answers_in_the_program_s_own_form() -> None:
    event = profile.read(magpie(), EVENT)
    assert json.loads(profile.write(magpie(), event, Answer(deny="held by wren"))) == {
        "verdict": "no", "because": "held by wren",
    }  # fmt: skip
    after = profile.read(magpie(), EVENT | {"type": "tool.post"})
    assert json.loads(profile.write(magpie(), after, Answer(context="mail"))) == {"event": "tool.post", "note": "mail"}
    assert profile.write(magpie(), event, Answer(context="mail")) == "", "it does not speak before a tool"


def test_its_tools() -> None:
    shell = EVENT | {"tool": {"id": "terminal", "args": {"line": "touch x"}}}
    assert profile.read(magpie(), shell).command == "touch x"
    diff = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch\n"
    patch = EVENT | {"tool": {"id": "patch_files", "args": {"diff": diff}}}
    assert profile.read(magpie(), patch).paths == ("a.py",)


def test_an_empty_file_is_a_program_that_speaks_as_our_plugins_do() -> None:
    plain = magpie("")
    event = profile.read(plain, {"event": "start", "session": "s", "cwd": "/x"})
    assert event.moment is Moment.START
    assert json.loads(profile.write(plain, event, Answer(context="hello"))) == {"context": "hello"}


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("titel = 'x'", "titel", "title"),
        ("[field]\nx='y'", "field", "fields"),
        ("[fields]\nsesion='y'", "fields.sesion", "session"),
        ("[events]\nx = 'befor'", "events.x", "before"),
        ("speaks_at = ['xyz']", "speaks_at", "One of"),
        ("speaks_at = 'start'", "speaks_at", "list"),
        ("context_limit = 5", "context_limit", "400"),
        ("context_limit = true", "context_limit", "number"),
        ("tools = 3", "tools", "table"),
        ("[tools.w]\ndeed = 'edti'", "tools.w.deed", "edit"),
        ("[tools.w]\npaths = ['a']", "tools.w.deed", "One of"),
        ("[tools.w]\ndeed = 'edit'", "tools.w edits", "paths"),
        ("[tools.w]\ndeed = 'edit'\npath = 'x'", "tools.w.path", "paths"),
        ("[tools.w]\ndeed = 'edit'\npaths = [1]", "tools.w.paths", "list"),
        ("[tools.w]\ndeed = 'shell'", "tools.w runs", "command"),
        ("[forms.deny]\nx = 'no'", "forms.deny", "{text}"),
        ("[forms.hold]\nx = '{text}'", "deny", "refused"),
        ("[forms.dney]\nx = '{text}'", "forms.dney", "deny"),
        ("title = ", "magpie.toml", "Correct"),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(text: str, message: str, hint: str) -> None:
    with pytest.raises(errors.BadInput) as refused:
        magpie(text)
    assert message in refused.value.message
    assert "magpie.toml" in refused.value.message
    assert hint in refused.value.hint


SCREEN = PAGE.read_text().partition("```toml\n[screen]\n")[2].partition("```")[0]


def screen_of(text: str) -> Patterns | None:
    return written.screen(text.encode(), "magpie.toml", "magpie")


def test_the_screen_of_the_page_is_read_as_the_page_says() -> None:
    assert screen_of(EXAMPLE) is None
    assert SCREEN
    found = screen_of(f"[screen]\n{SCREEN}")
    assert found
    idle = ("Magpie 2", "", "+--------", "| > Ask away", "+--------")
    faint = (*idle[:3], "| >         ", idle[4])
    assert read(found, Screen(idle, idle, 4, 3)).empty
    assert read(found, Screen(idle, faint, 4, 3)).empty
    half = (*idle[:3], "| > rm -rf ha", idle[4])
    assert read(found, Screen(half, half, 13, 3)).typed == "rm -rf ha"
    assert read(found, Screen((*idle, "~ thinking (3s)"), idle, 4, 3)).state is State.BUSY
    asking = ("May I run this?", "[y] yes  [n] no")
    view = read(found, Screen(asking, asking, 0, 1))
    assert (view.state, view.gate) == (State.BLOCKED, "permission")
    assert found.gates["trust"].answer == ("y",)
    assert (found.clear, found.reference, found.interrupt) == ("/forget", "file:{path}", ("ctrl-c",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('screen = "x"', "screen is 'x'"),
        ("[screen]\nbusy = ['x']", "screen has no prompt"),
        ("[screen]\nprompt = '('", "no regular expression"),
        ("[screen]\nprompt = '> '\nbusy = 'x'", "screen.busy is 'x'"),
        ("[screen]\nprompt = '> '\nbussy = ['x']", "there is no key screen.bussy"),
        ("[screen]\nprompt = '> '\nsubmit = ['return']", "names a key 'return'"),
        ("[screen]\nprompt = '> '\nmultiline = 1", "screen.multiline is 1"),
        ("[screen]\nprompt = '> '\nmargin = 'x'", "screen.margin is 'x'"),
        ("[screen]\nprompt = '> '\n[screen.gates]\ntrust = 3", "screen.gates.trust is 3"),
        ("[screen]\nprompt = '> '\n[screen.gates.trust]\nanswer = ['y']", "screen.gates.trust.shows is None"),
        (
            "[screen]\nprompt = '> '\n[screen.gates.trust]\nshows = 'x'\nkeys = []",
            "there is no key screen.gates.trust.keys",
        ),
    ],
)
def test_a_mistake_in_a_screen_is_named(text: str, said: str) -> None:
    with pytest.raises(errors.BadInput) as refused:
        screen_of(text)
    assert said in refused.value.message


def test_a_screen_beside_a_profile_does_not_disturb_it() -> None:
    assert magpie(f"{EXAMPLE}\n[screen]\n{SCREEN}") == magpie()
