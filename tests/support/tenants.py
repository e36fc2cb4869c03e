"""What child processes do as someone: in a home of their own, as another user, with little room on the disk."""

import os
import resource
import stat
from typing import Any

from tests.support.inside import hear, say

NOBODY = 65534


def _rehearse() -> None:
    """Do it once as ourselves, so that everything is imported: nobody may read the interpreter's own files."""
    import difflib  # noqa: F401
    import hashlib  # noqa: F401
    import tempfile
    import tomllib  # noqa: F401
    import unicodedata  # noqa: F401

    import rookery

    with tempfile.TemporaryDirectory() as home, rookery.connect(team="t", home=home, cwd="/") as team:
        with team.client.listen("ada"):
            me = team.join("ada")
            me.send("ada", "Hello")
        assert me.inbox()


def become(uid: int | None) -> None:
    if uid is not None:
        _rehearse()
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)


def live_in(home: str, umask: int = 0o022, uid: int | None = None, store: str = "") -> None:
    """Open a home, send a message, listen, and say what the modes of everything are; or the refusal."""
    import rookery

    become(uid)
    os.umask(umask)
    if store:
        os.environ["ROOK_STORE"] = store
    os.environ["ROOK_HOME"] = home
    try:
        team = rookery.connect(team="t", cwd="/")
        me = team.join("ada")
        with team.client.listen("ada"):
            me.send("ada", "Hello")
            say(modes(home))
        team.close()
    except rookery.RookError as error:
        say({"code": error.code, "message": error.message, "hint": error.hint})


def modes(home: str) -> dict[str, str]:
    found = {".": home}
    for folder, folders, files in os.walk(home):
        found |= {
            os.path.relpath(os.path.join(folder, name), home): os.path.join(folder, name) for name in folders + files
        }
    return {name: f"{stat.S_IMODE(os.lstat(path).st_mode):04o}" for name, path in found.items()}


def run_out_of_room(home: str, limit: int) -> None:
    """Send until no file may grow further; then with room again. Says each accepted id, and the refusal."""
    import rookery

    team = rookery.connect(team="t", home=home, cwd="/")
    me = team.join("ada")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    refusals: list[dict[str, Any]] = []
    while len(refusals) < 3:
        try:
            say(me.send("ada", "Filling", "word " * 5_000).id)
        except rookery.RookError as error:
            refusals.append({"code": error.code, "message": error.message, "hint": error.hint})
    say(refusals)
    hear()
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    say(me.send("ada", "Room again").id)
    team.close()
