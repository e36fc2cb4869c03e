"""A small program that looks like an agent program in its terminal: prompt box, spinner, dialog, bracketed paste.

    python -m tests.support.mimic LOG FIFO

It does what it reads from FIFO, a line of words each: `busy`, `idle`, `dialog`, `hush` (show the prompt, read nothing),
`answer TEXT`, `die` (end at the next Enter), `end`. What happens to it goes to LOG, a line of JSON each: `["submitted",
TEXT]`, `["answered", KEY]`, `["did", WORD]`. What is submitted stays on the screen, above the box, as in the real ones.
"""

import json
import os
import select
import signal
import sys
import termios
import tty

RULE = "─" * 60
SPINNER = "✻✽✶✳"
FRAME_S = 0.05
PASTE, PASTED = "\x1b[200~", "\x1b[201~"


class Mimic:
    def __init__(self, log: str, fifo: str) -> None:
        self.log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.orders = os.open(fifo, os.O_RDWR)
        self.state = "idle"
        self.dies = False
        self.typed = ""
        self.said: list[str] = []
        self.pasting = False
        self.keys = ""
        self.frame = 0

    def run(self) -> None:
        before = termios.tcgetattr(0)
        self.settle()
        signal.signal(signal.SIGCONT, self.settle)
        self.tell("ready", str(os.getpid()))
        try:
            while self.state != "end":
                self.draw()
                self.listen()
        finally:
            os.write(1, b"\x1b[?2004l\r\n")
            termios.tcsetattr(0, termios.TCSADRAIN, before)

    def settle(self, *_: object) -> None:
        """Also after it was suspended, for the shell has set the terminal to its own liking meanwhile."""
        tty.setraw(0)
        os.write(1, b"\x1b[?2004h")

    def listen(self) -> None:
        ears = [self.orders] if self.state == "hush" else [0, self.orders]
        heard, _, _ = select.select(ears, [], [], FRAME_S if self.state == "busy" else None)
        self.frame += 1
        if self.orders in heard:
            for order in os.read(self.orders, 4096).decode().splitlines():
                self.obey(order)
        if 0 in heard:
            given = os.read(0, 65536)
            if not given:
                self.state = "end"
            self.take(given.decode(errors="replace"))

    def obey(self, order: str) -> None:
        word, _, rest = order.partition(" ")
        if word == "answer":
            self.said.append(f"● {rest}")
        elif word == "die":
            self.dies = True
        else:
            self.state = word
        self.tell("did", order)

    def take(self, given: str) -> None:
        self.keys += given
        while self.keys:
            if self.pasting:
                text, found, rest = self.keys.partition(PASTED)
                if not found:
                    return  # the rest of the paste is still to come
                self.typed += text
                self.keys, self.pasting = rest, False
            elif self.keys.startswith(PASTE):
                self.keys, self.pasting = self.keys[len(PASTE) :], True
            else:
                key, self.keys = self.keys[0], self.keys[1:]
                self.press(key)

    def press(self, key: str) -> None:
        if self.state == "dialog":
            self.tell("answered", key)
        elif key == "\r":
            self.submit()
        elif key == "\x15":
            self.typed = ""
        elif key == "\x7f":
            self.typed = self.typed[:-1]
        elif key == "\x1b":
            self.state = "idle"
            self.tell("interrupted", "")
        else:
            self.typed += key

    def submit(self) -> None:
        if self.dies:
            self.state = "end"
        elif self.typed:
            self.tell("submitted", self.typed)
            self.said += [f"> {line}" for line in self.typed.split("\n")]
            self.typed = ""

    def tell(self, what: str, more: str) -> None:
        os.write(self.log, json.dumps([what, more]).encode() + b"\n")

    def draw(self) -> None:
        rows = [*self.said[-12:], ""]
        if self.state == "busy":
            rows.append(f"{SPINNER[self.frame % len(SPINNER)]} Pondering…")
        if self.state == "dialog":
            rows += [RULE, " Do you want to proceed?", " ❯ 1. Yes", "   2. No", "", " Esc to cancel"]
            at = (len(rows) - 4, 1)
        else:
            lines = self.typed.split("\n")
            at = (len(rows) + len(lines), 2 + len(lines[-1]))
            rows += [RULE, f"❯ {lines[0]}", *(f"  {line}" for line in lines[1:]), RULE, "  ? for shortcuts"]
        text = "\r\n".join(row + "\x1b[K" for row in rows)
        os.write(1, f"\x1b[H{text}\x1b[J\x1b[{at[0] + 1};{at[1] + 1}H".encode())


if __name__ == "__main__":
    Mimic(sys.argv[1], sys.argv[2]).run()
