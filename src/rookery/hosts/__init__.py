"""The interpreters: how each agent program tells its hooks what it does, and how it wants to be answered.

profile.py    what is known of a program, as data; reading an event and writing an answer by it
claude.py ... one small module per program: its profile
known.py      which there are; imported one by one, for a hook needs only its own
screens.py    what each shows in a terminal: prompt, busy markers, dialogs; `core.screen` says what that means
written.py    a profile, and a screen, from a TOML file, so that a program is added without Python
reaching.py   how a program is called for a session of its own: a message queued, a turn resumed
launching.py  how a program is started as a worker, at a terminal or without one
streams.py    what it prints of itself then, as events of `core.activity`; transcripts.py: the same from its own records
deeds.py      what a tool does: a command, edits, from its name and arguments; values.py: whatever stands in a line
setup.py      what `rook init` puts into which file of a repository, for each program
quoting.py    a text in the notation of a settings file
pieces.py     how one thing is put into one file, looked for and taken out; jsontext.py and marked.py do it in the text
trust.py      whether a program runs what was put there
kinds/        kinds of workers that are there for everyone, as Markdown
plugins/      our own files, as they are written: for OpenCode and pi, the skill, the page, git's hook
"""
