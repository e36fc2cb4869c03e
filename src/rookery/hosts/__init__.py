"""The interpreters: how each agent program tells its hooks what it does, and how it wants to be answered.

profile.py    what is known of a program, as data; reading an event and writing an answer by it
claude.py ... one small module per program: its profile
known.py      which there are; imported one by one, for a hook needs only its own
written.py    a profile from a TOML file, so that a program is added without Python
"""
