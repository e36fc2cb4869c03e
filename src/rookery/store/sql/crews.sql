-- Crews: plans that are worked off.

-- name: new_crew
-- A crew, as it was asked for.
INSERT INTO crews (team, id, n, plan, machine, root, limits, terms, state, started_by, created_at, at)
VALUES (:team, :id, :n, :plan, :machine, :root, :limits, :terms, 'running', :started_by, :now, :at);

-- name: crew
-- One crew, with whoever started it.
SELECT c.*, a.name AS starter FROM crews c JOIN agents a ON a.team = c.team AND a.id = c.started_by
WHERE c.team = :team AND c.id = :id;

-- name: crew_of_plan
-- The crew that works on a plan now, or did last.
SELECT c.*, a.name AS starter FROM crews c JOIN agents a ON a.team = c.team AND a.id = c.started_by
WHERE c.team = :team AND c.plan = :plan ORDER BY c.n DESC LIMIT 1;

-- name: crew_of_task
-- The crew whose worker did a task, or does it.
SELECT w.crew FROM workers w
WHERE w.team = :team AND w.task = :task AND w.task <> '' AND w.role <> 'review' AND w.crew <> '' ORDER BY w.n DESC LIMIT 1;

-- name: crews
-- Crews, the newest first.
SELECT c.*, a.name AS starter FROM crews c JOIN agents a ON a.team = c.team AND a.id = c.started_by
WHERE c.team = :team AND (:everyone = 1 OR c.state IN ('running', 'stopping')) ORDER BY c.n DESC LIMIT :limit;

-- name: store_teams_with_crews
-- Teams that have a crew at work on this machine.
SELECT t.name FROM teams t WHERE EXISTS (
  SELECT 1 FROM crews c WHERE c.machine = :machine AND c.team = t.id AND c.state IN ('running', 'stopping'))
ORDER BY t.id;

-- name: crew_moves
-- Fence: from where it was, to where it goes.
UPDATE crews SET state = :state, why = :why,
  ended_at = CASE WHEN :state IN ('running', 'stopping') THEN NULL ELSE :now END
WHERE team = :team AND id = :id AND state = :before;

-- name: scale_crew
-- Other limits, while it runs.
UPDATE crews SET limits = :limits WHERE team = :team AND id = :id AND state = 'running';

-- name: crew_tasks
-- What of a plan is not over and done with, as it would be claimed: the most urgent and the longest chain first.
SELECT k.id, k.status, k.kind, k.milestone, k.review, k.epoch, k.resources, k.assignee, k.holder, k.title,
       coalesce(w.id, '') AS worker, coalesce(w.crew, '') AS crew,
       EXISTS (SELECT 1 FROM landings l WHERE l.team = k.team AND l.task = k.id AND l.task <> '' AND l.state IN ('queued', 'working')) AS landing,
       (SELECT count(*) FROM workers v WHERE v.team = k.team AND v.task = k.id AND v.task <> '' AND v.role = 'review'
          AND v.judges = k.epoch) AS reviews
FROM tasks k LEFT JOIN workers w ON w.team = k.team AND w.agent = coalesce(k.assignee, k.holder) AND k.status <> 'completed'
WHERE k.team = :team AND k.plan = :plan
  AND (k.status NOT IN ('completed', 'canceled') OR k.review = 'pending'
       OR EXISTS (SELECT 1 FROM landings l WHERE l.team = k.team AND l.task = k.id AND l.task <> '' AND l.state IN ('queued', 'working')))
ORDER BY k.priority DESC, k.rank DESC, k.n;

-- name: crew_workers
-- Those of a crew that are not over.
SELECT w.*, a.name FROM workers w JOIN agents a ON a.team = w.team AND a.id = w.agent
WHERE w.team = :team AND w.crew = :crew AND w.crew <> '' AND (w.state <> 'ended' OR w.task <> '') ORDER BY w.n;

-- name: crew_used
-- What its workers used, as far as that was told.
SELECT coalesce(sum(r.input + r.output), 0) AS tokens, coalesce(sum(r.cost), 0) AS cost
FROM workers w JOIN runs r ON r.team = w.team AND r.worker = w.id WHERE w.team = :team AND w.crew = :crew AND w.crew <> '';

-- name: crew_counts
-- How its plan stands, in numbers.
SELECT count(*) AS total, sum(status = 'completed' AND review <> 'pending') AS done, sum(status = 'canceled') AS canceled,
       sum(status = 'in_progress') AS working, sum(status = 'pending') AS ready, sum(status = 'blocked') AS blocked,
       sum(status = 'failed') AS failed, sum(status = 'completed' AND review = 'pending') AS judging
FROM tasks WHERE team = :team AND plan = :plan;

-- name: crew_landings
-- What of it landed, or waits to.
SELECT l.state, count(*) AS times FROM tasks k CROSS JOIN landings l ON l.team = k.team AND l.task = k.id AND l.task <> ''
WHERE k.team = :team AND k.plan = :plan GROUP BY l.state;

-- name: give_worker
-- Fence: one that waits is given a task.
UPDATE workers SET task = :task, title = :title, assignment = '', report = '', outcome = '', summary = '', board = '[]',
  nudged = 0, reported_at = NULL
WHERE team = :team AND id = :id AND state = 'running' AND wish = '' AND (task = '' OR report IN ('done', 'failed'));

-- name: worker_base
-- Its worktree was brought up to date while it waited.
UPDATE workers SET base = :base WHERE team = :team AND id = :id AND state = 'running';

-- name: plan_without_review
-- Nobody judges what is done in this plan from now on.
UPDATE tasks SET review = '' WHERE team = :team AND plan = :plan AND review = 'wanted';

-- name: plan_with_review
-- Tasks that are added to this plan are reviewed.
UPDATE plans SET review = 1 WHERE team = :team AND id = :plan;

-- name: review_tasks_of_plan
-- A crew judges what its plan says nothing about.
UPDATE tasks SET review = 'wanted'
WHERE team = :team AND plan = :plan AND review = '' AND status IN ('blocked', 'pending', 'in_progress');

-- name: set_crew_terms
-- How far its planning is.
UPDATE crews SET terms = :terms WHERE team = :team AND id = :id;
