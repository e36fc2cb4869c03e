"""Bundles over HTTP, as a bot saves and reads them."""

from pathlib import Path

import pytest

from tests.support.doors import Door, Running, running


def test_saved_listed_shown_and_loaded_over_http(door: Door, daemon: Running):
    made = door.post("/v1/call/artifacts.add", name="s.md", content="done", kind="summary", agentId="ada").body["id"]
    saved = door.post("/v1/bundles", refs=[made], title="The parser", agentId="ada")
    assert (saved.status, saved.body["by"], saved.body["remarks"]) == (201, "ada", [])
    id = saved.body["id"]
    assert Path(daemon.environ["ROOK_HOME"], saved.body["file"]).read_text().startswith(f"# {id}: The parser")
    assert door.get(f"/v1/bundles/{id}").body["items"][0]["id"] == made
    assert id in [each["id"] for each in door.get("/v1/bundles").body["bundles"]]
    door.post("/v1/call/bundle.load", id=id, agentId="ada")
    assert [chip["chip"] for chip in door.get("/v1/loaded", agentId="ada").body["chips"]] == [f"{id}#1"]
    assert door.post("/v1/call/expand", chip=f"{id}#1", agentId="ada").body["text"] == "done"
    door.post("/v1/call/bundle.consume", id=id, agentId="ada")
    assert id not in [each["id"] for each in door.get("/v1/bundles").body["bundles"]]
    assert id in [each["id"] for each in door.get("/v1/bundles", all="true").body["bundles"]]
    assert door.get("/v1/bundles/bundle-9999").status == 404
    assert door.post("/v1/bundles", refs=["e9999"], agentId="ada").status == 404


@pytest.mark.slow
def test_the_place_of_a_workspace_root(tmp_path: Path):
    with running(tmp_path, "--team", "crew", "--workspace-root", str(tmp_path / "teams")) as started:
        call = "/v1/call/artifacts.add"
        made = started.door.post(call, name="s.md", content="d", agentId="ada").body["id"]
        saved = started.door.post("/v1/bundles", refs=[made], agentId="ada").body
        assert (saved["file"], saved["remarks"]) == ("bundles/bundle-0001.md", [])
        assert (tmp_path / "teams" / "crew" / "bundles" / "bundle-0001.md").is_file()
        assert started.door.get("/v1/bundles/bundle-0001").body["remarks"] == []
