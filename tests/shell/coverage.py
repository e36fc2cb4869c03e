"""How much of what changed a reserved file the hook had denied, per class of commands.

python -m tests.shell.coverage [--seed N] [--part N] [--second]     prints the table and the commands that were missed
"""

import argparse
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.shell import second
from tests.shell.generate import Command, generate
from tests.shell.sandbox import Sandbox

WHOLE, CLASS = 0.95, 0.85
AXES = ("writer", "quoting", "wrapper", "place")


class Result(NamedTuple):
    command: Command
    changed: bool
    denied: bool


class Report(NamedTuple):
    results: list[Result]
    missing: list[str]  # programs that this machine does not have

    @property
    def changed(self) -> list[Result]:
        return [each for each in self.results if each.changed]

    @property
    def missed(self) -> list[Command]:
        return [each.command for each in self.changed if not each.denied]

    @property
    def share(self) -> float:
        return 1 - len(self.missed) / max(1, len(self.changed))

    def classes(self) -> dict[tuple[str, str], tuple[int, int]]:
        """Of each class, how many changed the file and how many of those were denied."""
        changed: Counter[tuple[str, str]] = Counter()
        denied: Counter[tuple[str, str]] = Counter()
        for each in self.changed:
            for axis in AXES:
                changed[axis, getattr(each.command, axis)] += 1
                denied[axis, getattr(each.command, axis)] += each.denied
        return {key: (changed[key], denied[key]) for key in changed}

    def weak(self) -> dict[tuple[str, str], tuple[int, int]]:
        return {key: (changed, denied) for key, (changed, denied) in self.classes().items() if denied < CLASS * changed}

    def table(self) -> str:
        share = f"{self.share:.1%} of those denied"
        lines = [f"{len(self.results)} commands were run, {len(self.changed)} changed the file, {share}"]
        lines += [f"not on this machine: {', '.join(self.missing)}"] if self.missing else []
        for (axis, name), (changed, denied) in sorted(self.classes().items()):
            lines.append(f"  {axis:8} {name:16} {denied:4} of {changed:4}  {denied / changed:.0%}")
        lines += [f"missed: {each.wrapper}, {each.place}: {each.text!r}" for each in self.missed]
        return "\n".join(lines)


def measure(box: Sandbox, commands: Iterable[Command]) -> Report:
    path = box.environment()["PATH"]
    results: list[Result] = []
    missing: set[str] = set()
    for each in commands:
        if shutil.which(each.program, path=path) is None:
            missing.add(each.program)
            continue
        denied = bool(box.denial(each.text, each.folder))
        results.append(Result(each, box.execute(each.text, each.folder).changed, denied))
    return Report(results, sorted(missing))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", type=int, default=1, help="one command in so many")
    parser.add_argument("--second", action="store_true", help="the commands of the second writer")
    given = parser.parse_args()
    make = second.generate if given.second else generate
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as above:
        box = Sandbox(Path(above))
        print(measure(box, make(str(box.root), given.seed)[:: given.part]).table())


if __name__ == "__main__":
    main()
