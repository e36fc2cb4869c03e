#!python
"""The `rook` command, and `python -m rookery`. Installed as it is: a generated wrapper would import more than this."""

import os
import sys

from rookery import door

code = door.ask()
if code is None:
    from rookery.front.cli.main import main

    sys.exit(main())
os._exit(code)  # all is written; what the interpreter would still tidy up goes with the process
