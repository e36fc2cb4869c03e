"""What verbs answer beside what the description of the API tells of it: a stage that looks at every answer."""

import json
from functools import cache
from typing import Any

import jsonschema_rs

from rookery.core.caller import Caller
from rookery.front.http import openapi, shapes
from tests.support.stage import Stage


@cache
def _validator(verb: str) -> Any:
    named: dict[str, Any] = {}
    told = openapi.schema_of(shapes.RESULTS[verb], named)
    return jsonschema_rs.validator_for(told | {"components": {"schemas": named}})


def fault(verb: str, answer: Any) -> str:
    """Where the answer is not as it is described; nothing if it is."""
    for found in _validator(verb).iter_errors(json.loads(json.dumps(answer))):
        return f"{verb}: {'.'.join(map(str, found.instance_path))}: {found.message[:500]}"
    return ""


class Described(Stage):
    def call(self, verb: str, as_: str | Caller | None = None, **args: Any) -> Any:
        answer = super().call(verb, as_, **args)
        assert not fault(verb, answer), fault(verb, answer)
        return answer
