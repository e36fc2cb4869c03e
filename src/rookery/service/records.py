"""What is kept of a run: the prompt it was given, what it printed, its events, and what is known about it.

Each is an artifact of kind `run`, of the worker's agent and task, that goes when it is old (`worker.keep_runs_days`).
The files are on the disk before the transaction begins (`shelve`); a run is recorded once.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from rookery.core import artifacts, errors, names, secrets, text

from . import artifacts as shared
from . import supervising, workers
from .tx import Tx
from .verbs import Arg
from .world import World

MOST = (1 << 53) - 1
NAMES: Mapping[str, str] = {
    "prompt": "prompt.md", "output": "output.txt", "events": "events.ndjson", "meta": "meta.json"
}  # fmt: skip


def shelve(world: World, args: Mapping[str, Any]) -> dict[str, Any]:
    """Before the transaction: what is not empty becomes a file, without secrets, as long as an artifact may be."""
    import json

    run = artifacts.check_name(args["run"])
    meta = args.get("meta")
    said = {part: secrets.redacted(args.get(part) or "")[0] for part in NAMES if part != "meta"}
    said["meta"] = json.dumps(meta, ensure_ascii=False, indent=2, sort_keys=True) if meta else ""
    limit = world.settings["artifacts.limit"]
    kept = {
        part: world.shelf.keep(artifacts.RUN_FOLDER, f"{run}-{name}", artifacts.shortened(said[part], limit))._asdict()
        for part, name in NAMES.items()
        if said.get(part)
    }
    return {**args, "prompt": "", "output": "", "events": "", "kept": kept}


def record(
    tx: Tx,
    id: Annotated[str, Arg("the worker")],
    *,
    run: supervising.Run,
    prompt: Annotated[str, Arg("what it was told first")] = "",
    output: Annotated[str, Arg("what it printed, or its terminal showed last")] = "",
    events: Annotated[str, Arg("what happened to it, one JSON object a line")] = "",
    meta: Annotated[dict[str, Any] | None, Arg("model, tokens, duration, exit", kind="json")] = None,
    kept: Annotated[dict[str, Any] | None, Arg("the files they became", hidden=True)] = None,
) -> dict[str, Any]:
    row = workers.find(tx, id)
    found = tx.one("run", id=run)
    if found is None or found["worker"] != row["id"]:
        raise errors.UnknownName(
            f"{row['id']} has no run {text.one_line(run, 60)}.", "`rook worker show ID` lists them.", code="UNKNOWN_RUN"
        )
    if found["record"]:
        return {"id": row["id"], "run": run, "artifacts": found["record"].split(), "recorded": False}
    supervising.as_system(tx)
    made = [
        shared.write(tx, f"{run}-{NAMES[part]}", artifacts.RUN, row["task"], row["agent"], file)
        for part, file in (kept or {}).items()
    ]
    tx.run("run_recorded", id=run, worker=row["id"], record=" ".join(made) or "-", **_used(meta or {}))
    tx.event("worker.recorded", names.SYSTEM, target=row["name"], ref=row["id"], run=run, artifacts=made)
    return {"id": row["id"], "run": run, "artifacts": made, "recorded": True}


def _used(meta: Mapping[str, Any]) -> dict[str, Any]:
    """What the program said that it used, as far as it is that."""
    model = meta.get("model")
    numbers = {name: meta.get(name) for name in ("input", "output")}
    return {"model": text.one_line(model, 100) if isinstance(model, str) else ""} | {
        name: value if type(value) is int and 0 <= value <= MOST else 0 for name, value in numbers.items()
    }
