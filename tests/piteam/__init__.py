"""The pi-team contract, from outside: against the daemon as a process, started as pi-team's clients start it."""
