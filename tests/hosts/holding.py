"""Run in the jail: a program in a held terminal, of which the test outside is told the address.

python -m tests.hosts.holding HOME WIDTH HEIGHT WORD...
"""

import json
import os
import sys
from pathlib import Path

from rookery.runtime import ptys

FOREVER_S = 3600.0


def main(home: str, width: str, height: str, *words: str) -> None:
    window = ptys.start(home, words, cwd=os.getcwd(), environ=os.environ, size=(int(width), int(height)))
    told = Path(home) / "told"
    told.write_text(json.dumps([window.address, window.process]))
    told.rename(Path(home) / "address")
    ptys.ended(window.address, FOREVER_S)


if __name__ == "__main__":
    main(*sys.argv[1:])
