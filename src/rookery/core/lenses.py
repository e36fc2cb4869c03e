"""Lenses: named perspectives a message asks its reader to take. Markdown; these few are there for everyone.

A lens is the repository's text, or ours, and never the sender's: a message only names it.
"""

from collections.abc import Mapping

from . import text

LIMIT = 32_768  # bytes of a file

BUILT_IN: Mapping[str, str] = {
    "strategic": """# Strategic
Look at where this leads rather than at what is in front of you. Who gains and who loses by it, what does it make easy
or impossible later, and what would you regret in a year? Name the one choice that matters most.""",
    "competitive": """# Competitive
Compare with what others have done about the same thing. What do they do better, what worse, and why? Say what is worth
taking over, and what only looks as if it were.""",
    "sceptic": """# Sceptic
Assume that the claim is wrong and look for what would show it. Which evidence is missing, which was chosen, what else
would explain it? Say what you tried in order to refute it, and what held.""",
    "security": """# Security
Read it as someone who wants to misuse it. What is believed without proof, what comes from outside, what happens at the
limits, what is told to whom? For each weakness: how it is used, and what it costs.""",
    "simplicity": """# Simplicity
Ask of every part what would be lost without it. Prefer what can be read in one go over what can be extended. Name what
to leave out first.""",
    "newcomer": """# Newcomer
Read it as someone who sees it for the first time and knows nothing that is not written there. Where would you stop,
what would you have to ask, which word is used before it is explained?""",
}


def title(written: str) -> str:
    """The first line that says something, as a heading or not."""
    return next((text.one_line(line.lstrip("# "), 80) for line in written.split("\n") if line.strip("# \t")), "")
