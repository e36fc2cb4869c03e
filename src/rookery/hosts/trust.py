"""Does an agent program run the hooks of a repository? Most pass over them in silence until they are trusted.

How each writes that down is not documented by all of them; it was seen in the programs themselves (docs/init.md).
Pure: the contents of the files come in, a sentence about what is missing comes out.
"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

DEFAULT_TIMEOUT_S = 600
# Where Codex looks at a matcher. For the others it is no part of what is trusted.
_MATCHED = frozenset(("PreToolUse", "PostToolUse", "SessionStart", "PermissionRequest", "PreCompact", "PostCompact"))


class Verdict(NamedTuple):
    well: bool
    seen: str
    do: str = ""


# -- Codex -----------------------------------------------------------------------------------------------------------


def codex(settings: Mapping[str, Any], hooks_file: str, document: Mapping[str, Any], folders: Sequence[str]) -> Verdict:
    """`settings` is the user's config.toml: it names the trusted projects, and the digest of every trusted hook."""
    projects = _table(settings, "projects")
    if not any(_table(projects, folder).get("trust_level") == "trusted" for folder in folders):
        return Verdict(False, "Codex does not trust this folder, and runs none of its hooks",
                       "Start `codex` here and trust the folder.")  # fmt: skip
    state = _table(_table(settings, "hooks"), "state")
    untrusted, off = [], []
    for event, at, digest in codex_hooks(hooks_file, document):
        said = _table(state, at)
        if said.get("trusted_hash") != digest:
            untrusted.append(event)
        elif said.get("enabled") is False:
            off.append(event)
    if untrusted:
        return Verdict(False, f"Codex passes over hooks it does not trust: {', '.join(untrusted)}",
                       "Start `codex` here, type /hooks and trust them; again after every change of them.")  # fmt: skip
    if off:
        return Verdict(False, f"hooks are switched off in Codex: {', '.join(off)}", "Type /hooks in `codex`.")
    return Verdict(True, "Codex trusts them")


def codex_hooks(hooks_file: str, document: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(event, the name that the state has for it, digest) of every hook that is ours."""
    from .setup import is_hook

    ours = is_hook("codex")
    found: list[tuple[str, str, str]] = []
    for event, groups in _table(document, "hooks").items():
        for number, group in enumerate(_list(groups)):
            for place, entry in enumerate(_list(_as_table(group).get("hooks"))):
                if ours(_as_table(entry)):
                    name = f"{hooks_file}:{_snake(event)}:{number}:{place}"
                    found.append((event, name, codex_digest(event, _as_table(group), _as_table(entry))))
    return found


def codex_digest(event: str, group: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    """What Codex keeps of a hook that was trusted: the digest of what it does, in one spelling."""
    from hashlib import sha256

    handler: dict[str, Any] = {
        "type": "command", "command": entry.get("command", ""), "async": False,
        "timeout": max(1, entry.get("timeout", DEFAULT_TIMEOUT_S)),
    }  # fmt: skip
    if isinstance(entry.get("statusMessage"), str):
        handler["statusMessage"] = entry["statusMessage"]
    identity: dict[str, Any] = {"event_name": _snake(event), "hooks": [handler]}
    if event in _MATCHED and isinstance(group.get("matcher"), str):
        identity["matcher"] = group["matcher"]
    written = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{sha256(written.encode()).hexdigest()}"


def _snake(event: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in event).lstrip("_")


# -- the others ------------------------------------------------------------------------------------------------------


def claude(settings: Sequence[Mapping[str, Any]]) -> Verdict:
    if any(each.get("disableAllHooks") is True for each in settings):
        return Verdict(False, "hooks are switched off in Claude Code's settings", "Take disableAllHooks out of them.")
    return Verdict(True, "Claude Code runs them")


def gemini(settings: Mapping[str, Any], rules: Mapping[str, Any], environ: Mapping[str, str], folder: str) -> Verdict:
    """`rules` is trustedFolders.json: the longest path that leads here decides."""
    said = environ.get("GEMINI_CLI_TRUST_WORKSPACE", "")
    switched_off = _table(_table(settings, "security"), "folderTrust").get("enabled") is False
    if said == "true" or (switched_off and said != "false"):
        return Verdict(True, "Gemini CLI does not ask for trust")
    best, level = -1, ""
    for path, rule in rules.items():
        place = os.path.dirname(path) if rule == "TRUST_PARENT" else path
        if isinstance(rule, str) and _leads_to(place, folder) and len(path) > best:
            best, level = len(path), rule
    if said != "false" and level in ("TRUST_FOLDER", "TRUST_PARENT"):
        return Verdict(True, "Gemini CLI trusts this folder")
    return Verdict(False, "Gemini CLI does not trust this folder, and runs none of its hooks",
                   "Start `gemini` here and trust it.")  # fmt: skip


def copilot(settings: Mapping[str, Any], folder: str) -> Verdict:
    trusted = [*_list(settings.get("trustedFolders")), *_list(settings.get("trusted_folders"))]
    if any(isinstance(place, str) and _leads_to(place, folder) for place in trusted):
        return Verdict(True, "Copilot CLI trusts this folder")
    return Verdict(False, "Copilot CLI does not trust this folder, and passes over its hooks",
                   "Start `copilot` here and trust it for this and future sessions.")  # fmt: skip


def pi(decisions: Mapping[str, Any], settings: Mapping[str, Any], folder: str) -> Verdict:
    """The nearest decision counts; where there is none, the setting."""
    place = folder
    while place not in decisions or not isinstance(decisions[place], bool):
        above = os.path.dirname(place)
        if above == place:
            break
        place = above
    decided = decisions.get(place)
    if decided is True or (not isinstance(decided, bool) and settings.get("defaultProjectTrust") == "always"):
        return Verdict(True, "pi trusts this project")
    return Verdict(False, "pi has no approval for this project, and loads no extension of it without a person",
                   "Start `pi` here and type /trust; or start it with --approve.")  # fmt: skip


def _leads_to(place: str, folder: str) -> bool:
    return os.path.join(folder, "").startswith(os.path.join(place, ""))


def _table(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return _as_table(value.get(key))


def _as_table(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
