#!python
"""The `rook` command, and `python -m rookery`. Installed as it is: a generated wrapper would import more than this."""

import os
import sys

from rookery import door


def _policy(argv: list[str], given: bytes | None, error: Exception) -> tuple[int, str, str]:
    """What a hook without an answer means: asked for when one failed, so it is imported then."""
    from rookery.front.hook import failures

    return failures.without_answer(argv, given, error)


code = door.ask(_policy)
if code is None:
    from rookery.front.cli.main import main

    sys.exit(main())
os._exit(code)  # all is written; what the interpreter would still tidy up goes with the process
