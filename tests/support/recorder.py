"""A program for a terminal: it writes what a file holds, and writes down every byte that it is given.

    python -m tests.support.recorder TEXT HEARD [deaf]

`deaf` reads nothing, so that what is typed waits.
"""

import os
import signal
import sys
import tty


def main(text: str, heard: str, *how: str) -> None:
    tty.setraw(0)
    with open(text, "rb") as file:
        os.write(1, file.read())
    with open(heard, "ab", buffering=0) as log:
        while "deaf" not in how and (data := os.read(0, 65536)):
            log.write(data)
    signal.pause()


if __name__ == "__main__":
    main(*sys.argv[1:])
