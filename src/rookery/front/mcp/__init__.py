"""The door for models: fourteen tools at most, three resources, all drawn from the table of verbs.

`tools` says which verbs a model gets and with which of their arguments; `seat` says who speaks (the session, never an
argument); `words` turns results into a few lines with ids; `news` tells which resources changed; `server` speaks the
protocol through the `mcp` package. Only it and the daemon's `front/http/guests`, where the seats of models elsewhere
are, import that package: it costs most of a second.
"""
