"""What the tests of the verbs share."""

from tests.support.houses import build

__all__ = ["build"]
