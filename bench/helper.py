"""A process of its own, spawned (a fork would carry this one's SQLite handles along), with a pipe to talk through."""

import multiprocessing
from collections.abc import Callable
from types import TracebackType
from typing import Any


class Helper:
    """Runs `target(pipe, *args)`, which says "ready" first and returns when the pipe is closed (EOFError)."""

    def __init__(self, target: Callable[..., None], *args: object) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe: Any
        there: Any
        self._pipe, there = context.Pipe()
        self._process = context.Process(target=target, args=(there, *args), daemon=True)
        self._process.start()
        there.close()

    def tell(self, order: object) -> None:
        self._pipe.send(order)

    def hear(self) -> Any:
        """What it says next. An EOFError means that it died; its traceback is on stderr."""
        return self._pipe.recv()

    def has_said(self) -> bool:
        """Whether something is there to be heard."""
        return self._pipe.poll()

    def __enter__(self) -> "Helper":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._pipe.close()
        self._process.join()
