"""What a team is, as seed 002's `team.json` tells it: checked as a whole, with every problem named at once.

    { "teamId": "atlas", "leader": "ada", "guard": "strict",
      "agents": [{ "id": "ada", "role": "leader", "model": "...", "maxTokens": 200000 }],
      "groups": { "reviewers": ["ada", "ben"] },
      "budget": { "maxTokens": 1000000, "hardLimit": true } }

What it says is set, what it says is null is taken back, and what it does not say stays as it is.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, cast

from . import budget, errors, names, text

KEYS = ("schemaVersion", "teamId", "leader", "strict", "guard", "agents", "groups", "budget")
COMPUTED = ("created", "sources")  # of `team show`: what it shows can be given back to `team set`
AGENT_KEYS = ("id", "role", "model", "maxTokens", "maxCostMicros")
# Of a budget: the name in JSON, and the column it is kept in.
LIMITS: Mapping[str, str] = {
    "maxTokens": "max_tokens",
    "maxCostMicros": "max_cost",
    "agentMaxTokens": "agent_max_tokens",
    "agentMaxCostMicros": "agent_max_cost",
    "taskMaxTokens": "task_max_tokens",
    "taskMaxCostMicros": "task_max_cost",
}
BUDGET: Mapping[str, str] = {**LIMITS, "hardLimit": "hard_limit", "warnPercent": "warn_percent"}
MOST_AGENTS = 1_000
PROBLEMS_SHOWN = 20
LEADER_ROLE = "leader"
GUARDS = {"strict": True, "advisory": False}


class Member(NamedTuple):
    """An agent of the definition: its address, and what is said about it by column."""

    id: str
    said: dict[str, Any]


class Definition(NamedTuple):
    team: str | None
    agents: tuple[Member, ...]
    groups: dict[str, list[str]]  # an empty one is no more
    rules: dict[str, Any]  # by column; None takes back what was said before


class _Notes:
    """Problems, gathered while everything is looked at."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, where: str, what: str, do: str = "") -> None:
        self.found.append(f"{where}: {what}{f' {do}' if do else ''}")

    def named(self, where: str, check: Callable[[str], str], word: Any) -> str | None:
        """The word if it is a name of that kind."""
        if not isinstance(word, str):
            self.add(where, f"{_shown(word)} is no name.")
            return None
        try:
            return check(word)
        except errors.BadInput as error:
            self.add(where, error.message)
            return None

    def keys(self, where: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
        for key in given:
            if key not in known:
                near = names.did_you_mean(key, known) or f"Known: {', '.join(known)}."
                self.add(where, f"There is no {text.quoted(key, 40)}.", near)


def parse(data: Mapping[str, Any], known: Collection[str] = ()) -> Definition:
    """The definition, or one refusal that tells everything that is wrong. `known` are the agents there are already."""
    notes = _Notes()
    notes.keys("definition", {key: None for key in data if key not in COMPUTED}, KEYS)
    _check_version(notes, data.get("schemaVersion"))
    team = data.get("teamId")
    agents = _agents(notes, data.get("agents"))
    rules = _guard(notes, data) | _budget(notes, data)
    if "leader" in data:
        rules["leader"] = _leader(notes, data["leader"], [*(each.id for each in agents), *known])
    elif len(leaders := [each.id for each in agents if each.said.get("role") == LEADER_ROLE]) == 1:
        rules["leader"] = leaders[0]
    made = Definition(
        None if team is None else notes.named("teamId", names.check_team, team),
        agents, _groups(notes, data.get("groups")), rules,
    )  # fmt: skip
    if notes.found:
        raise refusal(notes.found)
    return made


def refusal(problems: Sequence[str]) -> errors.BadInput:
    count = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"
    shown = [f"({number}) {problem}" for number, problem in enumerate(problems[:PROBLEMS_SHOWN], 1)]
    more = [f"... and {len(problems) - len(shown)} more."] if len(problems) > len(shown) else []
    return errors.BadInput(
        " ".join([f"The definition has {count}:", *shown, *more]),
        "Nothing was changed. Correct it and set it again.",
        code="BAD_TEAM",
        problems=list(problems),
    )


def _shown(value: Any) -> str:
    if isinstance(value, (list, dict)):  # may be nested deeper than it could be written down
        return "a list" if isinstance(value, list) else "an object"
    return text.quoted(value, 40) if isinstance(value, str) else text.one_line(ascii(value), 40)


def _check_version(notes: _Notes, version: Any) -> None:
    if version is not None and not (isinstance(version, str) and version.partition(".")[0] == "1"):
        notes.add("schemaVersion", f"{_shown(version)} is not known here.", 'It is "1.0.0".')


def _agents(notes: _Notes, given: Any) -> tuple[Member, ...]:
    if given is None:
        return ()
    if not isinstance(given, list):
        notes.add("agents", "is no list.", 'As in [{"id": "ada", "role": "dev"}].')
        return ()
    entries = cast("list[Any]", given)
    if len(entries) > MOST_AGENTS:
        notes.add("agents", f"{len(entries):,} are too many.", f"At most {MOST_AGENTS:,}.")
        return ()
    found: dict[str, Member] = {}
    for number, entry in enumerate(entries):
        member = _agent(notes, f"agents[{number}]", entry)
        if member is None:
            continue
        if names.key(member.id) in found:
            notes.add(f"agents[{number}]", f"{member.id} is there twice.", "Names differ in more than their case.")
        found[names.key(member.id)] = member
    return tuple(found.values())


def _agent(notes: _Notes, where: str, entry: Any) -> Member | None:
    if not isinstance(entry, dict) or "id" not in entry:
        notes.add(where, "is no agent.", 'For example {"id": "ada", "role": "dev", "model": "..."}.')
        return None
    given = cast("dict[str, Any]", entry)
    notes.keys(where, given, AGENT_KEYS)
    id = notes.named(f"{where}.id", names.check_new_name, given["id"])
    said: dict[str, Any] = {}
    if "role" in given:
        said["role"] = notes.named(f"{where}.role", names.check_name, given["role"]) if given["role"] else ""
    if "model" in given:
        said["model"] = _model(notes, f"{where}.model", given["model"])
    for name in ("maxTokens", "maxCostMicros"):
        if name in given:
            said[LIMITS[name]] = _count(notes, f"{where}.{name}", given[name], budget.BIGGEST)
    return None if id is None else Member(id, said)


def _model(notes: _Notes, where: str, given: Any) -> str:
    if given is None:
        return ""
    if not isinstance(given, str) or len(given) > 200 or not given.isprintable():
        notes.add(where, f"{_shown(given)} is no model.", "A name of at most 200 characters on one line.")
        return ""
    return given


def _count(notes: _Notes, where: str, given: Any, most: int) -> int | None:
    """A positive whole number, or null."""
    if given is not None and (not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= most):
        notes.add(where, f"{_shown(given)} is no whole number from 1 to {most}.", "null for none.")
        return None
    return given


def _switch(notes: _Notes, where: str, given: Any) -> bool | None:
    if given is not None and not isinstance(given, bool):
        notes.add(where, f"{_shown(given)} is not true or false.")
        return None
    return given


def _leader(notes: _Notes, given: Any, known: Collection[str]) -> str | None:
    if given is None:
        return None
    name = notes.named("leader", names.check_new_name, given)
    if name is not None and names.key(name) not in {names.key(other) for other in known}:
        near = names.did_you_mean(name, known) or "Name it among the agents too."
        notes.add("leader", f"{name} is no agent of this team.", near)
    return name


def _guard(notes: _Notes, data: Mapping[str, Any]) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if "strict" in data:
        said["strict"] = _switch(notes, "strict", data["strict"])
    if "guard" in data:
        word = data["guard"]
        if word is not None and (not isinstance(word, str) or word not in GUARDS):
            notes.add("guard", f"{_shown(word)} is not known.", "strict or advisory.")
            return said
        strict = None if word is None else GUARDS[word]
        if "strict" in said and said["strict"] != strict:
            notes.add("guard", "says another thing than strict does.", "One of them is enough.")
        said["strict"] = strict
    return said


def _budget(notes: _Notes, data: Mapping[str, Any]) -> dict[str, Any]:
    if "budget" not in data:
        return {}
    if data["budget"] is None:
        return dict.fromkeys(BUDGET.values())
    if not isinstance(data["budget"], dict):
        notes.add("budget", "is no object.", 'As in {"maxTokens": 1000000, "hardLimit": true}.')
        return {}
    given = cast("dict[str, Any]", data["budget"])
    notes.keys("budget", given, tuple(BUDGET))
    said: dict[str, Any] = {}
    for name, value in given.items():
        where = f"budget.{name}"
        if name == "hardLimit":
            said["hard_limit"] = _switch(notes, where, value)
        elif name == "warnPercent":
            said["warn_percent"] = _count(notes, where, value, 100)
        elif name in LIMITS:
            said[LIMITS[name]] = _count(notes, where, value, budget.BIGGEST)
    return said


def _groups(notes: _Notes, given: Any) -> dict[str, list[str]]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        notes.add("groups", "is no object.", 'As in {"reviewers": ["ada", "ben"]}.')
        return {}
    found: dict[str, list[str]] = {}
    for group, members in cast("dict[Any, Any]", given).items():
        name = notes.named(f"groups.{_shown(group)}", _check_group, group)
        if members is not None and not isinstance(members, list):
            notes.add(f"groups.{_shown(group)}", "is no list of names.")
            continue
        listed = cast("list[Any]", members or [])
        checked = [notes.named(f"groups.{_shown(group)}", _check_member, each) for each in listed]
        if name is not None:
            found[name] = list(dict.fromkeys(each for each in checked if each is not None))
    return found


def _check_group(word: str) -> str:
    if names.key(word) == "all":
        raise errors.BadInput("all is everyone, and needs no list.")
    return names.check_name(word)


def _check_member(word: str) -> str:
    return word if word == names.PERSON else names.check_new_name(word)


# -- as a command line writes it -----------------------------------------------------------------------------------


def member_of(written: str) -> dict[str, Any]:
    """`NAME[:ROLE[:MODEL]]` as an entry of `agents`."""
    id, *rest = written.split(":", 2)
    return {"id": id, **dict(zip(("role", "model"), rest, strict=False))}


def group_of(written: str) -> tuple[str, list[str]]:
    """`NAME=ADA,BEN`; nobody after the sign takes the group away."""
    name, _, listed = written.partition("=")
    return name.strip(), [word for word in map(str.strip, listed.split(",")) if word]
