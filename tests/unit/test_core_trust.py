"""A repository may narrow, never widen: every setting by its class, and every field of a kind."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from rookery import config
from rookery.config import SETTINGS, Setting, Settings
from rookery.core import kinds, ownership, trust
from rookery.core.kinds import Kind, Respawn
from rookery.core.ownership import Claim, Decision, Owner
from rookery.settings import ENTRIES

TRUSTED = [setting for setting in SETTINGS if setting.repository == trust.TRUST]
NARROWED = [setting for setting in SETTINGS if trust.class_of(setting.repository) == trust.NARROW]
SAMPLES: dict[str, Any] = {
    "list": ["x"], "count": 2, "table": {}, "price": 1, "str": "x",
}  # fmt: skip


def entry_of(setting: Setting, number: int = 1) -> Any:
    shape = ENTRIES[setting.name]
    if isinstance(shape, str):
        return {"list": [f"x{number}"], "count": 1 + number}[shape]
    return {key: {"list": [f"x{number}"], "str": f"x{number}", "price": number, "table": {}}[kind]
            for key, kind in shape.items()}  # fmt: skip


def another(setting: Setting) -> Any:
    """A value that is not the default."""
    if setting.choices:
        return next(each for each in setting.choices if each != setting.default)
    if setting.kind == "bool":
        return not setting.default
    if setting.kind in ("int", "float"):
        return setting.default + 1
    return {"str": "x", "list": ["x"], "table": {"x": entry_of(setting)} if setting.kind == "table" else None}[
        setting.kind
    ]


def said(value: Any) -> str:
    """As TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {said(each)}" for key, each in value.items()) + " }"
    return json.dumps(value)


def load(folder: Path, user: str, repo: str, accepted: Collection[str] = ()) -> Settings:
    (folder / "user.toml").write_text(user)
    (folder / "rookery.toml").write_text(repo)
    return config.load(
        environ={}, user_file=str(folder / "user.toml"), repo_file=str(folder / "rookery.toml"),
        accepts=lambda digest: digest in accepted,
    )  # fmt: skip


# -- the table -------------------------------------------------------------------------------------------------------


def test_every_setting_has_a_class() -> None:
    for setting in SETTINGS:
        assert trust.class_of(setting.repository) in trust.CLASSES, setting.name
    assert [each.name for each in SETTINGS if each.repository == trust.CLAIM] == ["team"]


def test_every_order_names_every_choice() -> None:
    for setting in SETTINGS:
        if setting.choices and setting.repository not in (trust.FREE, trust.TRUST):
            assert sorted(setting.repository.removeprefix("narrow order ").split()) == sorted(setting.choices)


def test_what_runs_something_or_reaches_someone_needs_trust() -> None:
    """Pinned: whoever makes one of these free does it on purpose."""
    needs = {each.name for each in SETTINGS if not trust.is_within(each.repository, another(each), each.default,
                                                                  below_is_set=False)}  # fmt: skip
    assert needs >= {
        "hosts", "reach", "delivery.notify", "delivery.secret_file", "land.check", "land.auto", "land.branch", "leader",
        "worker.host", "worker.environment", "spawn.by_message", "spawn.senders", "notify.webhook", "notify.terminal",
        "notify.desktop", "terminal.answer_gates", "extensions.only", "delivery.resume", "delivery.interrupt",
        "worker.limit", "daemon.port", "store.busy_s",
    }  # fmt: skip


@pytest.mark.parametrize("setting", TRUSTED, ids=lambda each: each.name)
def test_a_trusted_setting_counts_once_it_is_accepted(tmp_path: Path, setting: Setting) -> None:
    value = another(setting)
    written = f"{setting.name} = {said(value)}\n"
    before = load(tmp_path, "", written)
    assert (before[setting.name], before.source(setting.name)) == (setting.default, "default")
    digests = {each.digest for each in before.requests}
    assert digests
    assert not any(each.accepted for each in before.requests)
    after = load(tmp_path, "", written, digests)
    assert after[setting.name] == value
    assert after.source(setting.name) == str(tmp_path / "rookery.toml")


BELOW: dict[str, tuple[Any, list[Any], list[Any]]] = {  # by rule: the user's value, what widens it, what narrows it
    trust.LOWER: (5, [6, 50], [5, 4]),
    trust.HIGHER: (500, [499, 60], [500, 501]),
    trust.LOWER_NOT_ZERO: (5, [0, 6], [5, 4]),
    trust.HIGHER_OR_ZERO: (5, [4], [5, 6, 0]),
    trust.OFF: (False, [True], [False]),
    trust.ON: (True, [False], [True]),
    trust.INSIDE: (["a"], [["../x"], ["/x"], ["~/x"], ["a", "b/../../x"]], [["b/c"], []]),
}


def cases(setting: Setting) -> tuple[Any, list[Any], list[Any]]:
    if setting.repository in (trust.ENTRIES_NEW, trust.ALONE):
        mine = {"mine": entry_of(setting)}
        others = [{"other": entry_of(setting)}]
        replaced = [{"mine": entry_of(setting, 2)}, {"MINE": entry_of(setting, 2)}]
        is_alone = setting.repository == trust.ALONE
        return mine, replaced + others * is_alone, [mine, *others * (not is_alone)]
    if setting.choices:
        strict, middle, *loose = setting.repository.removeprefix("narrow order ").split()
        return middle, loose, [middle, strict]
    return BELOW[setting.repository]


@pytest.mark.parametrize("setting", NARROWED, ids=lambda each: each.name)
def test_a_narrowed_setting_is_never_widened(tmp_path: Path, setting: Setting) -> None:
    below, wider, narrower = cases(setting)
    lowest = setting.low if setting.low is not None else 0
    user = f"{setting.name} = {said(below)}\n"
    for value in wider:
        if setting.kind in ("int", "float") and value < lowest:
            continue
        repo = f"{setting.name} = {said(value)}\n"
        found = load(tmp_path, user, repo)
        assert found[setting.name] == below, value
        assert [each.accepted for each in found.requests] == [False], value
        accepted = load(tmp_path, user, repo, [each.digest for each in found.requests])[setting.name]
        assert accepted == value or accepted == {**below, **value}, "the user may accept it"
    for value in narrower:
        found = load(tmp_path, user, f"{setting.name} = {said(value)}\n")
        assert not found.requests, value
        assert found[setting.name] == (value if setting.kind != "table" else {**below, **value}), value


def test_an_acceptance_is_for_exactly_this_value(tmp_path: Path) -> None:
    asked = load(tmp_path, "", 'land.check = ["make", "test"]\n').requests
    accepted = [each.digest for each in asked]
    assert load(tmp_path, "", 'land.check = ["make", "test"]\n', accepted)["land.check"] == ["make", "test"]
    assert load(tmp_path, "", 'land.check = ["make", "evil"]\n', accepted)["land.check"] == []
    assert load(tmp_path, "", 'delivery.notify = ["make", "test"]\n', accepted)["delivery.notify"] == []


def test_environment_and_flags_are_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "rookery.toml").write_text("worker.limit = 500\n")
    found = config.load(environ={"ROOK_WORKER_LIMIT": "600"}, user_file=None, repo_file=str(tmp_path / "rookery.toml"))
    assert found["worker.limit"] == 600


# -- kinds -----------------------------------------------------------------------------------------------------------

BASE = Kind(
    "base", "d", body="text", plan_gate=True, max_duration_s=60, commands=("git add",), respawn=Respawn("on-crash")
)
WIDER: dict[str, Any] = {
    "host": "script", "model": "big", "plan_gate": False, "worktree": False, "seed": True, "can_spawn": True,
    "decision_rights": ("all",), "max_duration_s": 0, "permissions": "all", "commands": ("git add", "rm"),
    "respawn": Respawn("always"), "on_mail": True, "guardrails_append": "obey", "body": "another", "description": "x",
}  # fmt: skip


def test_every_field_of_a_kind_has_its_rule() -> None:
    """A new field without one fails here."""
    judged = {*kinds.STRICTER, *kinds.TEXTS}
    assert judged | {"name"} == set(Kind._fields)
    assert set(WIDER) == judged - {"read_only", "max_active", "max_artifacts"}


@pytest.mark.parametrize("key", WIDER)
def test_a_field_is_not_widened(key: str) -> None:
    asked = BASE._replace(**{key: WIDER[key]})
    assert kinds.widened(asked, BASE) == [key]
    assert kinds.widened(kinds.narrowed(asked, BASE), BASE) == []
    assert kinds.narrowed(BASE, BASE) == BASE


def test_limits_of_a_kind() -> None:
    below = BASE._replace(max_active=3, max_artifacts=3, read_only=True, permissions="read")
    assert kinds.widened(below._replace(max_active=0, max_artifacts=4, read_only=False), below) == [
        "read_only", "max_active", "max_artifacts"
    ]  # fmt: skip
    assert kinds.widened(below._replace(max_active=2, max_artifacts=1), below) == []
    both = BASE._replace(commands=("git add", "rm"), respawn=Respawn("always", 1, 9))
    met = kinds.narrowed(both, BASE)
    assert met.commands == ("git add",)
    assert met.respawn == Respawn("on-crash", 1, 9)


def test_texts_are_free_under_a_name_of_its_own() -> None:
    mine = Kind("mine", "what it is", body="Do it.", guardrails_append="With care.")
    assert kinds.widened(mine, Kind("default", body="other")) == []


# -- teams -----------------------------------------------------------------------------------------------------------

A, B = Owner("a" * 32, "/a/.git"), Owner("b" * 32, "/b/.git")


@pytest.mark.parametrize(
    ("mine", "owner", "is_new", "there", "accepted", "expected"),
    [
        (A, None, True, False, False, Decision.TAKE),
        (A, None, False, False, False, Decision.REFUSE),  # made by the user, or before owners were kept
        (A, None, False, False, True, Decision.ENTER),
        (A, A, False, True, False, Decision.ENTER),
        (B, A, False, True, False, Decision.REFUSE),
        (B, A, False, True, True, Decision.ENTER),
        (A._replace(path="/moved/.git"), A, False, False, False, Decision.TAKE),
        (A._replace(path="/copy/.git"), A, False, True, False, Decision.REFUSE),
        (Owner("", "/a/.git"), A, False, False, False, Decision.REFUSE),  # cloned anew to the same place
        (A, Owner("", "/a/.git"), False, False, False, Decision.TAKE),  # it has an id by now
        (Owner("", "/x"), Owner("", "/a"), False, False, False, Decision.REFUSE),
    ],
)
def test_who_may_be_in_a_team(
    mine: Owner, owner: Owner | None, is_new: bool, there: bool, accepted: bool, expected: Decision
) -> None:
    claim = Claim("rookery.toml", mine, accepted, lambda _owner: there)
    assert ownership.decide("atlas", claim, owner, is_new=is_new) is expected


def test_a_name_that_is_made_from_a_folder_is_not_claimed_by_a_file() -> None:
    claim = Claim("rookery.toml", A, False, lambda _owner: False)
    assert ownership.decide("app-1a2b3c", claim, None, is_new=True) is Decision.REFUSE
    assert ownership.decide("app-final", claim, None, is_new=True) is Decision.TAKE
