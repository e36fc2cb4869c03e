"""What the verbs answer that keep the runs of workers."""

from collections.abc import Mapping
from typing import Any, TypedDict


class RunRecorded(TypedDict):
    id: str
    run: str
    artifacts: list[str]
    recorded: bool


RESULTS: Mapping[str, Any] = {"worker.record": RunRecorded}
