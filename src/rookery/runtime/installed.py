"""Programs on this machine: which can be called by their name, and how this very `rook` can."""

import os
import sys
from collections.abc import Iterable, Mapping

from rookery.core.errors import Refused

OWN = "rook"
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def on_path(names: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Those of the programs that the caller's PATH leads to, with the path of each."""
    from shutil import which

    found = {name: which(name, path=environ.get("PATH", "")) for name in names}
    return {name: path for name, path in found.items() if path}


def rook(environ: Mapping[str, str]) -> str:
    """How to call this program from anywhere: by its name if the caller's PATH leads to it, else by its full path."""
    own = _own()
    there = on_path([OWN], environ).get(OWN, "")
    if there and (not own or os.path.samefile(there, own)):
        return OWN
    if not own:
        raise Refused("It is not known where the command `rook` is.", "Install Rookery so that `rook` is on PATH.")
    return own


def _own() -> str:
    """The script beside the interpreter that runs us, or the one we were started as."""
    beside = os.path.join(os.path.dirname(sys.executable), OWN)
    started = os.path.abspath(sys.argv[0]) if os.path.basename(sys.argv[0]) == OWN else ""
    return next((path for path in (beside, started) if path and os.access(path, os.X_OK)), "")


def packaged(*names: str) -> str:
    """A text that is shipped with the package."""
    with open(os.path.join(PACKAGE, *names), encoding="utf-8") as file:
        return file.read()
