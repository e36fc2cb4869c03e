"""Groups that are kept as folders of Markdown files, one per agent: `swarms/<group>/agents/<agent>.md`."""

import os
from collections.abc import Sequence

from rookery.core.errors import BadInput
from rookery.core.names import check_name

SUFFIX = ".md"


def group_members(root: str, cwd: str, patterns: Sequence[str], group: str) -> list[str]:
    """The agents of a group, sorted; files that begin with `_`, or whose names no agent could have, are not agents."""
    check_name(group)  # it becomes part of a path
    members: set[str] = set()
    for base in {root, cwd}:
        for pattern in patterns:
            # Not str.format: a pattern comes from a file in the repository, and format reaches attributes.
            members |= _stems(os.path.join(base, pattern.replace("{group}", group)))
    return sorted(members)


def _stems(folder: str) -> set[str]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(SUFFIX) and os.path.isfile(entry.path)]
    except (OSError, ValueError):
        return set()  # no such folder, or none we may read
    return {stem for name in names if not name.startswith("_") and _is_name(stem := name.removesuffix(SUFFIX))}


def _is_name(stem: str) -> bool:
    try:
        check_name(stem)
    except BadInput:
        return False
    return True
