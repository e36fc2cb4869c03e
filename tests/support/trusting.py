"""Repositories that the user trusts: accepted through the same verb as `rook trust --yes` uses."""

import os
from collections.abc import Mapping
from pathlib import Path

from rookery import app
from rookery.core import names


def trust_repository(folder: Path | str, environ: Mapping[str, str] | None = None) -> int:
    """Accept everything that the repository at this folder asks for; how much that was."""
    house = app.open_house(cwd=str(folder), environ=dict(os.environ if environ is None else environ))
    try:
        person = house.caller(names.PERSON)
        new = [each for each in house.client.call("trust.look", {}, person)["requests"] if not each["in_force"]]
        if new:
            house.client.call("trust.accept", {"accepted": {each["digest"]: each["key"] for each in new}}, person)
        return len(new)
    finally:
        house.close()
