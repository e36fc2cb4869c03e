"""What installed distributions add: a real one, built and installed; broken ones, as they would be installed."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rookery import app, config, extensions
from rookery.core import errors
from rookery.front.cli import own_hosts
from tests.support.procs import ROOT, environment
from tests.support.reporting import Shop
from tests.support.stage import Build

EXAMPLE = Path(__file__).parents[2] / "examples" / "rookery-example"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    extensions.forget()
    yield
    extensions.forget()


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built and installed as anybody would, from this folder alone."""
    target = tmp_path_factory.mktemp("example") / "site"
    words = ["-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps", "--target"]
    subprocess.run([sys.executable, *words, str(target), str(EXAMPLE)], check=True, capture_output=True)
    return target


def installed(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str, **groups: str) -> None:
    """A distribution as pip leaves it: a module, and what its metadata says."""
    module = name.replace("-", "_")
    folder.mkdir()
    (folder / f"{module}.py").write_text(code)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    points = "".join(f"[rookery.{group}]\n{entry}\n" for group, entry in groups.items())
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(folder))


def settings(**flags: object) -> config.Settings:
    named = {name.replace("__", "."): value for name, value in flags.items()}
    return config.load(environ={}, user_file=None, repo_file=None, flags=named)


def house(folder: Path, **more: str) -> app.House:
    environ = {"HOME": str(folder), "ROOK_HOME": str(folder / "home"), **more}
    return app.open_house(cwd=str(folder), environ=environ, team="crew")


# --- a real one -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_example_is_built_installed_and_used(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(example))
    here = house(tmp_path)
    try:
        (row,) = [
            each for each in here.client.call("kinds", {}, here.caller())["kinds"] if each["name"] == "translator"
        ]
        assert (row["layer"], row["source"], row["max_active"]) == ("extension", "rookery-example (translator)", 2)
        shown = here.client.call("kind.show", {"name": "translator"}, here.caller())
        assert shown["body"].startswith("Translate what you are asked to.")
    finally:
        here.close()
    (host,) = extensions.hosts(settings())
    assert host.name == "parrot"
    judged = extensions.policies(settings())["docs-only"]
    assert (judged({"paths": ["docs/a.md"]}), judged({"paths": ["docs/a.md", "src/b.py"]})) == ("promote", None)
    assert [*extensions.listeners(settings())] == ["rookery-example (diary)"]
    assert extensions.problems(settings()) == []


@pytest.mark.slow
def test_a_hook_of_its_program_is_understood(example: Path, tmp_path: Path) -> None:
    own = {"HOME": str(tmp_path), "ROOK_HOME": str(tmp_path / "home")}
    said = {"event": "session_begin", "session_id": "s1", "cwd": str(tmp_path)}
    rook = [sys.executable, "-m", "rookery", "hook", "parrot", "start"]

    def hook(**more: str) -> str:
        environ = environment(**own, **more)
        done = subprocess.run(rook, input=json.dumps(said), env=environ, cwd=tmp_path, capture_output=True, text=True)
        return done.stderr

    assert "No agent program" not in hook(PYTHONPATH=f"{ROOT / 'src'}:{example}")
    assert "No agent program 'parrot'" in hook(), "without the distribution there is none"


# --- which ------------------------------------------------------------------------------------------------------------


def test_they_can_be_left_out_all_or_by_name(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(example))
    assert extensions.found(extensions.POLICIES, settings(extensions__enabled=False)) == []
    assert extensions.found(extensions.POLICIES, settings(extensions__only=["another"])) == []
    assert len(extensions.found(extensions.POLICIES, settings(extensions__only=["Rookery_Example"]))) == 1


def test_a_repository_can_not_say_which(tmp_path: Path) -> None:
    user, repo = tmp_path / "user.toml", tmp_path / "rook.toml"
    user.write_text("[extensions]\nenabled = false\n")
    for line in ("enabled = true", 'only = ["x"]'):
        repo.write_text(f"[extensions]\n{line}\n")
        found = config.load(environ={}, user_file=str(user), repo_file=str(repo))
        assert (found["extensions.enabled"], found["extensions.only"]) == (False, [])
        assert [each.accepted for each in found.requests] == [False]


def test_the_users_kind_of_that_name_comes_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "---\\nname: scout2\\ndescription: {}\\n---\\n"
    installed(
        tmp_path / "site",
        monkeypatch,
        "more-kinds",
        f'KIND = "{text.format("theirs")}"\n',
        kinds="scout2 = more_kinds:KIND",
    )
    mine = tmp_path / ".config" / "rookery" / "kinds"
    here = house(tmp_path)
    assert [each.layer for each in here.directory.kind("scout2")] == ["extension"]
    user_file = here.places.user_file
    if user_file:
        mine = Path(user_file).parent / "kinds"
        mine.mkdir(parents=True)
        (mine / "scout2.md").write_text("---\nname: scout2\n---\n")
        assert [each.layer for each in here.directory.kind("scout2")] == ["extension", "user"]
    here.close()


# --- broken ones ------------------------------------------------------------------------------------------------------


def test_what_can_not_be_loaded_is_said_with_whose_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = {group: f"bad = broken_one:{group}" for group in ("kinds", "hosts", "policies", "listeners")}
    installed(tmp_path / "site", monkeypatch, "broken-one", "raise SystemExit('no')\n", **groups)
    (kind,) = extensions.kinds(settings())
    assert (kind.where, kind.problem) == ("broken-one (bad)", "it can not be loaded: SystemExit: no")
    assert extensions.policies(settings()) == {}
    assert extensions.listeners(settings()) == {}
    assert len(extensions.problems(settings())) == 2
    here = house(tmp_path)
    try:
        (row,) = [each for each in here.client.call("kinds", {}, here.caller())["kinds"] if each["name"] == "bad"]
        assert "broken-one (bad)" in row["problem"]
        with pytest.raises(errors.BadInput, match="broken-one"):
            here.client.call("kind.show", {"name": "bad"}, here.caller())
        assert own_hosts.screen(here, "bad") is None
    finally:
        here.close()


@pytest.mark.parametrize(
    "code", ["K = 7", "def K(): raise ValueError('\\x1b[31m')", "def K(): return {1: 'x'}", "K = None"]
)
def test_what_is_no_text_is_no_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    installed(tmp_path / "site", monkeypatch, "odd", code + "\n", kinds="k = odd:K")
    (kind,) = extensions.kinds(settings())
    assert kind.problem
    assert "\x1b" not in kind.problem


def test_a_policy_that_fails_has_no_opinion_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "def bad(facts): raise KeyError('x')\ndef rude(facts):\n    facts['paths'].clear()\n    return 5\n"
    installed(tmp_path / "site", monkeypatch, "pols", code, policies="bad = pols:bad\nrude = pols:rude")
    found = extensions.policies(settings())
    facts = {"paths": ["a"]}
    assert [found[name](facts) for name in ("bad", "rude")] == [None, None]
    assert facts == {"paths": ["a"]}


# --- not in the way ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_ordinary_commands_and_hooks_look_for_none(tmp_path: Path) -> None:
    """importlib.metadata reads a file of every distribution: a hook does not wait for that."""
    program = (
        "import sys; from rookery.front.cli import main\n"
        "try:\n    main.main()\nexcept SystemExit: pass\n"
        "print('importlib.metadata' in sys.modules, 'rookery.extensions' in sys.modules, file=sys.stderr)"
    )
    environ = environment(HOME=str(tmp_path), ROOK_HOME=str(tmp_path / "home"))
    done = subprocess.run(
        [sys.executable, "-c", program, "who"], env=environ, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stderr.strip().splitlines()[-1] == "False False", done.stderr


def test_registering_can_be_undone_and_undone_twice_does_nothing() -> None:
    heard: list[str] = []
    undo = extensions.listen(lambda event: heard.append(event["type"]), "mine")
    other = extensions.listen(lambda event: None)
    assert sum("mine" in name for name in extensions.listeners()) == 1
    undo()
    undo()
    assert [name for name in extensions.listeners() if "mine" in name] == []
    other()
    with pytest.raises(TypeError):
        extensions.listen("no function")  # type: ignore[arg-type]


# --- rules that name a policy -----------------------------------------------------------------------------------------

SMALL = """
import threading
def yes(facts): return "promote" if facts["paths"] == ["header.py"] and facts["risk"] == "low" else None
def other(facts): return "reject"
def hangs(facts): threading.Event().wait()
"""


@pytest.fixture
def shop(build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    points = "".join(f"{name} = small_pols:{name}\n" for name in ("yes", "other", "hangs"))
    installed(tmp_path / "site", monkeypatch, "small-pols", SMALL, policies=points)
    monkeypatch.setattr(extensions, "POLICY_S", 0.2)
    return Shop(build(), tmp_path)


def promoted(shop: Shop) -> int:
    """A result with a test run that was seen to pass; how many land."""
    id = shop.worker()
    found = {"kind": "test", "ref": f"claude:{id}:1", "title": "pytest: 3 passed", "body": "3 passed",
             "data": {"command": "pytest -q", "passed": 3}}  # fmt: skip
    shop.stage.call("evidence.take", "system", worker=id, run=shop.runs[id], found=[found])
    shop.done(id)
    return len(shop.stage.call("land.list")["landings"])


@pytest.mark.slow
def test_a_rule_decides_what_its_policy_agrees_to(shop: Shop) -> None:
    made = shop.stage.call("rule.add", name="small", policies=["yes"])
    assert made["told"] == "policy yes; checks green; risk low or less"
    assert promoted(shop) == 1


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["other", "hangs"])
def test_a_policy_that_says_something_else_or_nothing_leaves_it_to_a_person(shop: Shop, policy: str) -> None:
    shop.stage.call("rule.add", name="small", policies=[policy])
    assert (promoted(shop), promoted(shop)) == (0, 0)
    assert len(shop.stage.call("docket")["items"]) == 2


@pytest.mark.slow
def test_one_that_is_not_installed_is_refused_and_one_that_is_gone_agrees_to_nothing(shop: Shop) -> None:
    refusal = shop.stage.refused("rule.add", name="small", policies=["nobodys"])
    assert (refusal.code, refusal.hint) == ("UNKNOWN_POLICY", "There are: hangs, other, yes.")
    assert shop.stage.call("rule.list")["rules"] == []
    shop.stage.call("rule.add", name="small", policies=["yes"])
    sys.path[:] = [each for each in sys.path if not each.endswith("/site")]
    extensions.forget()
    assert promoted(shop) == 0
