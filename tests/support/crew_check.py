"""The check of a crew that is killed: what is in the merged tree fits together. `crew_check.py` in that tree."""

import sys
from pathlib import Path
from zlib import crc32

CHAINS = 5


def problems(tree: Path) -> list[str]:
    """By the files alone: each builds on the one before it in its chain, and stands in the chain's file once."""
    found = []
    for path in sorted((tree / "work").glob("*.txt")):
        number = int(path.stem)
        before = tree / "work" / f"{number - CHAINS}.txt"
        base = before.read_bytes() if number > CHAINS and before.exists() else b""
        if path.read_bytes() != f"task {number} after {crc32(base):08x}\n".encode() * (1 + number % 3):
            found.append(f"{path.name} does not fit what it builds on")
    for path in sorted((tree / "chains").glob("*.txt")):
        there = [int(line.split()[1]) for line in path.read_text().splitlines()]
        first = int(path.stem) or CHAINS
        if there != list(range(first, first + CHAINS * len(there), CHAINS)):
            found.append(f"{path.name} has {there}")
        found += [f"task {number} has a line and no file" for number in there
                  if not (tree / "work" / f"{number}.txt").exists()]  # fmt: skip
    return found


if __name__ == "__main__":
    told = problems(Path.cwd())
    print("\n".join(told) or "all fits")
    sys.exit(bool(told))
