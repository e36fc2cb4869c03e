"""The files of workers for readers outside."""

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rookery.keeper.telling import Teller
from rookery.runtime import places
from tests.support.procs import PATIENCE_S

TEAM = "crew"
NAMES = {"ada": "w1", "bob": "w2", "cat": "w3"}


def event(seq: int, worker: str) -> dict[str, Any]:
    return {"seq": seq, "at": "2026-01-01T00:00:00Z", "type": "worker.ended", "actor": "system", "target": "",
            "ref": worker, "preview": "", "data": {}, "caller": {}}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "rook"
    places.prepare_home(str(made))
    for id in NAMES.values():
        (made / "teams" / TEAM / "workers" / id).mkdir(parents=True)
    return made


def written(home: Path, id: str) -> list[int]:
    lines = (home / "teams" / TEAM / "workers" / id / "events.ndjson").read_text().splitlines()
    return [json.loads(line)["seq"] for line in lines]


def test_workers_that_end_at_once_are_written_by_several_threads(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second thread comes while the first one writes: neither takes what the other is about to write."""
    teller, inside, released = Teller(str(home), TEAM), threading.Event(), threading.Event()
    append = Teller._append
    broken: list[BaseException] = []

    def slowly(self: Teller, id: str, events: Sequence[Mapping[str, Any]]) -> None:
        if not inside.is_set():
            inside.set()
            assert released.wait(PATIENCE_S)
        append(self, id, events)

    def tell(page: list[dict[str, Any]]) -> None:
        try:
            teller.events(page, NAMES)
        except BaseException as error:
            broken.append(error)

    monkeypatch.setattr(Teller, "_append", slowly)
    page = [event(seq, id) for seq, id in enumerate(NAMES.values(), 1)]
    first, second = (threading.Thread(target=tell, args=(page,)) for _ in range(2))
    first.start()
    assert inside.wait(PATIENCE_S)
    second.start()
    second.join(0.2)  # without a lock it would be through by now, and have taken what the first one has listed
    released.set()
    for each in (first, second):
        each.join(PATIENCE_S)
    assert not broken
    assert [written(home, id) for id in NAMES.values()] == [[1], [2], [3]], "each event once"
