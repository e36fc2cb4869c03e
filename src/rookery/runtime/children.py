"""Processes that Rookery starts itself. Argument vectors only; ended by their own handle, never by name."""

import subprocess
import sys
from collections.abc import Mapping, Sequence


class Child:
    def __init__(self, argv: Sequence[str], *, environ: Mapping[str, str], cwd: str) -> None:
        self._process = subprocess.Popen(
            list(argv), env=dict(environ), cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        self.pid = self._process.pid

    def finished(self, timeout_s: float) -> tuple[int, str]:
        """(exit code, what it printed); it is killed if it takes longer, and the code is then negative."""
        try:
            said, _ = self._process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            said, _ = self._process.communicate()
        return self._process.returncode, said

    def failed(self) -> bool:
        return self._process.poll() not in (None, 0)

    def running(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        if self.running():
            self._process.kill()
            self._process.communicate()


def run_module(module: str, *args: str, environ: Mapping[str, str], cwd: str) -> Child:
    """A module of this very installation, in a process of its own."""
    return Child([sys.executable, "-m", module, *args], environ=environ, cwd=cwd)
