"""Teams and budgets on the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Terminal
from tests.support.trusting import trust_repository

ADA, BOB = ("--as", "architect"), ("--as", "implementer")
TEAM: dict[str, Any] = {
    "schemaVersion": "1.0.0",
    "teamId": "crew",
    "agents": [
        {"id": "boss", "role": "leader", "model": "big"},
        {"id": "worker_a", "role": "worker", "model": "small", "maxTokens": 5000},
    ],
    "groups": {"workers": ["worker_a"]},
    "budget": {"maxTokens": 1000000, "hardLimit": True},
}


@pytest.fixture
def file(rook: Terminal) -> Path:
    path = rook.folder / "team.json"
    path.write_text(json.dumps(TEAM))
    return path


def error(rook: Terminal, *argv: str) -> dict[str, Any]:
    reply = rook(*argv, "--json")
    assert reply.code in (1, 2), reply
    assert "Traceback" not in reply.err
    return json.loads(reply.out)["error"]


def test_a_team_from_a_file(rook: Terminal, file: Path) -> None:
    shown = rook.ok("team", "set", "--file", "team.json")
    assert shown == rook.ok("team", "show")
    assert [line.split() for line in shown.splitlines()][:5] == [
        ["team", "crew"],
        ["leader", "boss"],
        ["guard", "advisory", "(default)"],
        ["budget", "1,000,000", "tokens", "(hard)"],
        ["group", "workers", "worker_a"],
    ]
    assert "boss leads" in shown
    assert "5,000 tokens" in shown
    told = rook.json("team", "show")
    assert (told["leader"], told["budget"]["maxTokens"]) == ("boss", 1_000_000)
    over = rook.json("team", "set", "--file", "team.json", "--max-tokens", "5", "--strict", "--leader", "architect")
    assert (over["leader"], over["strict"], over["budget"]["maxTokens"]) == ("architect", True, 5)


def test_what_was_shown_is_set_again(rook: Terminal, file: Path) -> None:
    rook.ok("team", "set", "--file", "team.json")
    file.write_text(json.dumps(rook.json("team", "show")))
    rook.ok("team", "set", "--file", str(file))


def test_options(rook: Terminal) -> None:
    made = rook.json(
        "team", "set", "--agent", "zoe:reviewer:big", "--agent", "max", "--leader", "zoe",
        "--group", "all_devs=zoe,max", "--advisory", "--max-tokens", "100", "--no-hard-limit",
    )  # fmt: skip
    assert {"id": "zoe", "role": "reviewer", "model": "big"} in made["agents"]
    assert (made["leader"], made["guard"], made["groups"]) == ("zoe", "advisory", {"all_devs": ["max", "zoe"]})
    assert (made["budget"]["maxTokens"], made["budget"]["hardLimit"]) == (100, False)
    unset = rook.json("team", "set", "--unset", "budget", "--unset", "leader", "--drop", "max")
    assert (unset["leader"], unset["budget"]["maxTokens"]) == (None, None)


@pytest.mark.parametrize(
    ("argv", "code", "word"),
    [
        ([], "USAGE", "--file"),
        (["--strict", "--advisory"], "USAGE", "both"),
        (["--file", "nowhere.json"], "NO_SUCH_FILE", "nowhere"),
        (["--file", "broken.json"], "BAD_INPUT", "can not be read"),
        (["--file", "list.json"], "BAD_INPUT", "no JSON object"),
        (["--file", "wrong.json"], "BAD_TEAM", "Did you mean agents"),
        (["--file", "other.json"], "BAD_INPUT", "--team other"),
        (["--leader", "architekt"], "BAD_TEAM", "Did you mean architect"),
        (["--max-tokens", "1.5"], "USAGE", "int"),
        (["--max-tokens", "0"], "BAD_TEAM", "budget.maxTokens"),
    ],
)
def test_refusals(rook: Terminal, argv: list[str], code: str, word: str) -> None:
    for name, text in {
        "broken.json": "{", "list.json": "[]", "wrong.json": '{"agnets": []}', "other.json": '{"teamId": "other"}',
    }.items():  # fmt: skip
        (rook.folder / name).write_text(text)
    told = error(rook, "team", "set", *argv)
    assert told["code"] == code
    assert word in f"{told['message']} {told['hint']}"


def test_every_problem_is_printed(rook: Terminal) -> None:
    (rook.folder / "bad.json").write_text('{"budget": {"maxTokens": -1}, "leader": 7, "guard": "lax"}')
    reply = rook("team", "set", "--file", "bad.json")
    assert reply.code == 2
    for number, word in enumerate(("guard", "budget.maxTokens", "leader"), 1):
        assert f"({number}) {word}" in reply.err


# --- budgets ---------------------------------------------------------------------------------------------------------


def test_a_budget_from_limit_to_refusal_and_back(rook: Terminal) -> None:
    rook.ok("budget", "set", "--max-tokens", "1000", "--max-cost", "2.50")
    assert "Nothing was reported yet" in rook.ok("budget")
    said = rook.ok(*ADA, "budget", "report", "-i", "700", "-o", "200", "--model", "big")
    assert "architect: 900 tokens counted." in said
    shown = rook.ok("budget")
    assert "█" * 21 + "░" * 3 in shown
    assert "90 %" in shown
    assert "900 of 1,000 tokens, 0.00 of 2.50 USD" in shown
    rook.ok(*ADA, "budget", "report", "-i", "100")
    refused = rook(*ADA, "send", "implementer", "-s", "hi")
    assert refused.code == 1
    assert refused.err.splitlines()[0] == "rook: The budget of team crew is spent: 1,000 of 1,000 tokens."
    assert "The user can raise it: `rook budget set --max-tokens N`" in refused.err
    rook.ok("budget", "set", "--max-tokens", "2000")
    rook.ok(*ADA, "send", "implementer", "-s", "hi")
    assert "budget.spent" in rook.ok("feed")


@pytest.mark.slow
def test_the_bars_stand_in_one_column(rook: Terminal) -> None:
    rook.ok("budget", "set", "--max-tokens", "1000", "--agent", "architect")
    rook.ok("task", "add", "A task with quite a long title that is cut somewhere")
    rook.ok(*ADA, "task", "claim", "task-0001")
    rook.ok(*ADA, "budget", "report", "-i", "1500", "--task", "task-0001")
    rook.ok(*BOB, "budget", "report", "-i", "5")
    rook.ok("budget", "set", "--max-tokens", "5000", "--task", "task-0001")
    for width in (60, 80, 120):
        lines = rook.ok("budget", width=width).splitlines()
        bars = [line.index("█") for line in lines if "█" in line]
        assert len(bars) == 2
        assert len(set(bars)) == 1, lines
        assert all(len(line) <= width for line in lines)
    assert "150 %" in rook.ok("budget")
    assert "\x1b[" in rook.ok("budget", terminal=True)


def test_what_one_agent_used(rook: Terminal) -> None:
    (rook.folder / "rookery.toml").write_text("[prices.big]\ninput = 3\noutput = 15\n")
    rook.ok(*ADA, "budget", "report", "-i", "1000000", "--model", "big", "--key", "k")
    assert "counted before" in rook.ok(*ADA, "budget", "report", "-i", "1000000", "--model", "big", "--key", "k")
    rook.ok(*ADA, "budget", "report", "-i", "5", "--meter", "m", "--model", "tiny")
    assert "nothing new" in rook.ok(*ADA, "budget", "report", "-i", "5", "--meter", "m", "--model", "tiny")
    shown = rook.ok("budget", "--agent", "architect")
    assert ["architect", "big", "1,000,000", "0", "3.00", "1"] in [line.split() for line in shown.splitlines()]
    assert "5 tokens had no price" in shown
    assert rook.json("budget", "--agent", "architect")["usage"][0]["costMicros"] == 3_000_000


@pytest.mark.parametrize(
    ("argv", "word"),
    [
        (["budget", "set"], "--max-tokens"),
        (["budget", "set", "--max-cost", "1e3"], "12.50"),
        (["budget", "set", "--max-cost", "-1"], "12.50"),
        (["budget", "set", "--max-tokens", "many"], "int"),
        (["budget", "set", "--unset", "maxTokns"], "maxTokens"),
        (["budget", "report", "-i", "-5"], "0 to"),
        (["budget", "report", "-i", "5", "--task", "task-0099"], "task list"),
        (["budget", "--agent", "architekt"], "architect"),
    ],
)
def test_budget_refusals(rook: Terminal, argv: list[str], word: str) -> None:
    told = error(rook, *argv)
    assert word in f"{told['message']} {told['hint']}"


def test_a_budget_of_the_settings_file(rook: Terminal) -> None:
    (rook.folder / "rookery.toml").write_text(
        'leader = "architect"\n[budget]\nmax_tokens = 10\nhard_limit = false\n[agents.zoe]\nrole = "dev"\n'
    )
    shown = rook.json("team", "show")
    assert (shown["leader"], shown["budget"]["maxTokens"], shown["budget"]["hardLimit"]) == (None, 10, True)
    trust_repository(rook.folder, rook.environ)
    shown = rook.json("team", "show")
    assert (shown["leader"], shown["budget"]["maxTokens"], shown["budget"]["hardLimit"]) == ("architect", 10, False)
    assert shown["sources"]["maxTokens"].endswith("rookery.toml")
    assert "zoe" in rook.ok("team", "show")
    assert "architect (from rookery.toml)" in rook.ok("team", "show")
    rook.ok(*BOB, "budget", "report", "-i", "50")
    rook.ok(*BOB, "send", "architect", "-s", "still allowed")
    assert any("spent" in each["subject"] for each in rook.json(*ADA, "inbox")["messages"])
