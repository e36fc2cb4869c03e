"""Terminals: H10 to H14, in tmux and in held terminals, with a small program that looks like an agent program's screen.

Each has a control: the same thing done as it was elsewhere, and the harm it did there. Most start a server and a
program and wait for real, so that the default run has one or two of each hazard, and the others are slow.
"""

import os
import signal
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from rookery.core.errors import NotYours
from rookery.core.ports import Spot, Terminal
from rookery.hosts.screens import CLAUDE
from rookery.keeper.typing import Outcome
from rookery.runtime import ourtmux
from rookery.runtime.tmux import Pane
from tests.support.held import HeldServer, held
from tests.support.mimicked import PATIENT, QUICK, Mimicked
from tests.support.panes import Server, server, until

IN_TMUX = pytest.param(server, marks=pytest.mark.tmux, id="tmux")
only_tmux = pytest.mark.parametrize("terminals", [IN_TMUX], indirect=True)


@pytest.fixture
def tmux() -> Generator[Server]:
    with server() as started:
        yield started


@pytest.fixture(params=[IN_TMUX, pytest.param(held, id="pty", marks=pytest.mark.slow)])
def terminals(request: pytest.FixtureRequest) -> Generator[Server | HeldServer]:
    with request.param() as started:
        yield started


@pytest.fixture
def mimic(terminals: Server | HeldServer, tmp_path: Path) -> Generator[Mimicked]:
    started = Mimicked(terminals, tmp_path)
    yield started
    started.close()


class Interfered:
    """A terminal in which something happens between the last look and the paste, or between the paste and Enter."""

    def __init__(self, terminal: Terminal) -> None:
        self.look, self.lock, self.unlock = terminal.look, terminal.lock, terminal.unlock
        self.left, self.forget = terminal.left, terminal.forget
        self._terminal = terminal

    def before_paste(self) -> None: ...

    def before_press(self) -> None: ...

    async def paste(self, text: str, at: Spot | None = None) -> bool:
        self.before_paste()
        return await self._terminal.paste(text, at)

    async def press(self, key: str, at: Spot | None = None) -> bool:
        self.before_press()
        return await self._terminal.press(key, at)


# -- H10 -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_h10_a_program_whose_spinner_turns_is_never_typed_into(mimic: Mimicked) -> None:
    mimic.order("busy")
    assert mimic.put("Mail from wren.").reason == "busy"
    assert mimic.submitted == []
    assert "Mail" not in mimic.screen

    mimic.order("idle")
    assert mimic.put("Mail from wren.", PATIENT) == Outcome(True)
    assert mimic.submitted == ["Mail from wren."]


@pytest.mark.slow
def test_h10_control_without_the_spinner_a_thinking_program_looks_idle(mimic: Mimicked) -> None:
    """What was done elsewhere: whatever turns is taken out before two looks are compared."""
    mimic.order("busy")
    blind = CLAUDE._replace(busy=(), restless=("Pondering",))
    assert mimic.put("Mail from wren.", patterns=blind) == Outcome(True)
    assert mimic.submitted == ["Mail from wren."]
    assert "Pondering" in mimic.screen


@pytest.mark.slow
def test_h10_a_spinner_that_stands_still_means_busy_too(mimic: Mimicked) -> None:
    """A program that hangs, or is stopped, has its marker on the screen all the same."""
    mimic.order("busy")
    mimic.server.shows(mimic.pane, "Pondering")
    os.kill(mimic.process.pid, signal.SIGSTOP)
    try:
        assert mimic.put("Mail from wren.").reason == "busy"
    finally:
        os.kill(mimic.process.pid, signal.SIGCONT)
    assert mimic.submitted == []


# -- H11 -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_h11_a_line_that_holds_text_is_left_as_it_is_and_the_message_waits(mimic: Mimicked) -> None:
    mimic.types("rm -rf /tmp/ha")
    assert mimic.put("Mail from wren.").reason == "user-typing"
    assert mimic.submitted == []
    mimic.types("lf")
    mimic.server.keys(mimic.pane, "Enter")
    assert mimic.put("Mail from wren.", PATIENT) == Outcome(True)
    assert mimic.submitted == ["rm -rf /tmp/half", "Mail from wren."]


@pytest.mark.slow
def test_h11_control_paste_and_enter_submit_what_a_person_had_half_typed(mimic: Mimicked) -> None:
    mimic.types("rm -rf /tmp/ha")
    mimic.server.pastes(mimic.pane, "Mail from wren.")
    mimic.server.keys(mimic.pane, "Enter")
    until(lambda: mimic.submitted)
    assert mimic.submitted == ["rm -rf /tmp/haMail from wren."]


@pytest.mark.slow
def test_h11_a_key_pressed_after_the_last_look_keeps_the_text_out(mimic: Mimicked) -> None:
    class Hasty(Interfered):
        def before_paste(self) -> None:
            if "rm" not in mimic.screen:
                mimic.types("rm")

    assert mimic.put("Mail from wren.", pane=Hasty(mimic.opened())).reason == "user-typing"
    assert mimic.submitted == []
    assert "Mail" not in mimic.screen


@pytest.mark.slow
def test_h11_what_someone_typed_behind_our_text_is_not_submitted(mimic: Mimicked) -> None:
    class Hasty(Interfered):
        def before_press(self) -> None:
            if "no!" not in mimic.screen:
                mimic.types("no!")

    assert mimic.put("Mail from wren.", pane=Hasty(mimic.opened())).reason == "user-typing"
    assert mimic.submitted == []


@pytest.mark.slow
def test_h11_blanks_alone_are_a_line_that_is_not_empty(mimic: Mimicked) -> None:
    mimic.server.types(mimic.pane, "   ")
    assert mimic.put("Mail from wren.").reason == "user-typing"


@pytest.mark.slow
@only_tmux
def test_h11_nobody_types_while_a_person_reads_back(mimic: Mimicked) -> None:
    mimic.server.ask("copy-mode", "-t", mimic.pane)
    assert mimic.put("Mail from wren.").reason == "user-typing"
    mimic.server.ask("send-keys", "-t", mimic.pane, "-X", "cancel")
    assert mimic.put("Mail from wren.", PATIENT) == Outcome(True)


# -- H12 -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@only_tmux
def test_h12_a_pane_that_is_gone_is_nobody_elses(mimic: Mimicked, tmp_path: Path) -> None:
    other = Mimicked(mimic.server, tmp_path, "mimicry")
    address = mimic.address
    mimic.order("end")
    until(lambda: mimic.pane not in mimic.server.ask("list-panes", "-a", "-F", "#{pane_id}").split())
    assert mimic.put("Mail from wren.", pane=Pane(address)) == Outcome(False, "session-not-found")
    assert other.submitted == []

    # The control: by its name, the keys go to whoever has a name that begins like it.
    other.server.ask("send-keys", "-t", "mimic", "-l", "for someone else")
    other.server.shows(other.pane, "for someone else")
    other.close()


@pytest.mark.slow
@pytest.mark.tmux
def test_h12_the_same_number_in_another_server_is_another_pane(tmux: Server, tmp_path: Path) -> None:
    first = Mimicked(tmux, tmp_path, "first")
    address = first.address
    first.order("end")
    until(lambda: not is_alive(int(address["server"].partition(" ")[0])))
    second = Mimicked(tmux, tmp_path, "second")
    assert (second.pane, second.address["socket"]) == (address["pane"], address["socket"])
    assert second.put("Mail from wren.", pane=Pane(address)) == Outcome(False, "session-not-found")
    assert second.submitted == []
    assert second.put("Mail from wren.", PATIENT) == Outcome(True)
    first.close()
    second.close()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
def test_h12_nothing_is_typed_into_what_took_the_programs_place(terminals: Server | HeldServer, tmp_path: Path) -> None:
    """The program ends, and the shell it was started from shows a prompt like its own."""
    shell = ["sh", "-c", r'"$@"; printf "────────\n❯ "; exec cat', "sh"]
    mimic = Mimicked(terminals, tmp_path, before=shell)
    agent = mimic.process
    mimic.order("end")
    terminals.shows(mimic.pane, "❯")
    assert mimic.put("rm -rf /", pane=mimic.opened(agent)) == Outcome(False, "session-not-found")
    assert "rm" not in mimic.screen
    mimic.close()


@pytest.mark.slow
def test_h12_a_suspended_program_is_not_typed_to(terminals: Server | HeldServer, tmp_path: Path) -> None:
    mimic = Mimicked(terminals, tmp_path, typed=True)
    pane = mimic.opened(mimic.process)
    os.kill(mimic.process.pid, signal.SIGSTOP)
    terminals.shows(mimic.pane, "Stopped")
    outcome = mimic.put("rm -rf /", pane=pane)
    assert (outcome.reason, outcome.detail) == ("blocked", "another program has the terminal")
    assert "rm -rf" not in mimic.screen
    terminals.types(mimic.pane, "fg\n")
    mimic.order("idle")  # it draws its screen anew
    assert mimic.put("Mail from wren.", PATIENT, pane=pane) == Outcome(True)
    mimic.close()


# -- H13 -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.tmux
def test_h13_texts_for_two_panes_at_once_do_not_meet_and_the_users_buffers_stay(tmux: Server, tmp_path: Path) -> None:
    mimics = [Mimicked(tmux, tmp_path, f"mimic-{number}") for number in range(4)]
    tmux.ask("set-buffer", "what the user copied")
    tmux.ask("set-buffer", "-b", "named", "what the user keeps")
    before = tmux.ask("list-buffers", "-F", "#{buffer_name}=#{buffer_sample}")
    threads = [
        threading.Thread(target=mimic.put, args=(f"Mail for {number}: {'words ' * 10}", PATIENT))
        for number, mimic in enumerate(mimics)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [mimic.submitted for mimic in mimics] == [
        [f"Mail for {number}: {'words ' * 10}".strip()] for number in range(4)
    ]
    assert tmux.ask("list-buffers", "-F", "#{buffer_name}=#{buffer_sample}") == before
    for mimic in mimics:
        mimic.close()


@pytest.mark.slow
@pytest.mark.tmux
def test_h13_control_one_buffer_for_all_gives_one_text_to_both(tmux: Server, tmp_path: Path) -> None:
    first, second = (Mimicked(tmux, tmp_path, name) for name in ("first", "second"))
    tmux.ask("set-buffer", "-b", "ours", "Mail for the first.")
    tmux.ask("set-buffer", "-b", "ours", "Mail for the second.")
    for mimic in (first, second):
        tmux.ask("paste-buffer", "-p", "-b", "ours", "-t", mimic.pane)
        tmux.shows(mimic.pane, "Mail for the second.")
        mimic.close()


@pytest.mark.slow
@only_tmux
def test_h13_no_buffer_is_left_where_nothing_could_be_pasted(mimic: Mimicked) -> None:
    class Hasty(Interfered):
        def before_paste(self) -> None:
            mimic.order("busy")
            mimic.types("rm")

    assert not mimic.put("Mail from wren.", pane=Hasty(mimic.opened())).done
    assert mimic.server.ask("list-buffers") == ""


@pytest.mark.slow
def test_h13_a_text_can_not_end_its_own_paste(mimic: Mimicked) -> None:
    hostile = "first\x1b[201~\rsecond\x1b]0;x\x07\n\x03third\x00\x9b201~ \u202efourth\r\n\n/quit"
    assert mimic.put(hostile, PATIENT) == Outcome(True)
    assert mimic.submitted == ["first\nsecond\nthird fourth\n\n/quit"]


@pytest.mark.slow
def test_h13_control_unstripped_it_ends_its_paste_and_submits_itself(mimic: Mimicked) -> None:
    mimic.server.pastes(mimic.pane, "first\x1b[201~\rsecond")
    until(lambda: mimic.submitted)
    assert mimic.submitted == ["first"]


# -- H14 -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@only_tmux
def test_h14_only_our_own_window_is_ended(mimic: Mimicked, tmp_path: Path) -> None:
    home = mimic.server.socket.removesuffix("/s") + "/home"  # short enough for a socket
    os.makedirs(home, mode=0o700)
    ours = [ourtmux.new_window(home, ["sleep", "1000"], cwd=str(tmp_path), environ={}) for _ in range(2)]
    server_pid = int(ours[0].address["server"].partition(" ")[0])
    try:
        assert ours[0].address["pane"] != ours[1].address["pane"]
        with pytest.raises(NotYours):
            ourtmux.end(home, mimic.address)
        with pytest.raises(NotYours):
            ourtmux.end(home, {**ours[0].address, "pane": "mimic"})
        ourtmux.end(home, ours[0].address)
        until(lambda: not is_alive(ours[0].process.pid))
        assert is_alive(ours[1].process.pid)
        assert mimic.put("Mail from wren.", PATIENT) == Outcome(True)
    finally:
        ourtmux.end(home, ours[1].address)
    until(lambda: not is_alive(server_pid))  # with its last window
    assert is_alive(mimic.server.pid)


# -- what may happen in the middle -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_program_that_dies_at_enter_has_not_been_given_anything(mimic: Mimicked) -> None:
    mimic.order("die")
    outcome = mimic.put("Mail from wren.", PATIENT)
    assert (outcome.done, outcome.reason) == (False, "session-not-found")


@pytest.mark.slow
def test_a_pane_that_dies_between_paste_and_enter_has_not_been_given_anything(mimic: Mimicked) -> None:
    class Cut(Interfered):
        def before_press(self) -> None:
            mimic.server.kill(mimic.pane)

    outcome = mimic.put("Mail from wren.", PATIENT, pane=Cut(mimic.opened()))
    assert (outcome.done, outcome.reason) == (False, "session-not-found")
    assert mimic.submitted == []


@pytest.mark.slow
def test_a_dialog_is_reported_and_not_answered(mimic: Mimicked) -> None:
    mimic.order("dialog")
    assert mimic.put("Mail from wren.") == Outcome(False, "blocked", "permission")
    assert mimic.heard("answered") == []


@pytest.mark.slow
def test_a_dialog_that_opens_at_the_last_moment_is_not_answered(mimic: Mimicked) -> None:
    class Late(Interfered):
        def before_press(self) -> None:
            mimic.order("dialog")
            mimic.server.shows(mimic.pane, "Esc to cancel")

    outcome = mimic.put("Mail from wren.", pane=Late(mimic.opened()))
    assert (outcome.done, outcome.reason) == (False, "blocked")
    assert mimic.heard("answered") == []


@pytest.mark.slow
def test_a_program_that_shows_nothing_of_the_text_is_not_sent_enter(mimic: Mimicked) -> None:
    mimic.order("hush")
    outcome = mimic.put("Mail from wren.")
    assert (outcome.done, outcome.reason, outcome.detail) == (False, "injection-failed", "the text did not show")
    mimic.order("idle")
    mimic.server.shows(mimic.pane, "Mail from wren.")
    assert mimic.submitted == []


@pytest.mark.slow
def test_a_busy_program_is_interrupted_only_if_that_is_asked_for(mimic: Mimicked) -> None:
    mimic.order("busy")
    assert mimic.put("Mail from wren.").reason == "busy"
    assert mimic.heard("interrupted") == []
    assert mimic.put("Mail from wren.", PATIENT, interrupt=True) == Outcome(True)
    assert mimic.heard("interrupted") == [""]


@pytest.mark.slow
def test_the_program_is_made_to_forget_first_if_that_is_asked_for(mimic: Mimicked) -> None:
    assert mimic.put("A new task.", PATIENT, clear_first=True) == Outcome(True)
    assert mimic.submitted == ["/clear", "A new task."]


@pytest.mark.slow
@only_tmux
def test_panes_that_are_typed_into_together_are_not_typed_into(mimic: Mimicked) -> None:
    mimic.server.ask("set-option", "-w", "-t", mimic.pane, "synchronize-panes", "on")
    outcome = mimic.put("Mail from wren.", QUICK)
    assert (outcome.reason, outcome.detail) == ("blocked", "what is typed goes to other panes as well")
