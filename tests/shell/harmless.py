"""Commands that do not write what is reserved (harmless*.toml), and some written by hand that do (attacks.toml)."""

import tomllib
from pathlib import Path

_ATTACKS = tomllib.loads(Path(__file__).with_name("attacks.toml").read_text())
_LISTED = tomllib.loads(Path(__file__).with_name("harmless.toml").read_text())
_AGENTS = tomllib.loads(Path(__file__).with_name("harmless_agents.toml").read_text())
_OUTPUTS = tomllib.loads(Path(__file__).with_name("harmless_outputs.toml").read_text())
_PROGRAMS = tomllib.loads(Path(__file__).with_name("harmless_programs.toml").read_text())
RUN: list[str] = [*_LISTED["run"], *_AGENTS["run"], *_OUTPUTS["run"]]
DRY: list[str] = [*_LISTED["dry"], *_AGENTS["dry"], *_OUTPUTS["dry"], *_PROGRAMS["dry"]]
FOLDER: list[str] = [*_AGENTS["folder"], *_OUTPUTS["folder"]]
FURTHER: list[str] = tomllib.loads(Path(__file__).with_name("attacks_agents.toml").read_text())["denied"]
ATTACKS: list[str] = _ATTACKS["denied"]
LIMITS: list[str] = _ATTACKS["limits"]
