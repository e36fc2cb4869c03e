"""Task and plan commands that are more than one call: claims in outside documents, plans from files."""

import json
import os
from typing import Any

from rookery.core import errors, plans
from rookery.runtime import files, resolve

from .call import Desk, Reply
from .router import answer, call_verb

PLAN_LIMIT = 4 << 20


def claim(desk: Desk, read: dict[str, Any]) -> Reply:
    return _either(desk, read, "task.claim", "spec.claim", "lease", "")


def done(desk: Desk, read: dict[str, Any]) -> Reply:
    return _either(desk, read, "task.done", "spec.done", "task.show", "summary")


def release(desk: Desk, read: dict[str, Any]) -> Reply:
    return _either(desk, read, "task.release", "spec.release", "task.show", "")


def _either(desk: Desk, read: dict[str, Any], verb: str, outside: str, shown_as: str, said: str) -> Reply:
    """A task of the ledger, or with --spec an item of a document that has its own list."""
    spec = read.pop("spec")
    if not spec:
        return answer(desk, shown_as, call_verb(desk, verb, read))
    if not read["id"]:
        raise errors.BadInput("Which item of the document?", f"rook {verb.replace('.', ' ')} ITEM --spec {spec}")
    more = {said: read[said]} if said and read.get(said) else {}
    return answer(desk, "spec", desk.verb(outside, {"spec": spec, "item": read["id"], **more}))


def import_plan(desk: Desk, read: dict[str, Any]) -> Reply:
    path = os.path.join(desk.call.cwd, read["file"])
    made = plan_of(desk, path, goal=read["goal"], advisory=read["advisory"], review=read["review"])
    return answer(desk, "plan.show", made)


def plan_of(
    desk: Desk, path: str, *, goal: str | None = None, advisory: bool = False, review: bool = False
) -> dict[str, Any]:
    """A plan of what a file says."""
    written = files.read_limited(path, PLAN_LIMIT).decode("utf-8", "replace")
    said, items, problems = _parse(path, written)
    problems = problems + (plans.validate(items) if not problems else [])
    if problems:
        raise plans.refusal(problems)
    tasks = [_as_data(desk, item) for item in items]
    args = {"goal": goal or said or os.path.basename(path), "tasks": tasks, "advisory": advisory, "review": review}
    if path.endswith((".md", ".markdown")):
        args["spec"] = written
    return desk.verb("plan.new", args)


def _as_data(desk: Desk, item: plans.PlanTask) -> dict[str, Any]:
    """As `plan.new` takes it: whoever has a file may be far from the ledger. Its paths begin at the workspace."""
    data = {name: list(value) if isinstance(value, tuple) else value for name, value in item._asdict().items()}
    del data["line"]
    root = desk.house.places.root
    data["resources"] = [resolve.pattern(written, root, root) for written in data["resources"]]
    return {"id": data.pop("key"), **data}


def _parse(path: str, written: str) -> tuple[str, list[plans.PlanTask], list[plans.Problem]]:
    if path.endswith((".md", ".markdown")):
        items, problems = plans.from_markdown(written)
        return plans.goal_of(written), items, problems
    data = _load(path, written)
    items, problems = plans.from_data(data)
    return plans.goal_in(data), items, problems


def _load(path: str, written: str) -> Any:
    try:
        return _yaml(written) if path.endswith((".yaml", ".yml")) else json.loads(written)
    except (ValueError, RecursionError) as error:
        hint = "JSON, YAML or a Markdown checklist (.md)."
        raise errors.BadInput(f"{path} can not be read: {error}.", hint) from None


def _yaml(written: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(written)
    except yaml.YAMLError as error:
        raise ValueError(f"it is no YAML: {error}") from None


def graph(desk: Desk, read: dict[str, Any]) -> Reply:
    drawn = call_verb(desk, "plan.graph", read)
    return answer(desk, "plan.graph", drawn) if desk.options.json else Reply(drawn["graph"].rstrip("\n") + "\n")
