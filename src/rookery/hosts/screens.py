"""What the agent programs show in a terminal: prompt, busy markers, dialogs, and the words they take.

Each was read off the program itself, in tmux, at the version that tests/hosts pins; tests/hosts/screens holds what was
seen there. A program that shows something else after an update is `unknown` to these patterns, and nobody types into
it: the mail then waits for another way. Data only; `core.screen` says what it means.
"""

from rookery.core.screen import Gate, Patterns

RULE = r"(?:\A|\n)\s*[─━]{8}[^\n]*\Z"  # above an input line
SHELL_PROMPT = r".*?[$#%>❯»] "

CLAUDE = Patterns(
    name="claude",
    prompt=r"[❯>!#][ \xa0]",
    above=RULE,
    below=r"^─{8}",
    indent=r" {0,2}",
    placeholders=(r'Try ".*',),
    # The spinner stands at the left edge, where nothing that the model writes can stand; the other is in the last line.
    busy=(r"^[·✢✳✶✻✽*] \S.*…", r"^  (?:[⏵⏸].* · )?esc to interrupt\b"),
    dialog=r"^ {0,3}(?:Enter to (?:confirm|select)|Esc to (?:cancel|exit|go back)|Press Enter to continue)",
    gates={
        "trust": Gate(r"Quick safety check|Do you trust the files", ("down", "enter")),
        "bypass": Gate(r"Bypass Permissions mode"),
        "login": Gate(r"Select login method|Paste code here|Browser didn't open|custom API key"),
        "permission": Gate(
            r"Do you want to (?:proceed|make this edit|create|overwrite|allow)|Would you like to proceed"
        ),
        "hooks": Gate(r"(?i)\bhooks?\b.*\b(?:trust|review)"),
        "onboarding": Gate(r"Choose the text style|Let's get started"),
    },
    restless=(r"^ ?[▐▛▜▝█▘▀▌▙▟ ]{8,10} ",),  # its creature blinks
    folded=r"(?:\[Pasted text #\d+(?: \+\d+ lines)?\]\s*)+",
    clear="/clear",
)
CODEX = Patterns(
    name="codex",
    prompt=r"› ",
    indent=r" {0,2}",
    starting=(r"^  \? for shortcuts\s*$",),
    busy=(r"\(\d[\dhm ]*s • esc\b",),
    dialog=r"^  (?i:(?:press )?enter(?:/esc)? (?:to )?(?:continue|confirm|select|submit|view)|esc to (?:cancel|go))",
    gates={
        "trust": Gate(r"Trust this folder\?|Do you trust the contents", ("enter",)),
        "hooks": Gate(r"(?i)hooks? .*\breview|trust .*\bhooks?"),
        "permission": Gate(r"Would you like to |Do you want to approve|Allow .* to run"),
        "login": Gate(r"Sign in with|Finish signing in|API key"),
        "model": Gate(r"Try new model|Use existing model"),
        "update": Gate(r"Update available|Update now"),
    },
    restless=(r"[⠁-⣿]{2}",),  # the logo turns until the first prompt
    folded=r"(?:\[Pasted Content \d+ chars\](?: #\d+)?\s*)+",
    clear="/clear",
)
GEMINI = Patterns(
    name="gemini",
    prompt=r" [>!*] ",
    above=r"(?:\A|\n)[▄╭─]{8}[^\n]*\Z",
    below=r"^[▀╰─]{8}",
    indent=r" {0,3}",
    placeholders=(r"Type your message or @path/to/file",),
    busy=(r"\besc to cancel, ", r"^ [⠁-⣿] "),
    dialog=r"(?i)\(esc\) *│?$|use enter to select|press enter to|\(esc to (?:cancel|close)\)",
    gates={
        "trust": Gate(r"Do you trust (?:this folder|the files)"),
        "login": Gate(r"How would you like to authenticate|Waiting for auth"),
        "permission": Gate(r"Allow execution|Apply this change\?|Do you want to proceed|Action Required"),
    },
    folded=r"(?:\[Pasted Text: \d+ (?:lines|chars)\](?: #\d+)?\s*)+",
    clear="/clear",
)
OPENCODE = Patterns(
    name="opencode",
    prompt=r"\s*┃  ",
    above=r"(?:\A|\n)(?! *┃)[^\n]*\n *┃ *\Z",
    below=r"^\s*╹",
    margin=2,  # a blank row, and the one that names the model
    indent=r"\s*┃ {0,2}",
    placeholders=(r"Ask anything….*",),
    busy=(r"\besc (?:again to )?interrupt\b",),
    dialog=r"(?i)\benter confirm\b|⇆ select",
    gates={"permission": Gate(r"Permission required")},
    folded=r"(?:\[Pasted ~\d+ lines\]\s*)+",
    clear="/new",
)
COPILOT = Patterns(
    name="copilot",
    prompt=r"[❯!] ",
    above=RULE,
    below=r"^─{8}",
    indent=r" {0,2}",
    busy=(r"^ [◉◎○●] (?:Working|Thinking|Loading|Cancelling)", r"(?i)\besc (?:to )?(?:cancel|interrupt|stop)\b"),
    dialog=r"(?i)enter to (?:select|confirm|submit)|esc to cancel|↑↓ to navigate",
    gates={
        "trust": Gate(r"(?i)trust the (?:files|contents)|Confirm folder trust"),
        "permission": Gate(r"Do you want to (?:run|allow|use|edit|create)"),
        "login": Gate(r"(?i)device code|/login"),
    },
    folded=r"(?:\[Paste #\d+ - \d+ lines\]\s*)+",
    clear="/clear",
)
PI = Patterns(
    name="pi",
    prompt=r"",
    above=r"(?:\A|\n)──[^\n]*─{8}\Z",
    below=r"^──.*─{8}$",
    indent=r"",
    busy=(r"^── [⠁-⣿] ",),
    dialog=r"(?i)↑↓ navigate|enter (?:to )?(?:select|confirm)",
    folded=r"(?:\[paste #\d+ (?:\+\d+ lines|\d+ chars)\]\s*)+",
    clear="/new",
)
# A shell, or a program of lines: no busy marker is known, but while it works its prompt is not there.
SHELL = Patterns(
    name="shell", prompt=SHELL_PROMPT, indent="", multiline=False, reference="{path}", interrupt=("ctrl-c",)
)

KNOWN = {each.name: each for each in (CLAUDE, CODEX, GEMINI, OPENCODE, COPILOT, PI, SHELL)}


def of(name: str, written: "Patterns | None" = None) -> Patterns | None:
    """The patterns of a program, one of ours or from a profile that someone wrote; None if nothing is known of it."""
    return written or KNOWN.get(name)
