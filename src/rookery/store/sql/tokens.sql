-- Tokens of agents and readers. What is looked for is never the text of one, only its SHA-256.

-- name: store_token
-- Whose token has this digest. It is asked before anyone knows the team, and tells it.
SELECT t.id, t.kind, t.expires_at, t.revoked_at, teams.name AS team_name, a.id AS agent, a.name AS agent_name,
       r.id AS run
FROM tokens t JOIN teams ON teams.id = t.team LEFT JOIN agents a ON a.team = t.team AND a.id = t.agent
LEFT JOIN workers w ON w.team = t.team AND w.agent = t.agent
LEFT JOIN runs r ON r.team = w.team AND r.worker = w.id AND r.token = t.id
WHERE t.digest = :digest;

-- name: token
-- How a token stands, read in the transaction it is used in.
SELECT id, expires_at, revoked_at FROM tokens WHERE team = :team AND id = :id;

-- name: new_token
-- Kept from its first day to its last, and after it for the record.
INSERT INTO tokens (team, n, id, digest, kind, agent, note, created_by, created_at, at, expires_at)
VALUES (:team, :n, :id, :digest, :kind, :agent, :note, :created_by, :now, :at, :expires_at);

-- name: revoke_token
-- Fence: a token is revoked once.
UPDATE tokens SET revoked_at = :now WHERE team = :team AND id = :id AND revoked_at IS NULL;

-- name: tokens_of_team
-- Newest first; those that are over only when asked for.
SELECT t.id, t.kind, t.note, t.at, t.expires_at, t.revoked_at, a.name AS agent_name, c.name AS creator_name
FROM tokens t JOIN agents c ON c.team = t.team AND c.id = t.created_by
LEFT JOIN agents a ON a.team = t.team AND a.id = t.agent
WHERE t.team = :team AND (:ended OR (t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > :now)))
ORDER BY t.n DESC LIMIT :limit;
