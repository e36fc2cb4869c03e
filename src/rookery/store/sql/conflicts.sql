-- Where change sets meet: what each touches, and how close any two come.

-- name: new_hunk
-- A place that a change set touches, in its base.
INSERT OR REPLACE INTO hunks (team, change, path, start, length) VALUES (:team, :change, :path, :start, :length);

-- name: new_symbol
-- A name that a change set takes away or uses.
INSERT OR REPLACE INTO symbols (team, change, name, how, detail, path, line)
VALUES (:team, :change, :name, :how, :detail, :path, :line);

-- name: graded_change
-- What it touches is kept from now on.
UPDATE changes SET graded = 1 WHERE team = :team AND id = :id;

-- name: other_changes
-- Those that may still land beside the work of one worker at one task.
SELECT id, base, worker, task, root, machine, report, state, author FROM open_changes
WHERE team = :team AND worker <> :worker AND (task = '' OR task <> :task) ORDER BY n DESC LIMIT :limit;

-- name: risk_of_result
-- What is asked about a worker's change set has become riskier.
UPDATE review_items SET risk = :risk
WHERE team = :team AND worker = :worker AND worker <> '' AND rank = 40 AND state = 'open' AND risk < :risk;

-- name: other_bases
-- Where those begin.
SELECT base, count(*) AS times FROM open_changes
WHERE team = :team AND worker <> :worker GROUP BY base ORDER BY times DESC, base LIMIT :limit;

-- name: hunks_met
-- What others touch of these files.
SELECT change, path, start, length FROM hunks
WHERE team = :team AND path IN (SELECT value FROM json_each(:paths)) AND change IN (SELECT value FROM json_each(:changes))
ORDER BY change, path, start;

-- name: symbols_met
-- What others do with these names.
SELECT change, name, how, detail, path, line FROM symbols
WHERE team = :team AND name IN (SELECT value FROM json_each(:names)) AND change IN (SELECT value FROM json_each(:changes))
ORDER BY change, name, how, path;

-- name: new_overlap
-- How close two come.
INSERT OR REPLACE INTO overlaps (team, change, other, grade, paths, hints, at)
VALUES (:team, :change, :other, :grade, :paths, :hints, :at);

-- name: overlaps_of
-- Those of one change set with others that may still land, or have meanwhile: the closest first.
WITH met AS (
  SELECT other AS id, grade, paths, hints FROM overlaps WHERE team = :team AND change = :change
  UNION ALL SELECT change, grade, paths, hints FROM overlaps WHERE team = :team AND other = :change)
SELECT m.grade, m.paths, m.hints, o.id, o.worker, o.task, o.title, o.author, o.n, 0 AS landed
FROM met m JOIN open_changes o ON o.team = :team AND o.id = m.id
UNION ALL
SELECT m.grade, m.paths, m.hints, c.id, c.worker, c.task, t.title, coalesce(a.name, ''), c.n, 1
FROM met m JOIN changes c ON c.team = :team AND c.id = m.id LEFT JOIN tasks t ON t.team = c.team AND t.id = c.task
LEFT JOIN workers w ON w.team = c.team AND w.id = c.worker LEFT JOIN agents a ON a.team = w.team AND a.id = w.agent
WHERE EXISTS (SELECT 1 FROM landings l WHERE l.team = c.team AND l.change = c.id AND l.state = 'landed')
ORDER BY 1 DESC, 9 LIMIT :limit;

-- name: open_overlaps
-- All of those of which both may still land, the closest first.
SELECT p.change, p.other, p.grade, p.paths, p.hints, c.worker, c.task, c.title, c.author, o.worker AS other_worker,
  o.task AS other_task, o.title AS other_title, o.author AS other_author
FROM open_changes c JOIN overlaps p ON p.team = c.team AND p.change = c.id JOIN open_changes o ON o.team = p.team AND o.id = p.other
WHERE c.team = :team ORDER BY p.grade DESC, c.n DESC, o.n DESC LIMIT :limit;

-- name: open_change
-- One that may still land.
SELECT id, worker FROM open_changes WHERE team = :team AND id = :id;

-- name: open_change_of_worker
-- The one of a worker that may still land.
SELECT id, worker FROM open_changes WHERE team = :team AND worker = :worker ORDER BY n DESC LIMIT 1;

-- name: over_changes
-- Those that can not land any more, or did and are met by nobody who may; newer ones took their place; no worker.
SELECT c.id FROM changes c WHERE c.team = :team AND c.graded = 1 AND (
  NOT EXISTS (SELECT 1 FROM workers w WHERE w.team = c.team AND w.id = c.worker)
  OR EXISTS (SELECT 1 FROM landings l WHERE l.team = c.team AND l.change = c.id AND l.state IN ('landed', 'undone'))
    AND NOT EXISTS (SELECT 1 FROM overlaps p JOIN open_changes o ON o.team = p.team AND o.id = p.other
                    WHERE p.team = c.team AND p.change = c.id)
    AND NOT EXISTS (SELECT 1 FROM overlaps p JOIN open_changes o ON o.team = p.team AND o.id = p.change
                    WHERE p.team = c.team AND p.other = c.id)
  OR EXISTS (SELECT 1 FROM changes d WHERE d.team = c.team AND d.worker = c.worker AND d.n > c.n)
  OR EXISTS (SELECT 1 FROM changes d WHERE d.team = c.team AND d.task = c.task AND d.task <> '' AND d.n > c.n))
ORDER BY c.n LIMIT :limit;

-- name: ungraded_change
-- What it touched goes.
UPDATE changes SET graded = 0 WHERE team = :team AND id = :id;

-- name: forget_hunks
-- All of a change set.
DELETE FROM hunks WHERE team = :team AND change = :change;

-- name: forget_symbols
-- All of a change set.
DELETE FROM symbols WHERE team = :team AND change = :change;

-- name: forget_overlaps
-- All of a change set with those before it.
DELETE FROM overlaps WHERE team = :team AND change = :change;

-- name: forget_overlapped
-- And with those after it.
DELETE FROM overlaps WHERE team = :team AND other = :change;
