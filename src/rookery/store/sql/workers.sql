-- Workers and their runs.

-- name: new_worker
-- A worker, as it was asked for.
INSERT INTO workers (team, n, id, agent, kind, profile, host, backend, model, machine, root, task, title, assignment,
  parent, asked_by, depth, crew, role, seed, extra, state, base, judges, tree, created_at, at)
VALUES (:team, :n, :id, :agent, :kind, :profile, :host, :backend, :model, :machine, :root, :task, :title, :assignment,
  :parent, :asked_by, :depth, :crew, :role, :seed, :extra, 'queued', :base, :judges, '', :now, :at);

-- name: worker
-- One worker with its agent.
SELECT w.*, a.name, a.key, a.session AS agent_session FROM workers w JOIN agents a ON a.team = w.team AND a.id = w.agent
WHERE w.team = :team AND w.id = :id;

-- name: worker_of_agent
-- The worker that an agent is.
SELECT w.*, a.name, a.key, a.session AS agent_session FROM workers w JOIN agents a ON a.team = w.team AND a.id = w.agent
WHERE w.team = :team AND w.agent = :agent;

-- name: worker_on_task
-- Whoever works on a task, or is about to.
SELECT w.id, a.name FROM workers w JOIN agents a ON a.team = w.team AND a.id = w.agent
WHERE w.team = :team AND w.task = :task AND w.task <> '' AND w.state <> 'ended' AND w.role <> 'review'
  AND w.report NOT IN ('done', 'failed') LIMIT 1;

-- name: workers_listed
-- Those that are shown: the newest first.
SELECT w.*, a.name, s.heartbeat_at, s.activity_at, s.tokens AS used, coalesce(t.phase, '') AS phase,
       coalesce(t.phase_at, 0) AS phase_at, r.n AS run_n, r.pid, r.started, r.terminal, r.exit_code,
       coalesce(r.reason, '') AS ending, r.input, r.output, r.cost, r.created_at AS run_at, r.ended_at AS run_ended,
       coalesce(r.session, '') AS session,
       coalesce(r.tail, '') AS tail,
       (SELECT q.created_at FROM questions q WHERE q.team = w.team AND q.worker = w.id AND q.state = 'open' LIMIT 1) AS asked_at
FROM workers w CROSS JOIN agents a ON a.team = w.team AND a.id = w.agent
LEFT JOIN runs r ON r.team = w.team AND r.id = w.run
LEFT JOIN sessions s ON s.team = w.team AND s.id = r.session
LEFT JOIN turns t ON t.team = w.team AND t.session = r.session
WHERE w.team = :team AND w.evicted_at IS NULL AND (w.state <> 'ended' OR w.seen_at = 0 OR EXISTS (
  SELECT 1 FROM review_items i WHERE i.team = w.team AND i.worker = w.id AND i.worker <> '' AND i.state = 'open'))
ORDER BY w.n DESC LIMIT :limit;

-- name: workers_all
-- Those too that are no longer shown.
SELECT w.*, a.name, s.heartbeat_at, s.activity_at, s.tokens AS used, coalesce(t.phase, '') AS phase,
       coalesce(t.phase_at, 0) AS phase_at, r.n AS run_n, r.pid, r.started, r.terminal, r.exit_code,
       coalesce(r.reason, '') AS ending, r.input, r.output, r.cost, r.created_at AS run_at, r.ended_at AS run_ended,
       coalesce(r.session, '') AS session,
       coalesce(r.tail, '') AS tail,
       (SELECT q.created_at FROM questions q WHERE q.team = w.team AND q.worker = w.id AND q.state = 'open' LIMIT 1) AS asked_at
FROM workers w CROSS JOIN agents a ON a.team = w.team AND a.id = w.agent
LEFT JOIN runs r ON r.team = w.team AND r.id = w.run
LEFT JOIN sessions s ON s.team = w.team AND s.id = r.session
LEFT JOIN turns t ON t.team = w.team AND t.session = r.session
WHERE w.team = :team ORDER BY w.n DESC LIMIT :limit;

-- name: worker_card
-- One of them, evicted or not.
SELECT w.*, a.name, s.heartbeat_at, s.activity_at, s.tokens AS used, coalesce(t.phase, '') AS phase,
       coalesce(t.phase_at, 0) AS phase_at, r.n AS run_n, r.pid, r.started, r.terminal, r.exit_code,
       coalesce(r.reason, '') AS ending, r.input, r.output, r.cost, r.created_at AS run_at, r.ended_at AS run_ended,
       coalesce(r.session, '') AS session,
       coalesce(r.tail, '') AS tail,
       (SELECT q.created_at FROM questions q WHERE q.team = w.team AND q.worker = w.id AND q.state = 'open' LIMIT 1) AS asked_at
FROM workers w JOIN agents a ON a.team = w.team AND a.id = w.agent
LEFT JOIN runs r ON r.team = w.team AND r.id = w.run
LEFT JOIN sessions s ON s.team = w.team AND s.id = r.session
LEFT JOIN turns t ON t.team = w.team AND t.session = r.session
WHERE w.team = :team AND w.id = :id;

-- name: store_teams_with_workers
-- Teams that have a worker on this machine.
SELECT t.name FROM teams t WHERE EXISTS (
  SELECT 1 FROM workers w WHERE w.machine = :machine AND w.team = t.id AND w.state <> 'ended')
ORDER BY t.id;

-- name: workers_here
-- All of this machine that are not over, the oldest first, with what is needed to start, find and end them.
SELECT w.*, a.name, coalesce(r.n, 0) AS run_n, r.pid, coalesce(r.started, '') AS started, coalesce(r.boot, '') AS boot,
       coalesce(r.terminal, '{}') AS terminal, coalesce(r.session, '') AS session, coalesce(t.phase, '') AS phase,
       coalesce(t.transcript, '') AS transcript, coalesce(r.created_at, 0) AS run_at
FROM workers w JOIN agents a ON a.team = w.team AND a.id = w.agent
LEFT JOIN runs r ON r.team = w.team AND r.id = w.run AND r.ended_at IS NULL
LEFT JOIN turns t ON t.team = w.team AND t.session = r.session
WHERE w.team = :team AND w.machine = :machine AND w.state <> 'ended' ORDER BY w.n LIMIT :limit;

-- name: workers_active
-- How many of each kind are at work: those that have reported only keep their terminal.
SELECT w.kind, w.crew, count(*) AS times FROM workers w
WHERE w.team = :team AND w.state IN ('starting', 'running', 'stopping') AND w.report NOT IN ('done', 'failed')
GROUP BY w.kind, w.crew;

-- name: workers_queued
-- How many wait.
SELECT count(*) AS times FROM workers w WHERE w.team = :team AND w.state = 'queued';

-- name: begin_worker
-- Fence: it is begun once, by one.
UPDATE workers SET state = 'starting', run = :run, runs = runs + 1, owner = :owner, owned_to = :owned_to, nudged = 0,
  wish = '', wish_why = '', warned = ''
WHERE team = :team AND id = :id AND state = 'queued';

-- name: new_run
-- A run, before anything is started.
INSERT INTO runs (team, id, worker, n, token, boot, machine, created_at, at)
VALUES (:team, :id, :worker, :n, :token, :boot, :machine, :now, :at);

-- name: run
-- One run.
SELECT * FROM runs WHERE team = :team AND id = :id;

-- name: open_run_of
-- The run that this session is of, while it lasts.
SELECT id, worker FROM runs WHERE team = :team AND session = :session AND session <> '' AND ended_at IS NULL LIMIT 1;

-- name: runs_of_worker
-- Its runs, the newest first.
SELECT * FROM runs WHERE team = :team AND worker = :worker ORDER BY n DESC LIMIT :limit;

-- name: worker_runs
-- Fence: the process of the run that was begun last, once.
UPDATE workers SET state = 'running', tree = :tree, base = :base, owned_to = 0
WHERE team = :team AND id = :id AND run = :run AND state = 'starting';

-- name: run_started
-- Where it runs.
UPDATE runs SET pid = :pid, started = :started, terminal = :terminal, session = :session, model = :model
WHERE team = :team AND id = :id AND ended_at IS NULL;

-- name: run_used
-- What it has used so far: a late word takes nothing back.
UPDATE runs SET input = max(input, :input), output = max(output, :output),
  model = CASE WHEN :model = '' THEN model ELSE :model END
WHERE team = :team AND id = :id AND worker = :worker;

-- name: end_run
-- Fence: a run ends once.
UPDATE runs SET ended_at = :now, exit_code = :exit_code, reason = :reason, tail = :tail
WHERE team = :team AND id = :id AND ended_at IS NULL;

-- name: worker_ended
-- Fence: the run that was begun last is over.
UPDATE workers SET state = :state, crashes = :crashes, not_before = :not_before, wish = '', wish_why = '', wish_at = 0,
  ended_at = :ended_at, warned = '', owned_to = 0
WHERE team = :team AND id = :id AND run = :run AND state IN ('starting', 'running', 'stopping');

-- name: drop_queued
-- One that never began.
UPDATE workers SET state = 'ended', ended_at = :now, wish = '', wish_why = :why
WHERE team = :team AND id = :id AND state = 'queued';

-- name: wish_worker
-- What its keeper is to do with it.
UPDATE workers SET wish = :wish, wish_why = :why, wish_at = :now
WHERE team = :team AND id = :id AND state IN ('starting', 'running', 'stopping');

-- name: worker_stopping
-- It is being stopped.
UPDATE workers SET state = 'stopping' WHERE team = :team AND id = :id AND run = :run AND state = 'running';

-- name: queue_again
-- Started anew by hand.
UPDATE workers SET state = 'queued', report = '', outcome = '', summary = '', crashes = 0, not_before = 0, ended_at = NULL,
  reported_at = NULL, evicted_at = NULL, nudged = 0, wish = '', wish_why = ''
WHERE team = :team AND id = :id AND state = 'ended';

-- name: warn_worker
-- What was told of it, of this run, once.
UPDATE workers SET warned = :warned WHERE team = :team AND id = :id AND run = :run AND warned <> :warned;

-- name: worker_to_evict
-- Is there one that has been over for long, and is still shown?
SELECT id FROM workers
WHERE team = :team AND state = 'ended' AND ended_at <= :since AND evicted_at IS NULL AND machine = :machine LIMIT 1;

-- name: workers_to_evict
-- All of them.
SELECT w.*, a.name FROM workers w JOIN agents a ON a.team = w.team AND a.id = w.agent
WHERE w.team = :team AND w.state = 'ended' AND w.ended_at <= :since AND w.evicted_at IS NULL AND w.machine = :machine
ORDER BY w.ended_at LIMIT :limit;

-- name: evict_worker
-- No longer shown.
UPDATE workers SET evicted_at = :now WHERE team = :team AND id = :id AND state = 'ended' AND evicted_at IS NULL;

-- name: let_go_of_worker
-- Its keeper removes its files, and then the row.
UPDATE workers SET wish = 'delete', evicted_at = coalesce(evicted_at, :now)
WHERE team = :team AND id = :id AND state = 'ended';

-- name: keep_worker
-- Why its files are still there.
UPDATE workers SET extra = json_set(extra, '$.kept', :why), evicted_at = coalesce(evicted_at, :now)
WHERE team = :team AND id = :id AND state = 'ended' AND coalesce(json_extract(extra, '$.kept'), '') <> :why;

-- name: reclaim_tree
-- Its worktree goes: whoever starts it anew makes another, where the branch is then.
UPDATE workers SET tree = '', base = '' WHERE team = :team AND id = :id AND state = 'ended' AND tree <> '';

-- name: hold_files
-- Its files are taken away by this process: nothing is begun for it meanwhile.
UPDATE workers SET owner = :owner, owned_to = :until WHERE team = :team AND id = :id AND state = 'ended';

-- name: let_begin
-- They are.
UPDATE workers SET owned_to = 0
WHERE team = :team AND id = :id AND owner = :owner AND owned_to > 0 AND state IN ('ended', 'queued');

-- name: forget_tree
-- All it had is gone, and it waits to be begun.
UPDATE workers SET tree = '', base = '' WHERE team = :team AND id = :id AND state = 'queued' AND tree <> '';

-- name: delete_worker
-- Fence: only one that is over.
DELETE FROM workers WHERE team = :team AND id = :id AND state = 'ended';

-- name: keep_task_for
-- For this agent alone.
UPDATE tasks SET assignee = :agent, assigned_until = NULL
WHERE team = :team AND id = :id AND status IN ('pending', 'blocked');

-- name: beat_run
-- Its process runs, as whoever watches over it saw.
UPDATE sessions SET heartbeat_at = :now, activity_at = CASE WHEN :moved = 1 THEN :now ELSE activity_at END
WHERE team = :team AND id = :session AND ended_at IS NULL;

-- name: hand_on_task
-- From one run of a worker to the next: nobody holds it in between, and whatever the old one writes late is refused.
UPDATE tasks SET status = 'pending', epoch = epoch + 1, lease_until = NULL, holder = NULL, session = NULL
WHERE team = :team AND id = :id AND epoch = :epoch AND status = 'in_progress';
