"""The description of the API, drawn from the table of routes and the table of verbs."""

from collections.abc import Iterable
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

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
        "security": [{"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": ERROR},
        },
    }


def _operation(line: "Line") -> dict[str, Any]:
    named = [part[1:-1] for part in line.path.split("/") if part.startswith("{")]
    parameters = [_parameter(name, "path") for name in named] + [_parameter(name, "query") for name in line.query]
    told: dict[str, Any] = {"summary": line.help, "parameters": parameters, "responses": _responses(line.created)}
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
    return {"summary": verb.help, "requestBody": _body(schema), "responses": _responses(False)}


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
    refused = {
        "description": "Refused",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
    statuses: Iterable[str] = ("401", "403", "404", "409", "413", "422", "429", "503")
    return {"200": done} | ({"201": done} if created else {}) | dict.fromkeys(statuses, refused)
