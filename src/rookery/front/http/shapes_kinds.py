"""The shapes of what is answered about kinds of workers."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from .shapes_mail import Words


class KindRow(TypedDict):
    """One that can not be used has a problem instead of what it says."""

    name: str
    layer: str
    source: str
    problem: NotRequired[str]
    hint: NotRequired[str]
    instead_of: NotRequired[Words]
    not_in_force: NotRequired[Words]
    description: NotRequired[str]
    host: NotRequired[str]
    model: NotRequired[str]
    read_only: NotRequired[bool]
    plan_gate: NotRequired[bool]
    worktree: NotRequired[bool]
    can_spawn: NotRequired[bool]
    max_active: NotRequired[int]


class Kinds(TypedDict):
    kinds: list[KindRow]


class Respawn(TypedDict):
    policy: str
    limit: int
    backoff_s: float


class Kind(TypedDict):
    name: str
    layer: str
    source: str
    instead_of: Words
    not_in_force: NotRequired[Words]
    description: str
    host: str
    model: str
    read_only: bool
    plan_gate: bool
    worktree: bool
    seed: bool
    can_spawn: bool
    max_active: int
    decision_rights: Words
    max_artifacts: int
    max_duration_s: float
    permissions: str
    respawn: Respawn
    on_mail: bool
    guardrails_append: str
    body: str
    guardrails: str
    written: str


class KindAdded(TypedDict):
    name: str
    layer: str
    source: str
    instead_of: Words
    warning: NotRequired[str]


class KindDropped(TypedDict):
    name: str
    instead: Words


RESULTS: Mapping[str, Any] = {"kinds": Kinds, "kind.show": Kind, "kind.add": KindAdded, "kind.drop": KindDropped}
