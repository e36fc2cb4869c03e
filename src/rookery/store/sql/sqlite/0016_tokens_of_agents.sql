-- Whether an agent has a token of its own is asked for every call that the daemon's token makes in its name.

CREATE INDEX tokens_agent ON tokens (team, agent) WHERE agent IS NOT NULL;
