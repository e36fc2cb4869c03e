"""Programs that mail is handed to, run to their end beside the loop."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence

from rookery.core.delivery import Outcome, Reason
from rookery.core.text import one_line
from rookery.runtime import children

WORDS = 300  # characters of what a program is quoted with


async def handed(
    argv: Sequence[str], given: str, *, environ: Mapping[str, str], cwd: str, limit_s: float,
    says_unknown: Callable[[str], bool] = lambda complaint: False,
) -> Outcome:  # fmt: skip
    """Done if it ended well; else why not, in its own words: do they say that it knows no such session?"""

    def run() -> tuple[int, str, str]:
        return children.answer(argv, given, environ=environ, cwd=cwd, limit_s=limit_s)

    try:
        code, said, complaint = await asyncio.to_thread(run)
    except OSError as error:
        return Outcome(False, Reason.INJECTION_FAILED, f"{argv[0]}: {os.strerror(error.errno or 0)}")
    if code == 0:
        return Outcome(True)
    told = one_line(complaint.strip() or said.strip(), WORDS)
    if code == children.TOOK_TOO_LONG:
        return Outcome(False, Reason.INJECTION_FAILED, f"{argv[0]}: took too long")
    if says_unknown(told):
        return Outcome(False, Reason.SESSION_NOT_FOUND, told)
    return Outcome(False, Reason.INJECTION_FAILED, one_line(f"{argv[0]}: exit {code} {told}", WORDS))
