"""The screen of a terminal, kept in memory: what a program writes goes in, what a person would see comes out.

    sift      the bytes cut into texts, controls and sequences, each whole and of bounded length
    screen    the screen itself, on pyte; the one module that knows pyte
    paint     the screen as text that draws it in another terminal

Invariants: whatever bytes come, memory is bounded and the time for each byte too; nothing that came is ever sent back
to the program, only fixed answers and the place of the cursor. What is passed on to a person's terminal is what draws:
questions to the terminal, the clipboard, files and every other string are not.
"""

# Modes that a person's terminal is told of too: keys, wrapping, the cursor, mouse, focus, paste, whole frames.
SHARED_MODES = (1, 5, 7, 12, 25, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 2004, 2026)
