"""H24: absolute paths, `./x` and other spellings walked past reservations, and other projects were blocked."""

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

import rookery
from rookery.app import open_house
from rookery.client.handles import Team
from rookery.client.local import LocalClient
from rookery.core.caller import Caller
from rookery.core.errors import BadInput, Refused
from tests.support import ledger
from tests.support.doors import Door, running
from tests.support.spellings import LEAVING, NFC, NFD, SPELLINGS, make_tree
from tests.support.stores import prepared_home
from tests.unit.gitrepo import git, repository

Stand = Callable[..., Team]


@pytest.fixture
def stand(tmp_path: Path) -> Generator[Stand]:
    """A handle on the team of a folder, as a program gets that runs there."""
    opened: list[Team] = []
    home = prepared_home(tmp_path / "h")

    def at(folder: Path, **more: Any) -> Team:
        opened.append(rookery.connect(cwd=str(folder), home=home, **more))
        return opened[-1]

    yield at
    for team in opened:
        team.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = make_tree(tmp_path)
    (project / ".git").mkdir()
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return project


def take(team: Team, agent: str, *resources: str) -> None:
    task = team.call("task.add", title="Work", resources=list(resources))["id"]
    team.join(agent, takeover=True).call("task.claim", id=task)


def refused(team: Team, agent: str, *resources: str) -> str:
    with pytest.raises(Refused) as caught:
        take(team, agent, *resources)
    return caught.value.code


def may_write(team: Team, agent: str, *paths: str) -> dict[str, Any]:
    return team.agent(agent).call("can-write", paths=list(paths))


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_h24_no_spelling_of_a_path_walks_past_a_claim(stand: Stand, project: Path, spelled: str) -> None:
    team = stand(project)
    take(team, "ada", "src/io/")
    team.join("bob")
    path = spelled.format(root=project)
    told = may_write(team, "bob", "README.md", path)
    assert not told["allow"]
    assert told["paths"][1]["holder"] == "ada"
    assert told["paths"][1]["path"] == "src/io/x.py"
    assert may_write(team, "ada", path)["allow"]
    assert may_write(team, "bob", "src/ui/x.py")["allow"]


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_h24_no_spelling_of_a_resource_walks_past_a_claim(stand: Stand, project: Path, spelled: str) -> None:
    team = stand(project)
    take(team, "ada", spelled.format(root=project))
    assert refused(team, "bob", "src/io/x.py") == "RESOURCE_HELD"


def test_h24_accents_are_one_however_they_are_typed(stand: Stand, project: Path) -> None:
    team = stand(project)
    take(team, "ada", f"src/{NFC}")
    team.join("bob")
    assert not may_write(team, "bob", f"src/{NFD}")["allow"]
    assert refused(team, "bob", f"src/{NFD}") == "RESOURCE_HELD"


@pytest.mark.parametrize("spelled", LEAVING)
def test_h24_nothing_leads_out_of_the_workspace(stand: Stand, project: Path, tmp_path: Path, spelled: str) -> None:
    team = stand(project)
    team.join("bob")
    path = spelled.format(root=project)
    told = may_write(team, "bob", path)
    assert (told["allow"], told["reason"]) == (False, "outside the workspace")
    before = ledger.everything(str(tmp_path / "h" / "rookery.db"))
    with pytest.raises(BadInput) as caught:
        team.call("task.add", title="Work", resources=["src/", path])
    assert caught.value.code == "OUTSIDE_WORKSPACE"
    assert ledger.everything(str(tmp_path / "h" / "rookery.db")) == before


def test_h24_paths_begin_where_the_caller_stands(stand: Stand, project: Path) -> None:
    inner, linked = stand(project / "src" / "io"), stand(project / "io")
    take(inner, "ada", "x.py")
    linked.join("bob")
    for team in (inner, linked):
        assert not may_write(team, "bob", "x.py")["allow"]
        assert may_write(team, "bob", "../x.py")["allow"]


def test_h24_other_projects_are_not_blocked(stand: Stand, project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "src" / "io").mkdir(parents=True)
    here, there = stand(project), stand(other)
    take(here, "ada", ".")
    there.join("bob")
    assert may_write(there, "bob", "src/io/x.py", str(other / "src" / "io" / "x.py"))["allow"]
    take(there, "bob", "src/io/x.py")
    here.join("eve")
    assert not may_write(here, "eve", "src/io/x.py")["allow"]


def test_h24_a_file_has_one_name_in_all_worktrees(stand: Stand, tmp_path: Path) -> None:
    """The team is the repository; what a task takes is taken wherever its holder works."""
    main = repository(tmp_path / "main")
    git("worktree", "add", "-q", str(tmp_path / "side"), cwd=main)
    here, there = stand(main), stand(tmp_path / "side")
    take(here, "ada", str(main / "src"))
    there.join("bob")
    seen = may_write(there, "bob", str(tmp_path / "side" / "src" / "x.py"))
    assert "held by ada" in seen["warnings"][0], (
        "in another worktree it is a warning, unless guard.worktrees says otherwise"
    )
    assert refused(there, "bob", "./src/x.py") == "RESOURCE_HELD"


def test_h24_a_document_is_one_however_it_is_written(stand: Stand, project: Path) -> None:
    team = stand(project)
    team.join("ada").call("spec.claim", spec="src/io/x.py", item="T-1")
    bob = team.join("bob")
    for spelled in (each.format(root=project) for each in SPELLINGS):
        with pytest.raises(Refused, match="held by ada"):
            bob.call("spec.claim", spec=spelled, item="T-1")
    bob.call("spec.claim", spec="https://example.org//spec.md", item="T-1")
    assert "https://example.org//spec.md" in str(team.call("task.claims"))


@pytest.mark.slow
def test_h24_the_same_over_http(project: Path) -> None:
    with running(project) as started:
        door: Door = started.door
        door.claim(door.task(resources=["io/"]), "ada")
        for spelled in SPELLINGS:
            path = spelled.format(root=project)
            told = door.get("/v1/can-write", agentId="bob", path=path).body
            assert (told["allow"], told["path"]) == (False, path)
            again = door.post(f"/v1/tasks/{door.task(resources=[path])}/claim", agentId="bob")
            assert again.body["error"]["cause"] == "RESOURCE_HELD", path
        for spelled in LEAVING:
            path = spelled.format(root=project)
            told = door.get("/v1/can-write", agentId="ada", path=path).body
            assert told["allow"] is False, path
            assert told["reason"] in ("path_traversal_denied", "invalid_path"), path
            assert door.post("/v1/tasks", title="t", resources=[path]).code == "INVALID_TASK", path


def test_control_without_resolving_a_symlink_walks_past(stand: Stand, project: Path, tmp_path: Path) -> None:
    """The verbs alone know no disk: it is the client that stands somewhere."""
    team = stand(project)
    take(team, "ada", "src/io/")
    team.join("bob")
    house = open_house(cwd=str(project), environ={"ROOK_HOME": str(tmp_path / "h")})
    blind = LocalClient(house.store, house.bell, house, house.team)
    try:
        assert not blind.call("can-write", {"paths": ["src/io/x.py"]}, Caller("bob"))["allow"]
        assert blind.call("can-write", {"paths": ["io/x.py"]}, Caller("bob"))["allow"]
    finally:
        blind.close()
