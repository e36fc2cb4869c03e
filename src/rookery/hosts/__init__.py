"""The interpreters: one small module per agent program (launch, resume, hooks, ready/busy/idle, transcript).

Empty until the guard issue fills it; the room exists so that nothing of this kind settles elsewhere.
"""
