"""A daemon that ends itself at a fault point, the Nth time it comes there: `python -m tests.support.dying up ...`"""

import os
import signal
import sys

from rookery.front.cli.main import main
from rookery.store import faults

if __name__ == "__main__":
    left = [int(os.environ["DIES_AT_TIME"])]

    def reached() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    faults.arm(os.environ["DIES_AT"], reached)
    sys.exit(main())
