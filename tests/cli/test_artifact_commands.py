"""`rook artifacts`, add and show."""

import json

import pytest

from rookery.app import open_house
from tests.cli.conftest import Terminal


@pytest.mark.slow
def test_add_list_show(rook: Terminal):
    (rook.folder / "out.diff").write_text("--- a\n+++ b\n")
    rook.ok("task", "add", "Fix")
    told = rook.ok(
        "--as", "architect", "artifacts", "add", "fix.patch", "-k", "patch", "-t", "task-0001", "--file", "out.diff"
    )
    assert "artifact-0001 patch fix.patch for task-0001, by architect" in told
    rook.stdin = "It works."
    assert rook.json("artifacts", "add", "s.md", "-k", "summary", "--content", "-")["bytes"] == 9
    assert [each["id"] for each in rook.json("artifacts")["artifacts"]] == ["artifact-0002", "artifact-0001"]
    assert "fix.patch" in rook.ok("artifacts", "-t", "task-0001")
    assert "It works." in rook.ok("artifacts", "show", "artifact-0002")
    assert rook.ok("artifacts", "show", "artifact-0001", "--raw") == "--- a\n+++ b\n"
    assert (rook.folder / "home" / "teams" / "crew" / "artifacts" / "patches").is_dir()


def test_bytes_that_are_no_text(rook: Terminal):
    (rook.folder / "x.bin").write_bytes(b"\xff\x00")
    rook.ok("artifacts", "add", "x.bin", "--file", "x.bin")
    assert "not text" in rook.ok("artifacts", "show", "artifact-0001")
    assert rook("artifacts", "show", "artifact-0001", "--raw").code == 1
    assert rook.json("artifacts", "show", "artifact-0001")["encoding"] == "base64"


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["add", "x"], 2),
        (["add", "x", "--file", "nowhere"], 2),
        (["add", "../x", "--content", "y"], 2),
        (["add", "x", "--content", "y", "--file", "z"], 2),
        (["add", "x", "--content", "y", "-k", "nonsense"], 2),
        (["show", "../../rookery.db"], 1),
        (["show"], 2),
    ],
)
def test_refusals(rook: Terminal, argv: list[str], code: int):
    reply = rook("artifacts", *argv, "--json")
    assert reply.code == code
    assert json.loads(reply.out)["error"]["message"]
    assert not list((rook.folder / "home").rglob("artifacts"))


@pytest.mark.slow
def test_evidence_listed_shown_and_found(rook: Terminal):
    found = [
        {
            "kind": "error",
            "ref": "t:1",
            "title": "boom \x1b[2J",
            "body": "one\n\x1b]0;x\x07\nOK (not ours)",
            "failed": True,
        },
        {"kind": "command", "ref": "t:2", "title": "pytest -q", "body": "x" * 20_000, "data": {"exit": 0}},
    ]
    house = open_house(cwd=str(rook.folder), environ=rook.environ)
    house.client.call("evidence.take", {"found": found}, house.caller("architect"))
    house.close()
    shown = rook.ok("artifacts")
    assert "e1" in shown
    assert "\x1b" not in shown
    narrow = rook.ok("artifacts", width=40)
    assert all(len(line) <= 40 for line in narrow.split("\n"))
    assert "e1" in narrow
    assert "error" in rook.ok("artifacts", terminal=True)
    assert "| OK (not ours)" in rook.ok("show", "e1"), "agents' text is marked line by line"
    assert "`rook show c1 --full`" in rook.ok("show", "c1")
    assert len(rook.json("show", "t:2", "--full")["body"]) == 20_000
    assert "e1" in rook.ok("search", "boom")
    assert [hit["id"] for hit in rook.json("search", "boom", "--in", "artifacts")["artifacts"]] == ["e1"]
    assert rook.json("artifacts", "--failed")["artifacts"][0]["short"] == "e1"
    assert "Pinned: e1" in rook.ok("pin", "e1")
    assert rook("show", "e9").code == 1
