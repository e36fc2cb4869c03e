-- Who reads GET /v1/inbox from which event on, and what a discussion tells of itself there: when it changed, which task it
-- is about, and in which order its participants were named.

ALTER TABLE agents ADD COLUMN inbox_from INTEGER;                        -- number of an event; null: it has never polled
ALTER TABLE threads ADD COLUMN updated INTEGER;                          -- last message or link; null: none so far
ALTER TABLE threads ADD COLUMN task TEXT;                                -- the task linked last
ALTER TABLE thread_members ADD COLUMN n INTEGER NOT NULL DEFAULT 0;      -- the order in which they were named

UPDATE threads SET task = (SELECT max(l.task) FROM thread_tasks l WHERE l.team = threads.team AND l.thread = threads.id),
  updated = (SELECT max(m.at) FROM messages m WHERE m.team = threads.team AND m.thread = threads.id);
