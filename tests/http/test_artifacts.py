"""Shared outputs through the daemon, and where seed 002 has them."""

from pathlib import Path

import pytest

from tests.cli.conftest import Terminal
from tests.http.test_guard import TRAVERSALS
from tests.support.doors import TOKEN, Door, Running, running


@pytest.mark.slow
def test_put_and_shown_over_http(door: Door, daemon: Running, tmp_path: Path):
    made = door.post("/v1/call/artifacts.add", name="s.md", content="done", kind="summary", agentId="ada")
    assert (made.status, made.body["by"]) == (200, "ada")
    assert door.post("/v1/call/artifacts.show", id=made.body["id"]).body["content"] == "done"
    file = Path(daemon.environ["ROOK_HOME"], made.body["file"])
    assert file.read_text() == "done"
    far = Terminal(tmp_path)
    far.environ |= {"ROOK_URL": daemon.door.url, "ROOK_TOKEN": TOKEN, "ROOK_TEAM": door._team}  # pyright: ignore[reportPrivateUsage]
    assert far.ok("artifacts", "show", made.body["id"], "--raw") == "done"
    far.ok("artifacts", "add", "far.txt", "--content", "from afar")
    assert not (tmp_path / "home" / "teams").exists() or not list((tmp_path / "home" / "teams").rglob("*far*"))


@pytest.mark.parametrize("name", TRAVERSALS)
def test_h29_no_file_is_made_outside(door: Door, daemon: Running, name: str):
    home = Path(daemon.environ["ROOK_HOME"])

    def outside() -> set[Path]:
        return {path for path in home.parent.rglob("*") if not {"bell", "artifacts"} & set(path.parts)}

    door.post("/v1/call/artifacts.add", name="a", content="x", agentId="ada")
    before = outside()
    answer = door.post("/v1/call/artifacts.add", name=name, content="x", agentId="ada")
    assert answer.status == (200 if name == "runtime.json" else 422), "a plain name is one, whatever else is called so"
    assert outside() == before


@pytest.mark.slow
def test_the_place_of_a_workspace_root(tmp_path: Path):
    with running(tmp_path, "--team", "crew", "--workspace-root", str(tmp_path / "teams")) as started:
        made = started.door.post("/v1/call/artifacts.add", name="fix.patch", content="d", kind="patch", agentId="ada")
        (file,) = (tmp_path / "teams" / "crew" / "artifacts" / "patches").iterdir()
        assert made.body["file"] == f"artifacts/patches/{file.name}"
