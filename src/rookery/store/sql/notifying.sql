-- What people were told of what needs them.

-- name: store_teams_untold
-- Teams in which something needs a person who was not told of it by this way.
SELECT t.name FROM teams t WHERE EXISTS (
  SELECT 1 FROM review_items r JOIN agents a ON a.team = r.team AND a.id = r.asked_of
  WHERE r.team = t.id AND r.state = 'open' AND a.is_human = 1
    AND r.created_at > COALESCE((SELECT n.cursor FROM notified n WHERE n.team = t.id AND n.way = :way), 0))
ORDER BY t.id;

-- name: notified
-- How far, by this way.
SELECT cursor, due_at, owner FROM notified WHERE team = :team AND way = :way;

-- name: untold_count
-- How much there is to tell, and since when.
SELECT count(*) AS count, min(r.created_at) AS oldest FROM review_items r JOIN agents a ON a.team = r.team AND a.id = r.asked_of
WHERE r.team = :team AND r.state = 'open' AND r.created_at > :cursor AND r.created_at <= :upto AND a.is_human = 1;

-- name: untold
-- The first of it, what matters most before the rest.
SELECT r.id, r.kind, r.subject, r.worker, r.title FROM review_items r JOIN agents a ON a.team = r.team AND a.id = r.asked_of
WHERE r.team = :team AND r.state = 'open' AND r.created_at > :cursor AND r.created_at <= :upto AND a.is_human = 1
ORDER BY r.rank, r.created_at, r.id LIMIT :limit;

-- name: take_notifying
-- Whoever tells it now has it until then.
INSERT INTO notified (team, way, cursor, due_at, owner, at) VALUES (:team, :way, :cursor, :until, :owner, :at)
ON CONFLICT (team, way) DO UPDATE SET due_at = excluded.due_at, owner = excluded.owner, at = excluded.at;

-- name: told_notifying
-- Fence: only by whoever has it.
UPDATE notified SET cursor = :upto, due_at = :due, owner = '', at = :at
WHERE team = :team AND way = :way AND owner = :owner AND cursor < :upto;

-- name: untold_notifying
-- Fence: to be tried again then.
UPDATE notified SET due_at = :due, owner = '', at = :at WHERE team = :team AND way = :way AND owner = :owner;
