"""A daemon in which one verb is broken, for a test that must notice it: `python -m tests.support.broken up ...`"""

import sys
from typing import Any

from rookery.front.cli.main import main
from rookery.service import upkeep


def stats(_tx: Any) -> dict[str, Any]:
    raise ZeroDivisionError("planted")


if __name__ == "__main__":
    upkeep.stats = stats
    sys.exit(main())
