"""The description of the API, drawn from the table of routes, the table of verbs and the shapes of their answers."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints, is_typeddict

from rookery.core import authority, tokens
from rookery.core.caller import Grant, Role
from rookery.service import verbs
from rookery.version import VERSION

from . import links
from .shapes import RESULTS

if TYPE_CHECKING:
    from .routes import Line

BIGGEST_QUERY = 10**15 - 1
_NAME = "[A-Za-z0-9_]([A-Za-z0-9_.-]{0,48}[A-Za-z0-9_-])?"
TEAM = {"type": "string", "pattern": f"^({_NAME})?$", "description": "the daemon's own when left out"}
AGENT = {"type": "string", "pattern": f"^(({_NAME}/)?{_NAME})?$", "description": "who asks"}
WHOLE = {"type": "integer", "minimum": 0, "maximum": BIGGEST_QUERY}
QUERY: Mapping[str, dict[str, Any]] = {
    "teamId": TEAM, "agentId": AGENT, "since": WHOLE, "after": WHOLE, "tail": WHOLE | {"minimum": 1},
    "limit": WHOLE | {"minimum": 1},
    "wait": {"type": "number", "minimum": 0, "maximum": 300, "description": "seconds"},
}  # fmt: skip
HEADERS = {
    "X-Rook-Agent": {
        "type": "string",
        "pattern": f"^(({_NAME}/)?{_NAME})?$",
        "description": "who asks, where agentId does not say so",
    },
    "Idempotency-Key": {"type": "string", "maxLength": 200, "description": "a repeat gets the same answer"},
}
SCHEMES = {
    "token": "The daemon's own, from runtime.json: acts as whom agentId names, else as `system`; never as `user`.",
    "operatorToken": "From `rook token new --role operator`: the user in one team, for scripts and CI.",
    "agentToken": "From `rook token new --agent NAME`: one team, and that agent alone.",
    "viewerToken": "From `rook token new --role viewer`: one team, to look at; nothing is changed.",
}
REFUSALS = {
    "400": "It makes no sense (the routes of the pi-team contract)",
    "401": "No token, an unknown one, or one that has expired or was revoked",
    "403": "Not yours: another agent's, another team's, more than the token allows, or an expired lease",
    "404": "Not found", "409": "Conflict", "413": "Too large", "422": "It makes no sense", "429": "Budget exceeded",
    "503": "The store did not answer",
}  # fmt: skip
ENVELOPE = {"agentId": {"anyOf": [AGENT, {"type": "null"}]}, "teamId": {"anyOf": [TEAM, {"type": "null"}]}}
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "hint"],
            "properties": {name: {"type": "string"} for name in ("code", "message", "hint")},
        }
    },
}
_TYPES: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": -verbs.BIGGEST, "maximum": verbs.BIGGEST},
    float: {"type": "number"},
    type(None): {"type": "null"},
    Any: {},
}
READ, WRITE, BARE, OPEN = (
    ("401", "403", "404", "409", "422", "503"),
    ("401", "403", "404", "409", "413", "422", "429", "503"),
    ("401", "403"),
    ("403",),
)


def document(table: "tuple[Line, ...]") -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    shapes: dict[str, Any] = {}
    for line in table:
        if line.path != "/v1/call/{verb}":
            paths.setdefault(line.path, {})[line.method.lower()] = _operation(line, shapes)
    for verb in verbs.TABLE:
        paths[f"/v1/call/{verb.name}"] = {"post": _call(verb, shapes)}
    links.add(paths)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Rookery", "version": VERSION},
        "paths": paths,
        "security": _security(writes=True),
        "components": {
            "securitySchemes": {
                name: {"type": "http", "scheme": "bearer", "description": told} for name, told in SCHEMES.items()
            },
            "schemas": {"Error": ERROR, **shapes},
        },
    }


# -- routes ----------------------------------------------------------------------------------------------------------


def _operation(line: "Line", shapes: dict[str, Any]) -> dict[str, Any]:
    named = [part[1:-1] for part in line.path.split("/") if part.startswith("{")]
    told: dict[str, Any] = {"operationId": links.name_of(line.method, line.path), "summary": line.help}
    told["parameters"] = [
        *(_parameter(name, "path", {"type": "string"}) for name in named),
        *(_parameter(name, "query", _asked(line, name), name in line.needs) for name in line.query),
        *(_parameter(name, "header", HEADERS[name]) for name in _headers(line)),
    ]
    statuses = OPEN if line.path == "/healthz" else BARE if not line.path.startswith("/v1/") else _refusals(line)
    told["responses"] = _responses(_answered(line, shapes), statuses, line.created)
    told["security"] = _allowed(verbs.VERBS[line.verb]) if line.verb else _security(writes=line.method != "GET")
    if line.path == "/healthz":
        told["security"] = []
    if line.method == "POST":
        told["requestBody"] = _body(_fields(line))
    return told


def _headers(line: "Line") -> Iterable[str]:
    if "agentId" in (*line.query, *line.body):
        yield "X-Rook-Agent"
    if line.created and line.verb != "team.new":
        yield "Idempotency-Key"


def _refusals(line: "Line") -> tuple[str, ...]:
    refusals = READ if line.method == "GET" else WRITE
    return refusals if line.invalid is None else ("400", *refusals)


def _answered(line: "Line", shapes: dict[str, Any]) -> dict[str, Any]:
    """By the kind of content."""
    shape = RESULTS[line.verb] if line.answer is None else line.answer
    return {kind: {"schema": schema_of(shape, shapes) if "json" in kind else {"type": "string"}} for kind in line.kinds}


def _asked(line: "Line", name: str) -> dict[str, Any]:
    schema = (None if name in line.takes else QUERY.get(name)) or _argument(line, name)
    return _said(schema) if name in line.needs else schema


def _argument(line: "Line", name: str) -> dict[str, Any]:
    """A field as the line or the verb behind it takes it; one that neither knows is a mistake of the table."""
    if name in line.takes:
        return schema_of(line.takes[name])
    known = {p.name: p for p in verbs.parameters(verbs.find(line.verb).load())}
    return _of_parameter(known[line.fields.get(name, name)])


def _fields(line: "Line") -> dict[str, Any]:
    """A field that says nothing may as well be left out, and one that the line does not know is passed over."""
    properties = {name: ENVELOPE.get(name) or _or_null(_argument(line, name)) for name in line.body}
    for name in line.needs:
        properties[name] = _said(TEAM if name == "teamId" else _argument(line, name))
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if line.needs:
        schema["required"] = list(line.needs)
    if line.either:
        schema["anyOf"] = [{"required": [name], "properties": {name: _said(_argument(line, name))}}
                           for name in line.either]  # fmt: skip
    return schema


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _said(schema: dict[str, Any]) -> dict[str, Any]:
    """What is needed is not empty."""
    return {"minLength": 1, **schema} if schema.get("type") == "string" else schema


# -- verbs -----------------------------------------------------------------------------------------------------------


def _call(verb: verbs.Verb, shapes: dict[str, Any]) -> dict[str, Any]:
    parameters = verbs.parameters(verb.load())
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {**ENVELOPE} | {p.name: _of_parameter(p) for p in parameters},
    }
    if required := [p.name for p in parameters if p.required]:
        schema["required"] = required
    shape = RESULTS.get(verb.name, dict[str, Any])
    return {
        "operationId": links.name_of("POST", f"/v1/call/{verb.name}"),
        "summary": verb.help,
        "parameters": [_parameter("X-Rook-Agent", "header", HEADERS["X-Rook-Agent"])],
        "requestBody": _body(schema),
        "responses": _responses({"application/json": {"schema": schema_of(shape, shapes)}}, WRITE, False),
        "security": _allowed(verb),
    }


def _allowed(verb: verbs.Verb) -> list[dict[str, list[str]]]:
    """The tokens it can be called with: asked of the law, with a made-up one of each kind."""
    mine = [] if verb.who in (authority.USER, authority.JUDGE, authority.DAEMON) else [{"token": []}]
    return mine + [
        {f"{role}Token": []}
        for role in Role
        if not tokens.refusal(Grant("", "", role), verb.name, writes=verb.writes, who=verb.who, by_token=verb.by_token)
    ]


def _security(*, writes: bool) -> list[dict[str, list[str]]]:
    return [{name: []} for name in SCHEMES if not (writes and name == "viewerToken")]


def _of_parameter(parameter: verbs.Parameter) -> dict[str, Any]:
    told = schema_of(parameter.type)
    if parameter.arg.choices and told.get("type") == "string":  # the usual words; what else is taken, the verb says
        told = {"anyOf": [{"enum": list(parameter.arg.choices)}, told]}
    return told | {"description": parameter.arg.help}


# -- schemas ---------------------------------------------------------------------------------------------------------


def schema_of(kind: Any, shapes: dict[str, Any] | None = None) -> dict[str, Any]:
    """The schema of a type. Shapes with a name are put among `shapes` and spoken of by it."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is list:
        return {"type": "array", "items": schema_of(inner[0], shapes)}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(inner[1], shapes)}
    if origin in (Union, UnionType):
        return {"anyOf": [schema_of(each, shapes) for each in inner]}
    if is_typeddict(kind) and shapes is not None:
        return _named(kind, shapes)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return {"type": "string", "enum": list(kind)}
    return dict(_TYPES[kind])


def _named(kind: Any, shapes: dict[str, Any]) -> dict[str, Any]:
    if kind.__name__ not in shapes:
        told: dict[str, Any] = {"type": "object"}
        shapes[kind.__name__] = told  # first, for those that speak of themselves
        fields = get_type_hints(kind)
        told["required"] = sorted(kind.__required_keys__)
        told["properties"] = {name: schema_of(each, shapes) for name, each in fields.items()}
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


def _parameter(name: str, place: str, schema: dict[str, Any], required: bool = False) -> dict[str, Any]:
    return {"name": name, "in": place, "required": required or place == "path", "schema": schema}


def _body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}, "required": "required" in schema or "anyOf" in schema}


def _responses(content: dict[str, Any], refusals: Iterable[str], created: bool) -> dict[str, Any]:
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    told: dict[str, Any] = {"200": {"description": "Done", "content": content}}
    if created:
        told["201"] = {"description": "Made", "content": content}
    told |= {status: {"description": REFUSALS.get(status, "Refused"), "content": error} for status in refusals}
    if "401" in told:
        challenge = {"required": True, "schema": {"type": "string"}}
        told["401"] = told["401"] | {"headers": {"WWW-Authenticate": challenge}}
    return told
