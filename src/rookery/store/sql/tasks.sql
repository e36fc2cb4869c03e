-- Tasks and what a claim holds.

-- name: task
-- One task with the names of its people.
SELECT t.*, h.name AS holder_name, a.name AS assignee_name, c.name AS creator_name, w.name AS author_name
FROM tasks t LEFT JOIN agents h ON h.team = t.team AND h.id = t.holder
LEFT JOIN agents a ON a.team = t.team AND a.id = t.assignee
LEFT JOIN agents c ON c.team = t.team AND c.id = t.created_by
LEFT JOIN agents w ON w.team = t.team AND w.id = t.author
WHERE t.team = :team AND t.id = :id;

-- name: task_hold
-- What the law looks at, and nothing else.
SELECT id, n, status, holder, session, epoch, lease_until, ttl_ms, renewed_at, attempts, assignee, assigned_until, created_by, plan,
       why, review, rounds, author, resources, title, milestone, rank, tokens, max_tokens, cost, max_cost FROM tasks WHERE team = :team AND id = :id;

-- name: new_task
-- A task under the team's next number.
INSERT INTO tasks (team, n, id, title, status, priority, rank, plan, kind, milestone, assignee, created_by, review, created_at, at,
                   max_tokens, resources, description, spec, why)
VALUES (:team, :n, :id, :title, :status, :priority, :rank, :plan, :kind, :milestone, :assignee, :created_by, :review, :now, :at,
        :max_tokens, :resources, :description, :spec, :why);

-- name: new_dep
-- What it waits for.
INSERT INTO task_deps (team, task, dep) VALUES (:team, :task, :dep) ON CONFLICT (team, task, dep) DO NOTHING;

-- name: drop_deps
-- Dependencies are replaced as a whole.
DELETE FROM task_deps WHERE team = :team AND task = :task;

-- name: deps_of
-- What a task waits for, and how that stands.
SELECT d.dep AS id, t.status, t.review, t.title FROM task_deps d JOIN tasks t ON t.team = d.team AND t.id = d.dep
WHERE d.team = :team AND d.task = :task ORDER BY t.n;

-- name: unmet_deps
-- How much it still waits for: also for work that is to land, because it would begin without it.
SELECT d.dep AS id FROM task_deps d JOIN tasks t ON t.team = d.team AND t.id = d.dep
WHERE d.team = :team AND d.task = :task AND (NOT (t.status = 'completed' AND t.review IN ('', 'SHIP')) OR EXISTS (
  SELECT 1 FROM landings l WHERE l.team = t.team AND l.task = t.id AND l.task <> ''
  AND l.state IN ('queued', 'working'))) ORDER BY t.n;

-- name: dependents_of
-- Who waits for it.
SELECT t.id, t.n, t.status, t.why, t.plan, t.rank, t.milestone, t.holder, t.title, t.created_by, a.name AS assignee_name
FROM task_deps d JOIN tasks t ON t.team = d.team AND t.id = d.task LEFT JOIN agents a ON a.team = t.team AND a.id = t.assignee
WHERE d.team = :team AND d.dep = :dep ORDER BY t.n;

-- name: raise_rank
-- A longer chain hangs on it now.
UPDATE tasks SET rank = :rank WHERE team = :team AND id = :id AND rank < :rank;

-- name: list_tasks
-- Tasks through filters, in the order they were made; what lapsed is seen as lapsed.
SELECT t.id, t.n, t.title, t.status, t.priority, t.rank, t.plan, t.kind, t.milestone, t.epoch, t.lease_until, t.attempts,
       t.why, t.review, t.resources, t.at, t.started, t.ended, t.tokens, t.holder, t.session, h.name AS holder_name,
       a.name AS assignee_name, w.name AS author_name
FROM tasks t LEFT JOIN agents h ON h.team = t.team AND h.id = t.holder
LEFT JOIN agents a ON a.team = t.team AND a.id = t.assignee
LEFT JOIN agents w ON w.team = t.team AND w.id = t.author
WHERE t.team = :team AND t.n > :after
  AND (:status = '' OR :status = CASE WHEN t.status = 'in_progress' AND t.lease_until <= :now THEN 'pending' ELSE t.status END)
  AND (:holder = 0 OR (t.holder = :holder AND t.status = 'in_progress' AND t.lease_until > :now))
ORDER BY t.n LIMIT :limit;

-- name: list_plan_tasks
-- The same for one plan, which must not cost more when the team has more.
SELECT t.id, t.n, t.title, t.status, t.priority, t.rank, t.plan, t.kind, t.milestone, t.epoch, t.lease_until, t.attempts,
       t.why, t.review, t.resources, t.at, t.started, t.ended, t.tokens, t.holder, t.session, h.name AS holder_name,
       a.name AS assignee_name, w.name AS author_name
FROM tasks t LEFT JOIN agents h ON h.team = t.team AND h.id = t.holder
LEFT JOIN agents a ON a.team = t.team AND a.id = t.assignee
LEFT JOIN agents w ON w.team = t.team AND w.id = t.author
WHERE t.team = :team AND t.plan = :plan AND t.n > :after
  AND (:status = '' OR :status = CASE WHEN t.status = 'in_progress' AND t.lease_until <= :now THEN 'pending' ELSE t.status END)
  AND (:holder = 0 OR (t.holder = :holder AND t.status = 'in_progress' AND t.lease_until > :now))
ORDER BY t.n LIMIT :limit;

-- name: whole_tasks
-- Every column of the tasks after a number, with the names of their people, in the order they were made.
SELECT t.*, h.name AS holder_name, a.name AS assignee_name, c.name AS creator_name, w.name AS author_name
FROM tasks t LEFT JOIN agents h ON h.team = t.team AND h.id = t.holder
LEFT JOIN agents a ON a.team = t.team AND a.id = t.assignee
LEFT JOIN agents c ON c.team = t.team AND c.id = t.created_by
LEFT JOIN agents w ON w.team = t.team AND w.id = t.author
WHERE t.team = :team AND t.n > :after AND (:plan = '' OR t.plan = :plan)
  AND (:status = '' OR :status = CASE WHEN t.status = 'in_progress' AND t.lease_until <= :now THEN 'pending' ELSE t.status END)
  AND (:holder = 0 OR (t.holder = :holder AND t.status = 'in_progress' AND t.lease_until > :now))
ORDER BY t.n LIMIT :limit;

-- name: ready_tasks
-- What could be claimed next, best first.
SELECT id FROM tasks
WHERE team = :team AND status = 'pending' AND milestone = 0
  AND (assignee IS NULL OR assignee = :agent OR (assigned_until IS NOT NULL AND assigned_until <= :now))
  AND (:kind = '' OR kind = '' OR kind = :kind) AND (:plan = '' OR plan = :plan)
ORDER BY priority DESC, rank DESC, n LIMIT :limit OFFSET :skip;

-- name: lapsed_tasks
-- Leases that are over, oldest first.
SELECT t.id, t.n, t.holder, t.session, t.epoch, t.lease_until, t.ttl_ms, t.attempts, t.renewed_at, t.title, t.created_by, t.plan,
       t.status, t.assignee, t.why, t.milestone, a.name AS holder_name
FROM tasks t JOIN agents a ON a.team = t.team AND a.id = t.holder
WHERE t.team = :team AND t.status = 'in_progress' AND t.lease_until <= :now ORDER BY t.lease_until LIMIT :limit;

-- name: live_leases
-- Everything held, those that end first first: for a look at whether the holders still live.
SELECT t.id, t.n, t.holder, t.session, t.epoch, t.lease_until, t.ttl_ms, t.attempts, t.renewed_at, t.title, t.created_by, t.plan,
       t.status, t.assignee, t.why, t.milestone, a.name AS holder_name
FROM tasks t JOIN agents a ON a.team = t.team AND a.id = t.holder
WHERE t.team = :team AND t.status = 'in_progress' AND t.lease_until > :now ORDER BY t.lease_until LIMIT :limit;

-- name: claim_task
-- Fence of `claim`: pending, or its lease is over; and nobody raised the epoch since it was looked at.
UPDATE tasks SET status = 'in_progress', holder = :holder, session = :session, epoch = epoch + 1, lease_until = :now + :ttl_ms,
  ttl_ms = :ttl_ms, renewed_at = :now, attempts = attempts + 1, started = coalesce(started, :at), ended = NULL,
  assignee = CASE WHEN assigned_until IS NULL THEN assignee END, assigned_until = NULL
WHERE team = :team AND id = :id AND epoch = :epoch
  AND (status = 'pending' OR (status = 'in_progress' AND coalesce(lease_until, 0) <= :now));

-- name: held_titles
-- What an agent holds, for people and models.
SELECT id, title FROM tasks WHERE team = :team AND holder = :agent AND status = 'in_progress' ORDER BY n LIMIT :limit;

-- name: renew_task
-- Fence of `renew`: the holder, under its epoch, while the lease lives.
UPDATE tasks SET lease_until = :now + :ttl_ms, ttl_ms = :ttl_ms, renewed_at = :now
WHERE team = :team AND id = :id AND status = 'in_progress' AND holder = :holder AND epoch = :epoch AND lease_until > :now;

-- name: extend_lapsed
-- Its holder's process runs: the lease goes on instead of being taken.
UPDATE tasks SET lease_until = :until WHERE team = :team AND id = :id AND status = 'in_progress' AND epoch = :epoch;

-- name: end_task
-- Fence of `done`, `fail` and `block`: the holder, under its epoch, while the lease lives.
UPDATE tasks SET status = :status, ended = :ended, result = :result, why = :why, review = :review, author = :author,
  lease_until = NULL, holder = NULL, session = NULL
WHERE team = :team AND id = :id AND status = 'in_progress' AND holder = :holder AND epoch = :epoch AND lease_until > :now;

-- name: fence_task
-- A note under a lease: changes nothing, but only for its holder.
UPDATE tasks SET ttl_ms = ttl_ms
WHERE team = :team AND id = :id AND status = 'in_progress' AND holder = :holder AND epoch = :epoch AND lease_until > :now;

-- name: move_task
-- The owner's hand: a new status without a lease; the epoch is raised, so whoever held it is fenced.
UPDATE tasks SET status = :status, why = :why, epoch = epoch + 1, lease_until = NULL, holder = NULL, session = NULL,
  review = :review, ended = :ended, assignee = :assignee, assigned_until = :assigned_until, attempts = :attempts, rounds = :rounds
WHERE team = :team AND id = :id AND epoch = :epoch;

-- name: lapse_task
-- A lease that is over, written down. Holder and lease are kept: the holder is told LEASE_EXPIRED until the next claim.
UPDATE tasks SET status = :status, why = :why
WHERE team = :team AND id = :id AND status = 'in_progress' AND epoch = :epoch AND lease_until <= :now;

-- name: open_task
-- Its dependencies changed: blocked or pending, as they say.
UPDATE tasks SET status = :status WHERE team = :team AND id = :id AND status IN ('blocked', 'pending');

-- name: milestone_done
-- A milestone completes by itself; its parts were reviewed, where that was asked.
UPDATE tasks SET status = 'completed', ended = :at, review = ''
WHERE team = :team AND id = :id AND milestone = 1 AND status IN ('blocked', 'pending');

-- name: revise_task
-- What the task says.
UPDATE tasks SET title = :title, description = :description, spec = :spec, priority = :priority, kind = :kind,
  resources = :resources WHERE team = :team AND id = :id;

-- name: delete_task
-- Gone, with what hangs on it.
DELETE FROM tasks WHERE team = :team AND id = :id;

-- name: delete_task_log
-- Its notes go with it.
DELETE FROM task_log WHERE team = :team AND task = :id;

-- name: add_task_note
-- A dated line about a task.
INSERT INTO task_log (team, task, seq, at, kind, by, note) VALUES (:team, :task, :seq, :at, :kind, :by, :note);

-- name: task_notes
-- The newest notes, oldest first when shown.
SELECT seq, at, kind, by, note FROM task_log WHERE team = :team AND task = :task ORDER BY seq DESC LIMIT :limit;

-- name: new_review
-- One verdict per completion.
INSERT INTO reviews (team, task, epoch, reviewer, verdict, feedback, revision, at)
VALUES (:team, :task, :epoch, :reviewer, :verdict, :feedback, :revision, :at) ON CONFLICT (team, task, epoch) DO NOTHING;

-- name: reviews_of
-- Every verdict on a task.
SELECT r.epoch, r.verdict, r.feedback, r.revision, r.at, a.name AS reviewer FROM reviews r
JOIN agents a ON a.team = r.team AND a.id = r.reviewer WHERE r.team = :team AND r.task = :task ORDER BY r.epoch;

-- name: judge_task
-- Fence of `review`: completed under this epoch and waiting for a verdict.
UPDATE tasks SET status = :status, review = :review, why = :why, rounds = :rounds, assignee = :assignee, assigned_until = :until,
  ended = CASE WHEN :status = 'completed' THEN ended END, attempts = CASE WHEN :status = 'completed' THEN attempts ELSE attempts - 1 END
WHERE team = :team AND id = :id AND epoch = :epoch AND status = 'completed' AND review = 'pending';

-- name: renew_held
-- Anything a session does renews what it holds.
UPDATE tasks SET lease_until = :now + ttl_ms, renewed_at = :now
WHERE team = :team AND holder = :agent AND session = :session AND status = 'in_progress' AND lease_until > :now
  AND lease_until < :now + ttl_ms / 2;

-- name: renew_held_paths
-- And the paths of what it holds.
UPDATE reservations SET expires_at = (SELECT t.lease_until FROM tasks t WHERE t.team = reservations.team AND t.id = reservations.task)
WHERE team = :team AND agent = :agent AND task IN (
  SELECT id FROM tasks WHERE team = :team AND holder = :agent AND status = 'in_progress' AND renewed_at = :now);

-- name: count_tasks
-- How many tasks of a plan stand how; what lapsed is pending.
SELECT CASE WHEN status = 'in_progress' AND lease_until <= :now THEN 'pending' ELSE status END AS status, count(*) AS times
FROM tasks WHERE team = :team AND plan = :plan GROUP BY 1;

-- name: drop_task_reservations
-- What a task held is free.
DELETE FROM reservations WHERE team = :team AND task = :task;

-- name: renew_task_reservations
-- The paths of a task live as long as its lease.
UPDATE reservations SET expires_at = :until WHERE team = :team AND task = :task;

-- name: new_spec_claim
-- Work claimed in someone else's document.
INSERT INTO spec_claims (team, spec, item, agent, session, reason, claimed_at, at)
VALUES (:team, :spec, :item, :agent, :session, :reason, :now, :at);

-- name: spec_claim
-- Who has an item of a document.
SELECT c.*, a.name, s.pid, s.started, s.boot, s.host, s.heartbeat_at, s.ended_at AS session_ended FROM spec_claims c
JOIN agents a ON a.team = c.team AND a.id = c.agent LEFT JOIN sessions s ON s.team = c.team AND s.id = c.session
WHERE c.team = :team AND c.spec = :spec AND c.item = :item;

-- name: spec_claim_of
-- The open claim of an agent: one at a time.
SELECT spec, item FROM spec_claims WHERE team = :team AND agent = :agent AND ended IS NULL LIMIT 1;

-- name: drop_spec_claim
-- Given back, or its holder is gone.
DELETE FROM spec_claims WHERE team = :team AND spec = :spec AND item = :item AND ended IS NULL;

-- name: end_spec_claim
-- Fence: only its holder completes it, once.
UPDATE spec_claims SET ended = :at, summary = :summary
WHERE team = :team AND spec = :spec AND item = :item AND agent = :agent AND ended IS NULL;

-- name: spec_claims
-- Open claims and completions.
SELECT c.spec, c.item, c.reason, c.at, c.ended, c.summary, c.session, a.name, s.pid, s.started, s.boot, s.host, s.heartbeat_at,
       s.ended_at AS session_ended FROM spec_claims c
JOIN agents a ON a.team = c.team AND a.id = c.agent LEFT JOIN sessions s ON s.team = c.team AND s.id = c.session
WHERE c.team = :team AND (:spec = '' OR c.spec = :spec) ORDER BY c.ended IS NOT NULL, c.claimed_at LIMIT 500;

-- name: agent_by_id
-- An agent by its number.
SELECT id, name, role, session FROM agents WHERE team = :team AND id = :id;

-- name: make_milestone
-- Split work completes when its parts do.
UPDATE tasks SET milestone = 1 WHERE team = :team AND id = :id;

-- name: task_was_done
-- Imported as finished.
UPDATE tasks SET status = 'completed', ended = :at, review = '' WHERE team = :team AND id = :id AND status IN ('pending', 'blocked');

-- name: new_plan
-- A goal.
INSERT INTO plans (team, id, goal, spec, owner, strict, review, created_at, at)
VALUES (:team, :id, :goal, :spec, :owner, :strict, :review, :now, :at);

-- name: plan
-- One plan with its owner.
SELECT p.*, a.name AS owner_name FROM plans p JOIN agents a ON a.team = p.team AND a.id = p.owner
WHERE p.team = :team AND p.id = :id;

-- name: plans
-- Newest first.
SELECT p.*, a.name AS owner_name FROM plans p JOIN agents a ON a.team = p.team AND a.id = p.owner
WHERE p.team = :team ORDER BY p.created_at DESC, p.id DESC LIMIT 200;

-- name: end_plan
-- Fence: a plan ends once.
UPDATE plans SET status = :status WHERE team = :team AND id = :id AND status = 'active';

-- name: reopen_plan
-- Work was found after all.
UPDATE plans SET status = 'active' WHERE team = :team AND id = :id AND status = 'completed';

-- name: plan_goes_on
-- Something of it is neither done nor given up, or no one has judged it yet.
SELECT 1 AS found WHERE EXISTS (SELECT 1 FROM tasks WHERE team = :team AND plan = :plan AND status = 'pending')
  OR EXISTS (SELECT 1 FROM tasks WHERE team = :team AND plan = :plan AND status = 'blocked')
  OR EXISTS (SELECT 1 FROM tasks WHERE team = :team AND plan = :plan AND status = 'in_progress')
  OR EXISTS (SELECT 1 FROM tasks WHERE team = :team AND plan = :plan AND status = 'failed')
  OR EXISTS (SELECT 1 FROM tasks WHERE team = :team AND plan = :plan AND review = 'pending');
