"""Terminals of tmux: the user's own server or ours, always by socket, server and pane id.

    address    {"kind": "tmux", "socket": PATH, "server": "PID STARTED", "pane": "%3"}

A pane id means something only in one run of one server: after a restart `%3` is someone else's, so that the server's
process is part of the address (H12, H18).
"""

import os
from collections.abc import Mapping

from rookery.runtime import process

KIND = "tmux"


def address_of(environ: Mapping[str, str]) -> dict[str, str] | None:
    """Where a process with these variables stands; None outside of tmux, or where its server can not be looked at."""
    socket, _, rest = environ.get("TMUX", "").partition(",")
    number, pane = rest.partition(",")[0], environ.get("TMUX_PANE", "")
    if not os.path.isabs(socket) or not number.isdecimal() or not _is_pane(pane):
        return None
    server = process.identify(int(number))
    return (
        {"kind": KIND, "socket": socket, "server": f"{server.pid} {server.started}", "pane": pane} if server else None
    )


def _is_pane(pane: str) -> bool:
    return pane[:1] == "%" and pane[1:].isdecimal() and pane.isascii()
