"""The bell: tells a sleeping process that something was committed. A ring carries nothing and promises nothing.

May touch: its own sockets. Invariant: a lost ring costs at most one slow poll, never a message, because whoever is
woken reads the store, and reads it once a second anyway.
"""
