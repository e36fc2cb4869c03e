-- How mail reaches whoever does not ask for it.

-- Ways to an agent: of its present session, and (without a session) those that settings give it.

-- name: endpoint_put
-- A way by its address. Another one under the same name begins without the failures of the one before.
INSERT INTO endpoints (team, agent, channel, session, address, host, boot)
VALUES (:team, :agent, :channel, :session, :address, :host, :boot)
ON CONFLICT (team, agent, channel) DO UPDATE SET session = excluded.session, address = excluded.address,
  host = excluded.host, boot = excluded.boot, owner = '', owned_to = 0, tries = 0, next_at = 0, failures = 0,
  open_until = 0, reason = '', detail = '', used_at = 0
WHERE endpoints.session <> excluded.session OR endpoints.address <> excluded.address
   OR endpoints.host <> excluded.host OR endpoints.boot <> excluded.boot;

-- name: endpoint_forget
-- What a session was reached by ends with it.
DELETE FROM endpoints WHERE team = :team AND agent = :agent AND session = :session AND session <> '';

-- name: endpoint_rows
-- All ways to an agent.
SELECT agent, channel, session, address, host, boot, owner, owned_to, tries, next_at, failures, open_until, reason,
       detail, used_at
FROM endpoints WHERE team = :team AND agent = :agent ORDER BY channel;

-- name: endpoint_row
-- Whose turn it is at one of them.
SELECT session, address FROM endpoints WHERE team = :team AND agent = :agent AND channel = :channel;

-- name: endpoint_drop
-- One way of a session is gone, if it is still this one.
DELETE FROM endpoints
WHERE team = :team AND agent = :agent AND session = :session AND channel = :channel AND address = :address;
