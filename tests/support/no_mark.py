"""`rook` that marks nothing it starts: the negative control of the tests that cut the process tree."""

import sys

from rookery.front.cli.main import main
from rookery.runtime import agent_mark

if __name__ == "__main__":
    agent_mark.mark = lambda pid=0: None  # pyright: ignore[reportUnknownLambdaType]
    sys.exit(main())
