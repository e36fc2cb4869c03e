"""`rook` whose workers' shells adopt nobody: the negative control of the tests that detach processes."""

import sys

from rookery.front.cli.main import main
from rookery.runtime import starting

if __name__ == "__main__":
    starting._adopting = lambda: []  # pyright: ignore[reportPrivateUsage]
    sys.exit(main())
