"""Evidence in a real daemon: out of the streams of workers, the records of other agents, and what workers say."""

import json
import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support import recorded
from tests.support.panes import until
from tests.support.supervised import Site, site

KINDS = {"command": 3, "edit": 3, "test": 2, "commit": 1, "response": 1, "code": 1}
# As the program of that name does: it prints what it does, and ends.
PRINTS = """\
#!/bin/sh
cat >/dev/null
cat {stream}
"""


@pytest.fixture
def here() -> Generator[Site]:
    with site(ROOK_EVIDENCE_READ_S="0.2") as made:
        yield made


def instead_of(here: Site, name: str, text: str) -> str:
    """A PATH on which a program of that name is another one."""
    folder = here.folder / "bin"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def evidence(here: Site, **asked: Any) -> list[dict[str, Any]]:
    return here.call("artifacts", limit=200, **asked)["artifacts"]


@pytest.mark.parametrize("host", ["claude"])
def test_what_a_worker_prints_of_itself_is_evidence_once(here: Site, host: str) -> None:
    path = instead_of(here, host, PRINTS.format(stream=recorded.DATA / "streams" / f"{host}.jsonl"))
    with here.up(PATH=path):
        id = here.call("spawn", assignment="Add", host=host, backend="headless")["id"]
        card = here.becomes("ended", id)
        found = evidence(here, worker=id)
        print(json.dumps(found, indent=1)[:3000], card)
        assert Counter(each["kind"] for each in found) == KINDS | {"tail": 1}
