"""The settings table and its cascade."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery import config
from rookery.config import SETTINGS, Setting, Settings
from rookery.core.errors import BadInput

ROOT = Path(__file__).parents[2]


def load(
    environ: dict[str, str] | None = None,
    user: Path | None = None,
    repo: Path | None = None,
    flags: dict[str, Any] | None = None,
) -> Settings:
    return config.load(
        environ=environ or {},
        user_file=str(user) if user else None,
        repo_file=str(repo) if repo else None,
        flags=flags or {},
    )


@pytest.fixture
def user(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return tmp_path / "rookery.toml"


def refused(code: str, *words: str, **layers: Any) -> BadInput:
    with pytest.raises(BadInput) as caught:
        load(**layers)
    error = caught.value
    assert error.code == code
    assert error.hint
    for word in words:
        assert word in error.message
    return error


# --- the table --------------------------------------------------------------------------------------------------------


def test_every_setting_is_well_formed() -> None:
    names = [setting.name for setting in SETTINGS]
    assert len(names) == len(set(names))
    assert len({config.variable(name) for name in names}) == len(names)
    assert {config.variable(name) for name in names} & config.RESERVED == {"ROOK_TEAM"}
    for setting in SETTINGS:
        assert setting.help.endswith(".")
        assert setting.name.endswith("_s") or setting.name == "poll.s" or setting.unit != "seconds"


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
def test_every_default_is_accepted_by_its_own_rule(setting: Setting) -> None:
    assert load(flags={setting.name: setting.default})[setting.name] == setting.default


def test_every_option_of_pi_messenger_has_its_setting() -> None:
    options = {
        "autoRegister": False,
        "autoRegisterPaths": [],
        "scopeToFolder": False,
        "nameTheme": "default",
        "feedRetention": 50,
        "stuckThreshold": 900,
        "autoStatus": True,
        "autoOverlay": True,
        "crewEventsInFeed": True,
    }
    assert {setting.seed: setting.default for setting in SETTINGS if setting.seed} == options


def test_the_reference_is_current() -> None:
    written = (ROOT / "docs/settings.md").read_text()
    assert written == config.reference_markdown(), "python -m rookery.config > docs/settings.md"


def test_importing_costs_little() -> None:
    program = (
        "import sys, typing, os, contextlib; before = set(sys.modules)\n"
        f"sys.path.insert(0, {str(ROOT / 'src')!r})\n"
        "import rookery.config, rookery.core.ports\n"
        "from rookery.runtime import clock, files, git, places, process\n"
        "import json; print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    # json is the test's own.
    heavy = {"tomllib", "pathlib", "dataclasses", "difflib", "hashlib", "datetime", "subprocess", "tempfile", "psutil"}
    assert not loaded & heavy


# --- the cascade ------------------------------------------------------------------------------------------------------


def test_later_wins_and_the_source_is_known(user: Path, repo: Path) -> None:
    user.write_text("[mesh]\nstuck_s = 1\nidle_s = 1\nactive_s = 1\nlease_s = 1\n")
    repo.write_text("mesh.idle_s = 2\nmesh.active_s = 2\nmesh.lease_s = 2\n")
    environ = {"ROOK_MESH_ACTIVE_S": "3", "ROOK_MESH_LEASE_S": "3", "PATH": "/bin"}
    found = load(environ, user, repo, {"mesh.lease_s": 4, "mesh.idle_s": None})
    names = ["mesh.heartbeat_s", "mesh.stuck_s", "mesh.idle_s", "mesh.active_s", "mesh.lease_s"]
    assert [found[name] for name in names] == [15, 1, 2, 3, 4]
    sources = ["default", str(user), str(repo), "environment ROOK_MESH_ACTIVE_S", "flag"]
    assert [found.source(name) for name in names] == sources


def test_files_need_not_exist(tmp_path: Path) -> None:
    found = load({}, tmp_path / "none.toml", tmp_path / "no" / "folder.toml")
    assert {found.source(name) for name in found} == {"default"}
    assert [name for name, _ in found.items()] == [setting.name for setting in SETTINGS]


def test_tomllib_is_loaded_for_a_file_only(tmp_path: Path) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r})\n"
        "from rookery import config\n"
        "config.load(environ={}, user_file='/nonexistent/a.toml', repo_file=None)\n"
        "sys.exit('tomllib' in sys.modules)"
    )
    subprocess.run([sys.executable, "-I", "-S", "-c", program], check=True)


def test_tables_gather_their_entries_from_both_files(user: Path, repo: Path) -> None:
    user.write_text('[groups]\na = ["x"]\nb = ["y"]\n')
    repo.write_text('[groups]\nb = ["z", "ops/q"]\n[agents]\nx = { role = "reviewer", model = "m" }\n')
    found = load({}, user, repo)
    assert found["groups"] == {"a": ["x"], "b": ["y"]}, "what you said yourself is not replaced"
    repo.write_text('[groups]\nc = ["z", "ops/q"]\n[agents]\nx = { role = "reviewer", model = "m" }\n')
    found = load({}, user, repo)
    assert found["groups"] == {"a": ["x"], "b": ["y"], "c": ["z", "ops/q"]}
    assert found.source("groups") == f"{user}, {repo}"
    assert found["agents"] == {"x": {"role": "reviewer", "model": "m"}}
    assert found.source("agents") == str(repo)


def test_what_is_handed_out_can_be_changed_without_harm(repo: Path) -> None:
    repo.write_text('[groups]\na = ["x"]\n')
    found = load({}, None, repo)
    found["groups"]["a"].append("y")
    found["group_folders"].append("y")
    assert found["groups"] == {"a": ["x"]}
    assert load()["group_folders"] == ["swarms/{group}/agents"]
    with pytest.raises(TypeError):
        found["team"] = "x"  # pyright: ignore[reportIndexIssue]


def test_money_as_micro_units(repo: Path) -> None:
    repo.write_text("budget.max_cost = 0.1\nbudget.agent_max_cost = 12.000001\nbudget.task_max_cost = 3\n")
    settings = load({}, None, repo)
    names = ("budget.max_cost", "budget.agent_max_cost", "budget.task_max_cost")
    assert [settings.micros(name) for name in names] == [100_000, 12_000_001, 3_000_000]
    assert settings.says_any(names)
    assert not settings.says_any(["budget.max_tokens", "leader"])
    with pytest.raises(ValueError, match="no money"):
        settings.micros("poll.s")


def test_seconds_as_milliseconds() -> None:
    found = load({"ROOK_POLL_S": "0.25"})
    assert found.ms("poll.s") == 250
    assert found.ms("mesh.stuck_s") == 900_000
    with pytest.raises(ValueError, match="not a time"):
        found.ms("feed.limit")


@pytest.mark.parametrize("name", ["HOME", "TEAM", "AGENT", "STORE", "URL", "TOKEN", "TOKEN_FILE", "FAULT", "NO_SKIPS"])
def test_variables_with_another_use_are_no_error(name: str) -> None:
    load({f"ROOK_{name}": "x"})


def test_the_team_follows_its_variable(repo: Path) -> None:
    repo.write_text('team = "written"\n')
    assert load({}, None, repo)["team"] == "written"
    found = load({"ROOK_TEAM": "given"}, None, repo)
    assert (found["team"], found.source("team")) == ("given", "environment ROOK_TEAM")
    assert load({"ROOK_TEAM": ""}, None, repo)["team"] == "written"


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("ROOK_MESH_AUTO_JOIN", "YES", "mesh.auto_join", True),
        ("ROOK_MESH_AUTO_JOIN", "1", "mesh.auto_join", True),
        ("ROOK_MESH_AUTO_JOIN", "on", "mesh.auto_join", True),
        ("ROOK_MESH_AUTO_STATUS", "off", "mesh.auto_status", False),
        ("ROOK_MESH_AUTO_STATUS", "0", "mesh.auto_status", False),
        ("ROOK_MESH_AUTO_STATUS", "no", "mesh.auto_status", False),
        ("ROOK_MESH_AUTO_JOIN_PATHS", " ~/a/* , b,", "mesh.auto_join_paths", ["~/a/*", "b"]),
        ("ROOK_FEED_LIMIT", " 7 ", "feed.limit", 7),
        ("ROOK_STORE_BUSY_S", "0.5", "store.busy_s", 0.5),
        ("ROOK_NAMES_THEME", "space", "names.theme", "space"),
        ("ROOK_NAMES_THEME", "", "names.theme", "default"),
    ],
)
def test_text_is_read_as_its_kind(variable: str, text: str, name: str, value: object) -> None:
    assert load({variable: text})[name] == value
    if text:
        assert load(flags={name: text})[name] == value


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key", "nearest"),
    [
        ("[mesh]\nstuck = 5", "mesh.stuck", "mesh.stuck_s"),
        ("[mehs]\nstuck_s = 5", "mehs.stuck_s", "mesh.stuck_s"),
        ("stuckThreshold = 5", "stuckThreshold", "mesh.stuck_s"),
        ("taem = 'x'", "taem", "team"),
        ("mesh = 5", "mesh", "mesh."),
        ("[meshes]", "meshes", "mesh."),
        ("agents.x.rolle = 'r'", "agents.x.rolle", "agents.x.role"),
    ],
)
def test_an_unknown_key_names_the_file_and_the_nearest(repo: Path, text: str, key: str, nearest: str) -> None:
    repo.write_text(text)
    error = refused("UNKNOWN_SETTING", key, str(repo), nearest, repo=repo)
    assert error.facts["setting"] == key


def test_an_empty_section_is_no_error(repo: Path) -> None:
    repo.write_text("[mesh]\n[groups]\n")
    load(repo=repo)


def test_an_unknown_variable_names_the_nearest() -> None:
    error = refused("UNKNOWN_SETTING", "ROOK_MESH_STUCK", "ROOK_MESH_STUCK_S", environ={"ROOK_MESH_STUCK": "5"})
    assert error.facts["nearest"] == "ROOK_MESH_STUCK_S"
    refused("UNKNOWN_SETTING", "ROOK_AGENT.", environ={"ROOK_AGEND": "x"})
    refused("UNKNOWN_SETTING", "mesh.stuck_s", "flag", flags={"mesh.stuck": 5})


@pytest.mark.parametrize(
    ("text", "key", "accepted"),
    [
        ("mesh.stuck_s = 'soon'", "mesh.stuck_s is 'soon'", "a number from 1 to 31536000"),
        ("mesh.stuck_s = 0", "mesh.stuck_s is 0", "from 1"),
        ("mesh.stuck_s = nan", "mesh.stuck_s is nan", "a number"),
        ("mesh.stuck_s = inf", "mesh.stuck_s is inf", "a number"),
        ("mesh.stuck_s = true", "mesh.stuck_s is True", "a number"),
        ("feed.limit = 1.5", "feed.limit is 1.5", "a whole number from 1 to 10000"),
        ("feed.limit = 10001", "feed.limit is 10001", "10000"),
        ("feed.crew_events = 1", "feed.crew_events is 1", "true or false"),
        ("team = 5", "team is 5", "a string"),
        ('team = "a\\u0000b"', "team is 'a\\x00b'", "a string"),
        ("names.theme = 'natur'", "names.theme is 'natur'", "one of default, nature"),
        ("names.words = 'a'", "names.words is 'a'", "a list of strings"),
        ("names.words = ['a', 1]", "names.words is ['a', 1]", "a list of strings"),
        ("groups = ['a']", "groups is ['a']", "a table"),
        ("groups.a = 'x'", "groups.a is 'x'", "a list of strings"),
        ("agents.a = 'x'", "agents.a is 'x'", "a table with role, model"),
        ("agents.a.role = 1", "agents.a.role is 1", "a string"),
        ("templates.a.needs = 'x'", "templates.a.needs is 'x'", "a list of strings"),
        ("prices.m.input = -1", "prices.m.input is -1", "an amount for a million tokens"),
        ("prices.m.output = nan", "prices.m.output is nan", "an amount for a million tokens"),
        ("prices.m.output = '4'", "prices.m.output is '4'", "an amount for a million tokens"),
        ("prices.m = 4", "prices.m is 4", "a table with input, output"),
        ("budget.max_tokens = -1", "budget.max_tokens is -1", "a whole number from 0"),
        ("budget.max_cost = inf", "budget.max_cost is inf", "a number from 0"),
        ("mesh.idle_s = 1979-05-27", "mesh.idle_s is datetime.date", "a number"),
    ],
)
def test_a_value_that_does_not_fit_says_what_would(repo: Path, text: str, key: str, accepted: str) -> None:
    repo.write_text(text)
    refused("BAD_SETTING", key, str(repo), accepted, repo=repo)


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("ROOK_MESH_STUCK_S", "soon"),
        ("ROOK_MESH_STUCK_S", "nan"),
        ("ROOK_MESH_AUTO_JOIN", "maybe"),
        ("ROOK_FEED_LIMIT", "9" * 5000),
        ("ROOK_GROUPS", "a=b"),
        ("ROOK_MAIL_CONTEXT_PRIORITY", "hihg"),
    ],
)
def test_a_variable_that_does_not_fit_is_named(variable: str, text: str) -> None:
    error = refused("BAD_SETTING", f"environment {variable}", environ={variable: text})
    assert len(error.message) < 300


def test_a_choice_names_the_nearest() -> None:
    assert "high" in refused("BAD_SETTING", environ={"ROOK_MAIL_CONTEXT_PRIORITY": "hihg"}).hint


def test_a_team_in_the_users_file_is_refused(user: Path) -> None:
    user.write_text("team = 'all'")
    refused("BAD_SETTING", "team", str(user), user=user)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"a = 1\nb = \n", ("line 2",)),
        (b"a = 1\nb = [", ("line 2",)),
        (b'a = 1\nb = """\n\n\n', ("line 2",)),
        (b"a = 1\n\nb = '\xff'\n", ("UTF-8", "line 3")),
        (b"a = " + b"[" * 100_000, ("nested",)),
    ],
)
def test_broken_toml_names_file_and_line(repo: Path, data: bytes, words: tuple[str, ...]) -> None:
    repo.write_bytes(data)
    refused("BAD_SETTINGS_FILE", str(repo), *words, repo=repo)


def test_a_folder_or_a_pipe_is_no_settings_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("folder", "pipe", "dangling"):
        refused("BAD_SETTINGS_FILE", name, repo=tmp_path / name)


def test_an_unreadable_file_is_an_error(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write_text("")

    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", denied)
    refused("BAD_SETTINGS_FILE", str(repo), "Permission denied", repo=repo)


# --- properties -------------------------------------------------------------------------------------------------------


def attempt(act: Callable[[], Any]) -> Any:
    """The result, or the refusal."""
    try:
        return act()
    except BadInput as error:
        return error


@given(st.sampled_from(SETTINGS), st.text())
def test_any_text_is_a_fitting_value_or_bad_input(setting: Setting, text: str) -> None:
    value = attempt(lambda: load({config.variable(setting.name): text})[setting.name])
    if isinstance(value, BadInput):
        assert value.code == "BAD_SETTING"
        assert value.message.isascii()
    else:
        assert load(flags={setting.name: value})[setting.name] == value


numbers = [setting for setting in SETTINGS if setting.kind in ("int", "float")]


@given(st.sampled_from(numbers), st.integers() | st.floats())
def test_limits_are_kept(setting: Setting, number: float) -> None:
    assert setting.low is not None
    assert setting.high is not None
    fits = setting.low <= number <= setting.high and (setting.kind == "float" or isinstance(number, int))
    value = attempt(lambda: load(flags={setting.name: number})[setting.name])
    assert fits is not isinstance(value, BadInput)
    if fits:
        assert value == number
        assert math.isfinite(value)


@pytest.mark.slow
@given(st.text(), st.sampled_from(["mesh", "groups", "nothing"]))
def test_any_key_is_known_or_named(key: str, section: str) -> None:
    outcome = attempt(lambda: load(flags={f"{section}.{key}": 5}))
    assert isinstance(outcome, Settings) or outcome.code in ("UNKNOWN_SETTING", "BAD_SETTING")
