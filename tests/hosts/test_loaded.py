"""What is loaded into the context of the real Claude Code: what its model was told, request by request."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.crew import RAVEN, Crew, install_hooks
from tests.hosts.model.script import say
from tests.hosts.programs import ALL

pytestmark = pytest.mark.hosts
WREN = "BrightWren"
SECRET_PLACE = "The leak is over the third beam."


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[Crew]:
    with Crew(tmp_path, WREN) as crew:
        yield crew


def test_a_chip_stands_in_the_context_until_the_model_asks_for_it(crew: Crew) -> None:
    """Its line is there from the first request on; what stands behind it only after it was asked for."""
    claude = ALL["claude"]
    wren = crew.member(claude, WREN)
    install_hooks("claude", crew.repo, wren.environ)
    crew.raven("artifacts.add", name="roof.md", content=SECRET_PLACE, kind="summary")
    crew.raven("bundle.save", refs=["artifact-0001"], title="The roof")
    crew.person("bundle", "load", "bundle-0001", "--consume", "--as", WREN, "--json")
    run = wren.play([claude.bash("echo one"), claude.bash("rook show bundle-0001#1"), say("done")])
    line = f"| [bundle-0001#1] output artifact-0001 by {RAVEN}: summary roof.md"
    assert [line in heard for heard in run.heard] == [True, True, True]
    assert [SECRET_PLACE in heard for heard in run.heard] == [False, False, True]
    assert [heard.count(line) for heard in run.heard] == [1, 1, 1], "one line, once"
    assert crew.raven("bundle.show", id="bundle-0001")["consumed"]["by"] == WREN


def test_a_prompt_that_names_a_chip_brings_all_of_it(crew: Crew) -> None:
    claude = ALL["claude"]
    wren = crew.member(claude, WREN)
    install_hooks("claude", crew.repo, wren.environ)
    crew.raven("artifacts.add", name="roof.md", content=SECRET_PLACE, kind="summary")
    crew.raven("bundle.save", refs=["artifact-0001"], title="The roof")
    crew.person("bundle", "load", "bundle-0001", "--as", WREN, "--json")
    run = wren.play([say("done")], prompt="Mend what [bundle-0001#1] says.")
    assert f"| {SECRET_PLACE}" in run.heard[0]
