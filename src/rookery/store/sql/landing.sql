-- Change sets, and the merge queue.

-- name: new_change
-- What a worktree held when its worker reported.
INSERT INTO changes (team, id, n, worker, task, epoch, base, head, branch, files, paths, added, removed, patch, created_at, at)
VALUES (:team, :id, :n, :worker, :task, :epoch, :base, :head, :branch, :files, :paths, :added, :removed, :patch, :now, :at);

-- name: change_of_head
-- The same commit by the same worker, reported before.
SELECT id, task, epoch FROM changes WHERE team = :team AND worker = :worker AND head = :head ORDER BY n DESC LIMIT 1;

-- name: change_again
-- Reported once more, under another claim or branch.
UPDATE changes SET task = :task, epoch = :epoch, branch = :branch WHERE team = :team AND id = :id;

-- name: change
-- One of them, with whose work it is.
SELECT c.*, w.agent, w.machine, w.root, w.crew, a.name AS author, t.title, t.status, t.review, t.epoch AS task_epoch
FROM changes c LEFT JOIN workers w ON w.team = c.team AND w.id = c.worker
LEFT JOIN agents a ON a.team = w.team AND a.id = w.agent LEFT JOIN tasks t ON t.team = c.team AND t.id = c.task
WHERE c.team = :team AND c.id = :id;

-- name: changes
-- Newest first.
SELECT c.*, a.name AS author, t.title FROM changes c LEFT JOIN workers w ON w.team = c.team AND w.id = c.worker
LEFT JOIN agents a ON a.team = w.team AND a.id = w.agent LEFT JOIN tasks t ON t.team = c.team AND t.id = c.task
WHERE c.team = :team ORDER BY c.n DESC LIMIT :limit;

-- name: changes_of_task
-- The same for one task.
SELECT c.*, a.name AS author, t.title FROM changes c LEFT JOIN workers w ON w.team = c.team AND w.id = c.worker
LEFT JOIN agents a ON a.team = w.team AND a.id = w.agent LEFT JOIN tasks t ON t.team = c.team AND t.id = c.task
WHERE c.team = :team AND c.task = :task AND c.task <> '' ORDER BY c.n DESC LIMIT :limit;

-- name: changes_of_worker
-- The same for one worker.
SELECT c.*, a.name AS author, t.title FROM changes c LEFT JOIN workers w ON w.team = c.team AND w.id = c.worker
LEFT JOIN agents a ON a.team = w.team AND a.id = w.agent LEFT JOIN tasks t ON t.team = c.team AND t.id = c.task
WHERE c.team = :team AND c.worker = :worker ORDER BY c.n DESC LIMIT :limit;

-- name: note_checks
-- What was run on it.
UPDATE changes SET checks = :checks WHERE team = :team AND id = :id;

-- name: crew_terms
-- What a crew was told about landing.
SELECT terms FROM crews WHERE team = :team AND id = :id;

-- name: new_landing
-- At the end of the line.
INSERT INTO landings (team, id, n, change, task, worker, machine, root, branch, head, state, asked_by, created_at, at)
VALUES (:team, :id, :n, :change, :task, :worker, :machine, :root, :branch, :head, 'queued', :asked_by, :now, :at);

-- name: landing
-- One of them, with its change and whose work it is.
SELECT l.*, c.base, c.files, c.paths, c.added, c.removed, c.patch, c.epoch, c.checks, w.agent, w.crew, a.name AS author, t.title, t.status, t.epoch AS task_epoch, t.plan, b.name AS asker
FROM landings l JOIN changes c ON c.team = l.team AND c.id = l.change
LEFT JOIN workers w ON w.team = l.team AND w.id = l.worker LEFT JOIN agents a ON a.team = w.team AND a.id = w.agent
LEFT JOIN tasks t ON t.team = l.team AND t.id = l.task AND l.task <> '' LEFT JOIN agents b ON b.team = l.team AND b.id = l.asked_by
WHERE l.team = :team AND l.id = :id;

-- name: landing_of_change
-- The one that counts.
SELECT id, state FROM landings WHERE team = :team AND change = :change AND state NOT IN ('undone', 'dropped');

-- name: landings_of_task
-- All that was to land of a task.
SELECT state, head FROM landings WHERE team = :team AND task = :task AND task <> '' ORDER BY n;

-- name: landings
-- Newest first.
SELECT l.*, a.name AS author, t.title, b.name AS asker FROM landings l
LEFT JOIN workers w ON w.team = l.team AND w.id = l.worker LEFT JOIN agents a ON a.team = w.team AND a.id = w.agent
LEFT JOIN tasks t ON t.team = l.team AND t.id = l.task AND l.task <> '' LEFT JOIN agents b ON b.team = l.team AND b.id = l.asked_by
WHERE l.team = :team AND (:state = '' OR l.state = :state) ORDER BY l.n DESC LIMIT :limit;

-- name: open_landings
-- The line of a machine, oldest first.
SELECT l.*, w.crew FROM landings l LEFT JOIN workers w ON w.team = l.team AND w.id = l.worker
WHERE l.team = :team AND l.state IN ('queued', 'working', 'undoing') AND l.machine = :machine ORDER BY l.n LIMIT :limit;

-- name: store_teams_landing
-- Teams in which something waits to land on this machine.
SELECT t.name FROM teams t WHERE EXISTS (
  SELECT 1 FROM landings l WHERE l.machine = :machine AND l.team = t.id AND l.state IN ('queued', 'working', 'undoing'))
ORDER BY t.id;

-- name: take_landing
-- Begun, or begun anew, by whoever has it now.
UPDATE landings SET state = 'working', step = 'merging', owner = :owner, owned_to = :until, expected = '', result = '', reason = '',
  tries = tries + 1 WHERE team = :team AND id = :id AND state IN ('queued', 'working');

-- name: own_landing
-- Gone on with where another left it.
UPDATE landings SET owner = :owner, owned_to = :until WHERE team = :team AND id = :id AND state IN ('working', 'undoing');

-- name: keep_landing
-- Fence: only whoever has it keeps it.
UPDATE landings SET owned_to = :until, step = CASE WHEN :step <> '' THEN :step ELSE step END
WHERE team = :team AND id = :id AND owner = :owner AND state IN ('working', 'undoing');

-- name: moving_landing
-- Fence: written before the branch moves, by whoever has it.
UPDATE landings SET step = 'moving', expected = :expected, result = :result, reason = '', owned_to = :until
WHERE team = :team AND id = :id AND owner = :owner AND state = 'working';

-- name: moving_undo
-- Fence: the commit that takes it back, written before the branch moves.
UPDATE landings SET step = 'moving', undo = :result, reason = '', owned_to = :until
WHERE team = :team AND id = :id AND owner = :owner AND state = 'undoing';

-- name: landing_waits
-- Fence: everything is ready, but the branch can not be moved yet.
UPDATE landings SET reason = :reason, told = :told, owned_to = :until
WHERE team = :team AND id = :id AND owner = :owner AND state IN ('working', 'undoing');

-- name: landing_again
-- Fence: back into the line.
UPDATE landings SET state = CASE WHEN state = 'undoing' THEN 'undoing' ELSE 'queued' END, step = '', owner = '', owned_to = 0,
  expected = CASE WHEN state = 'undoing' THEN expected ELSE '' END, result = CASE WHEN state = 'undoing' THEN result ELSE '' END,
  undo = '', reason = :reason, told = :told, not_before = :not_before
WHERE team = :team AND id = :id AND owner = :owner AND state IN ('working', 'undoing');

-- name: landing_later
-- Fence: nobody could say what became of the move; whoever has it next looks.
UPDATE landings SET told = :told, not_before = :not_before, owner = '', owned_to = 0
WHERE team = :team AND id = :id AND owner = :owner AND step = 'moving' AND state IN ('working', 'undoing');

-- name: landing_landed
-- Fence: it is on the branch, once.
UPDATE landings SET state = 'landed', step = '', owner = '', owned_to = 0, reason = :reason, landed_at = :at
WHERE team = :team AND id = :id AND owner = :owner AND state = 'working' AND step = 'moving';

-- name: landing_undone
-- Fence: it was taken back, once.
UPDATE landings SET state = 'undone', step = '', owner = '', owned_to = 0, reason = ''
WHERE team = :team AND id = :id AND owner = :owner AND state = 'undoing' AND step = 'moving';

-- name: landing_failed
-- Fence: it can not land as it is; or, of one that was to be taken back, it stays.
UPDATE landings SET state = CASE WHEN state = 'undoing' THEN 'landed' ELSE 'failed' END, step = '', owner = '', owned_to = 0,
  undo = '', reason = :reason
WHERE team = :team AND id = :id AND owner = :owner AND state IN ('working', 'undoing');

-- name: landing_log
-- What the check said.
UPDATE landings SET log = :log WHERE team = :team AND id = :id;

-- name: requeue_landing
-- Tried again, by hand or because its work was reported again.
UPDATE landings SET state = 'queued', step = '', reason = '', told = '', expected = '', result = '', not_before = 0, branch = :branch
WHERE team = :team AND id = :id AND state IN ('failed', 'queued');

-- name: drop_landing
-- Taken out of the line.
UPDATE landings SET state = 'dropped', step = '', owner = '', owned_to = 0, reason = :reason
WHERE team = :team AND id = :id AND (state IN ('queued', 'failed') OR (state = 'working' AND (step <> 'moving' OR reason <> '')));

-- name: undo_landing
-- To be taken back.
UPDATE landings SET state = 'undoing', step = '', undo = '', reason = '', told = '', not_before = 0, owner = '', owned_to = 0, asked_by = :asked_by
WHERE team = :team AND id = :id AND state = 'landed';

-- name: plan_lands
-- Work of a plan is on its way to the branch. Looks at what is open, which is little.
SELECT l.id FROM landings l JOIN tasks t ON t.team = l.team AND t.id = l.task
WHERE l.team = :team AND l.state IN ('queued', 'working') AND l.task <> '' AND t.plan = :plan LIMIT 1;

-- name: task_landed
-- What had been sent back landed after all, before anyone began anew.
UPDATE tasks SET status = 'completed', ended = :at, why = '', assigned_until = NULL,
  assignee = CASE WHEN assigned_until IS NULL THEN assignee END,
  review = CASE WHEN review = 'wanted' THEN 'SHIP' ELSE review END
WHERE team = :team AND id = :id AND status IN ('pending', 'blocked');

-- name: landings_of_change
-- What became of a change set so far.
SELECT state FROM landings WHERE team = :team AND change = :change;
