"""The shapes of what is answered about bundles, and about what is loaded into an agent's context."""

from collections.abc import Mapping
from typing import Any, TypedDict

from .shapes_mail import Words


class Item(TypedDict):
    """A piece of evidence, or a result, as a bundle keeps it."""

    ref: str
    id: str
    kind: str
    title: str
    by: str
    worker: str
    task: str
    at: str
    failed: bool
    path: str
    result: str
    excerpt: str


class Candidates(TypedDict):
    worker: str
    task: str
    header: str
    candidates: list[Item]


class Consumed(TypedDict):
    by: str
    at: str


class BundleRow(TypedDict):
    schemaVersion: str
    id: str
    title: str
    state: str
    count: int
    worker: str
    task: str
    by: str
    summarizer: str
    summarized: bool
    consumed: Consumed | None
    digest: str
    at: str


class Bundles(TypedDict):
    bundles: list[BundleRow]


class Bundle(BundleRow):
    header: str
    summary: str
    items: list[Item]
    file: str
    sidecar: str
    remarks: Words  # which of its files had to be made again, and why


class BundleDeleted(TypedDict):
    id: str
    deleted: bool
    unloaded: int


class Chip(TypedDict):
    chip: str
    source: str
    ref: str
    line: str
    mode: str
    consume: bool
    told: bool
    used: str | None


class Loaded(TypedDict):
    agent: str
    chips: list[Chip]


class LoadedNow(TypedDict):
    agent: str
    source: str
    title: str
    count: int
    full: bool
    consume: bool
    chips: list[Chip]


class Unloaded(TypedDict):
    agent: str
    source: str
    count: int


class Expanded(Item):
    chip: str
    text: str
    whole: bool


RESULTS: Mapping[str, Any] = {
    "bundle.candidates": Candidates, "bundle.save": Bundle, "bundle.list": Bundles, "bundle.show": Bundle,
    "bundle.load": LoadedNow, "bundle.unload": Unloaded, "bundle.consume": BundleRow, "bundle.delete": BundleDeleted,
    "load": LoadedNow, "unload": Unloaded, "loaded": Loaded, "expand": Expanded,
}  # fmt: skip
