"""What messages may ask for, as commands."""

from tests.cli.conftest import Terminal


def test_a_lens_of_the_repository(rook: Terminal) -> None:
    lenses = rook.folder / ".rook" / "lenses"
    lenses.mkdir(parents=True)
    (lenses / "naval.md").write_text("# Naval\nThink of \x1b[2Jships.\n")
    listed = {each["name"]: each for each in rook.json("lenses")["lenses"]}
    assert (listed["naval"]["title"], listed["naval"]["source"]) == ("Naval", str(lenses / "naval.md"))
    assert "naval" in rook.ok("lenses")
    sent = rook.json("--as", "architect", "send", "implementer", "-s", "Look", "--lens", "naval", "--lens", "sceptic")
    shown = rook.ok("--as", "implementer", "read", sent["id"])
    assert "perspective to take: naval" in shown
    assert "Think of ships." in shown
    refused = rook("--as", "architect", "send", "implementer", "-s", "Look", "--lens", "navel")
    assert (refused.code, "Did you mean naval?" in refused.err) == (1, True)


def test_rounds_and_a_fresh_start(rook: Terminal) -> None:
    said = rook.ok(
        "--as", "architect", "send", "implementer", "-s", "Improve", "-t", "task", "--rounds", "2", "--clear-before"
    )
    assert "clear_before is off" in said
    (message,) = rook.json("--as", "implementer", "inbox")["messages"]
    assert "is round 2 of 2" in rook.ok("--as", "implementer", "ack", message["id"])
    assert rook("--as", "architect", "send", "implementer", "-s", "x", "--rounds", "9").code == 2


def test_a_question_for_a_human_and_their_answer(rook: Terminal) -> None:
    asked = rook.json("--as", "architect", "send", "user", "-t", "ask-human", "-s", "A or B?")
    assert asked["escalation"] in rook.ok("escalate", "--list")
    assert f"closes {asked['escalation']}" in rook.ok("reply", asked["id"], "-m", "B")
    (answer,) = rook.json("--as", "architect", "inbox")["messages"]
    assert (answer["body"], answer["thread"]) == ("B", asked["thread"])


def test_routes_of_the_repository(rook: Terminal) -> None:
    (rook.folder / "rookery.toml").write_text(
        'routing = "warn"\n[routes.up]\nfrom = ["imp*"]\nto = ["lead"]\nstatus = ["done"]\n'
    )
    assert "bound by up" in rook.ok("--as", "implementer", "send", "architect", "-s", "x", "--status", "done")
    rook.environ["ROOK_ROUTING"] = "enforce"
    refused = rook("--as", "implementer", "send", "architect", "-s", "x")
    assert (refused.code, "bound by up" in refused.err) == (1, True)
    (rook.folder / "rookery.toml").write_text('[routes.up]\nform = ["imp*"]\n')
    assert rook("inbox").code == 2
