"""`rook health`, `rook stats` and `rook who --tree` as people see them."""

import json

from tests.cli.conftest import Terminal


def test_healthy_says_so_and_what_it_looked_at(rook: Terminal) -> None:
    out = rook.ok("health")
    assert out.startswith("healthy  team crew\n")
    for word in ("sessions", "mail", "retries", "store", "daemon", "disk"):
        assert f"\n{word}" in out
    assert "rookery.db" in "".join(out.split()), "however the line is folded"


def test_whatever_wants_a_look_is_told_with_a_command_and_exit_1(rook: Terminal) -> None:
    rook.ok("escalate", "Help", "--as", "architect")
    reply = rook("health")
    assert reply.code == 1
    assert "! open escalations: 1  `rook escalate --list`" in reply.out
    told = rook("health", "--json")
    assert (told.code, json.loads(told.out)["status"]) == (1, "degraded")


def test_everyone_by_group_with_a_mark(rook: Terminal) -> None:
    rook.ok("join", "research-807055/interviewer")
    rook.ok("status", "Extract key findings", "--as", "research-807055/interviewer")
    lines = rook.ok("who", "--tree").splitlines()
    assert lines[0] == "crew"
    assert lines[3] == "research-807055"
    assert lines[4].startswith("  ● interviewer  Extract key findings  active ")
    coloured = rook.ok("who", "--tree", terminal=True)
    assert "\x1b[32m  ● " in coloured, "a colour and a mark: either is enough"


def test_what_an_agent_wrote_is_data_there_too(rook: Terminal) -> None:
    rook.ok("status", "[bold]x[/bold] \x1b[2J\nowned", "--as", "architect")
    out = rook.ok("who", "--tree", terminal=True)
    assert "[bold]x[/bold]" in out
    assert "\x1b[2J" not in out
    assert "\nowned" not in out


def test_a_narrow_terminal_cuts_what_is_long_and_no_line_is_wrapped(rook: Terminal) -> None:
    rook.ok("status", "a very long story about everything that was done today", "--as", "architect")
    out = rook.ok("who", "--tree", width=50)
    assert all(len(line) <= 50 for line in out.splitlines())
    assert "architect" in out
    assert "…" in out


def test_whoever_left_is_shown_only_when_asked_for(rook: Terminal) -> None:
    rook.ok("leave", "--as", "implementer")
    assert "implementer" not in rook.ok("who", "--tree")
    assert "implementer" in rook.ok("who", "--tree", "--all")


def test_for_programs_it_is_the_same_as_who(rook: Terminal) -> None:
    assert [each["name"] for each in rook.json("who", "--tree")["agents"]] == ["architect", "implementer"]
    assert rook.json("stats")["agents"] >= 2
