"""`rook` started by an agent program: it carries the mark from the beginning."""

import sys

from rookery.front.cli.main import main
from rookery.runtime import agent_mark

if __name__ == "__main__":
    agent_mark.mark()
    sys.exit(main())
