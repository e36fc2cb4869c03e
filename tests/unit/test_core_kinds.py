"""Kinds of workers: what a text says, what is wrong with it and where, and what follows for a worker."""

import json
import os
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rookery.app import OUR_KINDS
from rookery.core import briefs, errors, kinds, plans
from rookery.core import text as texts
from rookery.core.kinds import Kind, Respawn
from tests.support.workers import built_in

BUILT_IN = ["default", "fixer", "implementer", "planner", "reviewer", "scout"]


def text(*lines: str, body: str = "Do it.") -> str:
    return "\n".join(["---", *lines, "---", "", body, ""])


def parse(*lines: str, name: str = "k") -> Kind:
    return kinds.parse(text(*lines), "k.md", name)


def wrong(*lines: str) -> errors.BadInput:
    with pytest.raises(errors.BadInput) as caught:
        parse(*lines)
    assert str(caught.value).isprintable()
    assert caught.value.code == "BAD_KIND"
    assert caught.value.facts["file"] == "k.md"
    return caught.value


# --- reading ----------------------------------------------------------------------------------------------------------


def test_everything_a_kind_can_say() -> None:
    kind = parse(
        "name: k", "description: looks around", "host: claude", "model: big", "read_only: no", "plan_gate: yes",
        "worktree: true", "seed: full", "can_spawn: on", "max_active: 3", "decision_rights:", "  - names", "  - tests",
        "max_artifacts: 5", "max_duration_s: 90.5", "permissions: all", "on_mail: yes", "respawn:",
        "  policy: always", "  limit: 2", "  backoff_s: 0.5", "guardrails_append: |", "  One more.", "  And another.",
    )  # fmt: skip
    assert kind == Kind(
        name="k", description="looks around", host="claude", model="big", plan_gate=True, seed=True, can_spawn=True,
        max_active=3, decision_rights=("names", "tests"), max_artifacts=5, max_duration_s=90.5, permissions="all",
        respawn=Respawn("always", 2, 0.5), on_mail=True, guardrails_append="One more.\nAnd another.", body="Do it.",
    )  # fmt: skip


def test_what_is_left_out() -> None:
    assert parse("description: d") == Kind("k", "d", body="Do it.")
    reader = parse("read_only: true")
    assert (reader.worktree, reader.permissions) == (False, "read")
    assert parse("read_only: true", "worktree: true").worktree
    assert parse("respawn: on-crash").respawn == Respawn("on-crash")
    assert parse("decision_rights: all of it").decision_rights == ("all of it",)


WRONG = [
    (["name: k", "redonly: true"], 3, "no key 'redonly'", "read_only"),
    (["description: x", "read_only: maybe"], 3, "read_only is 'maybe'", "true or false"),
    (["max_active: -1"], 2, "max_active", "from 0"),
    (["max_active: 1.5"], 2, "max_active", "whole number"),
    (["max_duration_s: nan"], 2, "max_duration_s", "number"),
    (["max_duration_s: 1_0"], 2, "max_duration_s", "number"),
    (["name: k", "", "# why", "permissions: everything"], 5, "permissions is", "ask, read, edit, all"),
    (["respawn: sometimes"], 2, "respawn is", "never"),
    (["respawn:", "  policy: never", "  limits: 3"], 4, "respawn.limits is not known", "limit"),
    (["respawn:", "  limit: lots"], 3, "respawn.limit", "number"),
    (["name: other"], 2, "name is other", "same name"),
    (["name: a/b"], 2, "name can not be used", "slash|characters"),
    (["description: [a, b]"], 2, "description is no text", "description: word"),
    (["name: k", "name: k"], 3, "twice", "name: scout"),
    (["a: b", "c: [d"], 3, "no YAML", "name: scout"),
    (["- a"], 2, "no mapping", "name: scout"),
    (["guardrails_append: *x"], 2, "alias", "name: scout"),
]


@pytest.mark.parametrize(("lines", "line", "said", "hint"), WRONG, ids=[each[2] for each in WRONG])
def test_what_is_wrong_is_told_with_its_line(lines: list[str], line: int, said: str, hint: str) -> None:
    error = wrong(*lines)
    assert f"k.md, line {line}: " in error.message
    assert said in error.message
    assert any(each in error.hint for each in hint.split("|")), error.hint
    assert error.facts["line"] == line


@pytest.mark.parametrize(
    ("written", "line", "said"),
    [("", 1, "no front matter"), ("# Scout\n", 1, "no front matter"), ("---\nname: k\n", 3, "ends inside"),
     (f"---\ndescription: {'x' * 20_000}\n---\n", 1, "characters"), ("---\n---\n", 1, "name is missing")],
)  # fmt: skip
def test_texts_that_are_no_kind(written: str, line: int, said: str) -> None:
    with pytest.raises(errors.BadInput, match=said) as caught:
        kinds.parse(written, "x.md")
    assert f"x.md, line {line}: " in caught.value.message


@given(st.text(max_size=400), st.text(max_size=200))
def test_no_text_does_more_than_be_refused(front: str, body: str) -> None:
    said = ""
    try:
        said = kinds.parse(f"---\n{front}\n---\n{body}", "x.md", "x").name
    except errors.BadInput as error:
        said = error.message
    assert said == "x" or (said.isprintable() and "x.md" in said.lower())


WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), max_size=60).map(str.strip)
KINDS = st.builds(
    Kind, name=st.just("k"), description=WORDS, host=WORDS, model=WORDS, read_only=st.booleans(),
    plan_gate=st.booleans(), worktree=st.booleans(), seed=st.booleans(), can_spawn=st.booleans(), on_mail=st.booleans(),
    max_active=st.integers(0, 1000), decision_rights=st.lists(WORDS.filter(bool), max_size=4).map(tuple),
    max_artifacts=st.integers(0, 1000), max_duration_s=st.integers(0, 1_000_000).map(float),
    permissions=st.sampled_from(kinds.PERMISSIONS),
    commands=st.lists(st.sampled_from(("make test", "git commit")), max_size=3).map(tuple),
    respawn=st.builds(Respawn, st.sampled_from(kinds.POLICIES), st.integers(0, 9), st.integers(0, 99).map(float)),
    guardrails_append=WORDS, body=WORDS,
)  # fmt: skip


@pytest.mark.slow
@given(KINDS)
def test_a_kind_goes_through_yaml_and_through_json(kind: Kind) -> None:
    data = kinds.as_data(kind)
    assert kinds.from_data(json.loads(json.dumps(data))) == kind
    front = yaml.safe_dump({key: value for key, value in data.items() if key != "body"}, allow_unicode=True)
    assert kinds.parse(f"---\n{front}---\n{kind.body}", "k.md", "k") == kind


def test_what_another_version_wrote_is_taken_as_far_as_it_is_known() -> None:
    assert kinds.from_data({"name": "k", "read_only": True, "colour": "red"}) == Kind("k", read_only=True)
    assert kinds.from_data({"name": "k", "respawn": {"policy": "always", "jitter": 1}}).respawn == Respawn("always")


# --- rules ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "plan_ok", "said"),
    [
        (Kind("k", read_only=True), False, "only reads"),
        (Kind("k", read_only=True), True, "only reads"),
        (Kind("k", read_only=True, plan_gate=True), True, "only reads"),
        (Kind("k", plan_gate=True), False, "rook ask --plan"),
        (Kind("k", plan_gate=True), True, ""),
        (Kind("k"), False, ""),
    ],
)
def test_what_keeps_a_worker_from_writing(kind: Kind, plan_ok: bool, said: str) -> None:
    why = kinds.write_refusal(kind, plan_ok=plan_ok)
    assert (said in why) if said else why == ""


def test_a_child_may_not_do_what_its_parent_may_not() -> None:
    writer, reader, gated = Kind("w"), Kind("r", read_only=True), Kind("g", plan_gate=True)
    assert kinds.bounded(writer, reader, plan_ok=True).read_only
    assert kinds.bounded(writer, gated, plan_ok=False).plan_gate
    assert kinds.bounded(writer, gated, plan_ok=True) == writer
    assert kinds.bounded(reader, writer, plan_ok=False) == reader


@given(KINDS, KINDS, st.booleans())
def test_a_child_is_never_looser(child: Kind, parent: Kind, plan_ok: bool) -> None:
    made = kinds.bounded(child, parent, plan_ok=plan_ok)
    assert not kinds.loosens(made, child)
    if kinds.write_refusal(parent, plan_ok=plan_ok):
        assert kinds.write_refusal(made, plan_ok=False)


def test_who_may_start_others() -> None:
    assert kinds.may_spawn(Kind("k", can_spawn=True), 0, 2)
    assert kinds.may_spawn(Kind("k", can_spawn=True), 1, 2)
    deep = kinds.spawn_refusal(Kind("k", can_spawn=True), 2, 2)
    assert deep is not None
    assert deep.code == "TOO_DEEP"
    assert not kinds.may_spawn(Kind("k"), 0, 2)


def test_when_a_worker_is_started_again() -> None:
    delays = [kinds.respawn_delay(Kind("k", respawn=Respawn("on-crash", 4, 2)), n) for n in range(1, 7)]
    assert delays == [2_000, 4_000, 8_000, 16_000, None, None]
    assert kinds.respawn_delay(Kind("k"), 1) is None
    assert kinds.respawn_delay(Kind("k", respawn=Respawn("on-crash")), 1, crashed=False) is None
    assert kinds.respawn_delay(Kind("k", respawn=Respawn("always")), 1, crashed=False) == 2_000
    assert kinds.respawn_delay(Kind("k", respawn=Respawn("always", 1_000, 5)), 900) == kinds.BACKOFF_MOST_MS
    assert kinds.respawn_delay(Kind("k", respawn=Respawn("always", 3, 3_600)), 3) == 3_600_000, "never sooner than said"


# --- ours -------------------------------------------------------------------------------------------------------------


def test_which_are_built_in() -> None:
    assert sorted(name.removesuffix(".md") for name in os.listdir(OUR_KINDS)) == BUILT_IN
    readers = [name for name in BUILT_IN if built_in(name).read_only]
    assert readers == ["planner", "reviewer", "scout"]


@pytest.mark.parametrize("name", BUILT_IN)
def test_each_of_ours_says_what_it_is(name: str) -> None:
    kind = built_in(name)
    assert kind.name == name
    assert 20 < len(kind.description) < 100
    assert len(kind.body) > 500
    assert kind.decision_rights
    assert kind.respawn.policy == "never", "what acts by itself is switched on by a person (ADR 14)"


def test_the_planners_example_is_a_plan() -> None:
    body = built_in("planner").body
    (block,) = [part.partition("```")[0] for part in body.split("```tasks-json\n")[1:]]
    tasks, problems = plans.from_data(json.loads(block))
    assert problems == []
    assert plans.validate(tasks) == []
    assert [task.kind for task in tasks] == ["implementer", "implementer"]


# --- what a worker is told --------------------------------------------------------------------------------------------


def assigned(**more: Any) -> briefs.Assignment:
    return briefs.Assignment(**{
        "worker": "w1", "agent": "w1-scout", "team": "crew", "author": "lead", "title": "Look", "words": "Find it.",
        "workspace": "/work/x", **more,
    })  # fmt: skip


def test_a_kind_extends_the_guardrails() -> None:
    kind = Kind("k", guardrails_append="Mind the step.", body="Only this counts.")
    told = briefs.guardrails(kind)
    assert told.index(briefs.UNIVERSAL) < told.index("Mind the step.") < told.index("Only this counts.")
    assert briefs.UNIVERSAL in briefs.brief(kind, assigned())


@given(KINDS)
def test_no_kind_replaces_them(kind: Kind) -> None:
    assert briefs.UNIVERSAL in briefs.guardrails(kind)


@given(
    words=st.text(max_size=300), title=st.text(max_size=80), context=st.text(max_size=80), before=st.text(max_size=80)
)
def test_whoever_asks_can_not_end_its_own_words(words: str, title: str, context: str, before: str) -> None:
    """However it is put, the lines that are not marked are the same in number and, but for the title's, in text."""
    kind = built_in("scout")
    told = briefs.brief(kind, assigned(words=words or "x", title=title, context=context, before=before))
    plain = briefs.brief(kind, assigned(words="x", title="", context=context and "x", before=before and "x"))

    def ours(brief: str) -> list[str]:
        return [line for line in brief.split("\n")[1:] if not line.startswith("| ")]

    if texts.plain(context).strip() and texts.plain(before).strip():  # what is nothing once it is plain has no part
        assert ours(told) == ours(plain)
    assert told.split("\n")[0].startswith("# w1: ")
    assert told.count(briefs.UNIVERSAL) == 1


def test_a_brief_says_what_has_to_be_known_first() -> None:
    told = briefs.brief(built_in("scout"), assigned(refs=["issue-1"], lenses=[("sceptic", "# Sceptic\nDoubt it.")]))
    for part in ("**scout**", "the agent lead", "| Find it.", "| issue-1", "> Doubt it.", "/work/x", "**Read-only**",
                 "30 minutes", "`rook progress`", "`rook ask`", "`rook done`", "`rook fail`", "where to look",
                 ):  # fmt: skip
        assert part in told, part
    assert "worktree of your own" not in told
    writer = briefs.brief(built_in("implementer"), assigned(own_tree=True, base="0123456789abcdef", task="task-0001"))
    assert "a git worktree of your own, begun at 0123456789a" in writer
    assert "task-0001" in writer
    assert "Read-only" not in writer
    assert "a person, or a program without a name" in briefs.brief(Kind("k"), assigned(author="user"))
    assert "lead, the worker w3," in briefs.brief(Kind("k"), assigned(parent="w3"))


def test_a_brief_tells_of_the_gate() -> None:
    gated = Kind("k", plan_gate=True)
    assert "until your plan was agreed to you only read" in briefs.brief(gated, assigned())
    assert "it was agreed to" in briefs.brief(gated, assigned(plan_ok=True))
    assert "Plan" not in briefs.brief(Kind("k"), assigned()).replace("`rook ask --plan`", "")
