"""The description of the API, drawn from the table of routes and the table of verbs."""

from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from rookery.core import tokens
from rookery.core.caller import Grant
from rookery.service import verbs
from rookery.version import VERSION

if TYPE_CHECKING:
    from .routes import Line

WHOLE = ("since", "after", "limit", "tail")
_TYPES: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": -verbs.BIGGEST, "maximum": verbs.BIGGEST},
    float: {"type": "number"},
    type(None): {"type": "null"},
    Any: {},
}
SCHEMES = {
    "token": "The daemon's own, from runtime.json: acts as the person, or as whom agentId names.",
    "agentToken": "From `rook token new --agent NAME`: one team, and that agent alone.",
    "readToken": "From `rook token new --read-only`: one team, to look at; nothing is changed.",
}
REFUSALS = {
    "401": "No token, an unknown one, or one that has expired or was revoked",
    "403": "Not yours: another agent's, another team's, more than the token allows, or an expired lease",
    "404": "Not found", "409": "Conflict", "413": "Too large", "422": "It makes no sense", "429": "Budget exceeded",
    "503": "The store did not answer",
}  # fmt: skip
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


@cache
def document(table: "tuple[Line, ...]") -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for line in table:
        if line.path != "/v1/call/{verb}":
            paths.setdefault(line.path, {})[line.method.lower()] = _operation(line)
    for verb in verbs.TABLE:
        paths[f"/v1/call/{verb.name}"] = {"post": _call(verb)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Rookery", "version": VERSION},
        "paths": paths,
        "security": _security(writes=True),
        "components": {
            "securitySchemes": {
                name: {"type": "http", "scheme": "bearer", "description": told} for name, told in SCHEMES.items()
            },
            "schemas": {"Error": ERROR},
        },
    }


def _operation(line: "Line") -> dict[str, Any]:
    named = [part[1:-1] for part in line.path.split("/") if part.startswith("{")]
    parameters = [_parameter(name, "path") for name in named] + [_parameter(name, "query") for name in line.query]
    told: dict[str, Any] = {"summary": line.help, "parameters": parameters, "responses": _responses(line.created)}
    told["security"] = _allowed(verbs.VERBS[line.verb]) if line.verb else _security(writes=line.method != "GET")
    if line.path == "/healthz":
        told["security"] = []
    if line.method == "POST":
        told["requestBody"] = _body({"type": "object", "properties": {name: {} for name in line.body}})
    return told


def _parameter(name: str, place: str) -> dict[str, Any]:
    kind = {"type": "integer", "minimum": 0} if name in WHOLE else {"type": "number"} if name == "wait" else None
    return {"name": name, "in": place, "required": place == "path", "schema": kind or {"type": "string"}}


def _call(verb: verbs.Verb) -> dict[str, Any]:
    parameters = verbs.parameters(verb.load())
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"agentId": {"type": "string"}, "teamId": {"type": "string"}}
        | {p.name: schema_of(p.type) | {"description": p.arg.help} for p in parameters},
    }
    if required := [p.name for p in parameters if p.required]:
        schema["required"] = required
    told = {"summary": verb.help, "requestBody": _body(schema), "responses": _responses(False)}
    return told | {"security": _allowed(verb)}


def _allowed(verb: verbs.Verb) -> list[dict[str, list[str]]]:
    """The tokens it can be called with: asked of the law, with a made-up one of each kind."""
    kinds = {kind: Grant("", "", reads_only=kind is tokens.Kind.READ) for kind in tokens.Kind}
    return [{"token": []}] + [
        {f"{kind}Token": []}
        for kind, grant in kinds.items()
        if not tokens.refusal(grant, verb.name, writes=verb.writes, who=verb.who, by_token=verb.by_token)
    ]


def _security(*, writes: bool) -> list[dict[str, list[str]]]:
    return [{name: []} for name in SCHEMES if not (writes and name == "readToken")]


def schema_of(kind: Any) -> dict[str, Any]:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is list:
        return {"type": "array", "items": schema_of(inner[0])}
    if origin is dict:
        return {"type": "object"}
    if origin in (Union, UnionType):
        return {"anyOf": [schema_of(each) for each in inner]}
    return dict(_TYPES[kind])


def _body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def _responses(created: bool) -> dict[str, Any]:
    done = {"description": "Done"}
    shape = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
    refused = {status: {"description": told, **shape} for status, told in REFUSALS.items()}
    return {"200": done} | ({"201": done} if created else {}) | refused
