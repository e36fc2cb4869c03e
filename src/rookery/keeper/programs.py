"""Programs that mail is handed to, run to their end in a pool of threads."""

import os
from collections.abc import Callable, Mapping, Sequence

from rookery.core.delivery import Outcome, Reason
from rookery.core.text import one_line
from rookery.runtime import children

from .blocking import BlockingPool

WORDS = 300  # characters of what a program is quoted with
LABEL = 100  # characters of a program's name in reports


async def handed(
    argv: Sequence[str], given: str, *, environ: Mapping[str, str], cwd: str, limit_s: float, pool: BlockingPool,
    says_unknown: Callable[[str], bool] = lambda complaint: False,
) -> Outcome:  # fmt: skip
    """Done if it ended well; else why not, in its own words: do they say that it knows no such session? When the caller
    is cancelled, the program is killed."""
    program = children.Program(argv, given, environ=environ, cwd=cwd, limit_s=limit_s)
    try:
        code, said, complaint = await pool.run(program.answer, label=one_line(argv[0], LABEL))
    except OSError as error:
        return Outcome(False, Reason.INJECTION_FAILED, f"{argv[0]}: {os.strerror(error.errno or 0)}")
    finally:
        program.end()
    if code == 0:
        return Outcome(True)
    told = one_line(complaint.strip() or said.strip(), WORDS)
    if code == children.TOOK_TOO_LONG:
        return Outcome(False, Reason.INJECTION_FAILED, f"{argv[0]}: took too long")
    if says_unknown(told):
        return Outcome(False, Reason.SESSION_NOT_FOUND, told)
    return Outcome(False, Reason.INJECTION_FAILED, one_line(f"{argv[0]}: exit {code} {told}", WORDS))
