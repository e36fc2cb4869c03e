"""Sessions that were played by the real programs, read as the keeper reads them."""

from collections.abc import Iterable
from pathlib import Path

from rookery.core.evidence import Found
from rookery.core.extracting import Extractor
from rookery.hosts import streams, transcripts

DATA = Path(__file__).parents[1] / "data"
ROOT = "/src/nest"  # where every one of them worked


def lines(kind: str, name: str) -> list[str]:
    return (DATA / kind / f"{name}.jsonl").read_text().splitlines()


def evidence(kind: str, name: str, said: Iterable[str | bytes], root: str = ROOT) -> list[Found]:
    """`kind` is "streams" or "transcripts", `name` that of a program, or of one of its ways."""
    host = name.partition("-")[0]
    read = streams.read if kind == "streams" else transcripts.read
    extractor = Extractor(host, "run-1" if kind == "streams" else "", root)
    found = [each for line in said for each in extractor.take(read(host, line) or ())]
    return found + extractor.rest()
