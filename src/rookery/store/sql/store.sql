-- What the store itself asks: its clock and its teams.

-- name: store_clock
-- The offset between CLOCK_MONOTONIC and ledger time on this boot.
SELECT offset_ms FROM clock WHERE boot = :boot;

-- name: store_latest
-- The latest ledger time anyone has used: a new boot's clock starts no earlier.
SELECT coalesce(max(touched_at), 0) AS latest FROM teams;

-- name: store_anchor
-- Anchor the clock of this boot; the first process wins.
INSERT INTO clock (boot, offset_ms) VALUES (:boot, :offset_ms) ON CONFLICT (boot) DO NOTHING;

-- name: store_team
-- The team, the number of its newest event, and what must be looked up before a rule is applied.
SELECT id, seq, flags FROM teams WHERE name = :name;

-- name: store_new_team
-- A team exists from its first write on.
INSERT INTO teams (name, touched_at) VALUES (:name, :now) RETURNING id, seq, flags;

-- name: store_save_team
-- Keep the numbers without gaps: the counter commits with the events.
UPDATE teams SET seq = :seq, touched_at = :now WHERE id = :team;
