-- What workers say of their work: boards, questions, reports.

-- name: set_board
-- Its list of steps, as it says it now.
UPDATE workers SET board = :board WHERE team = :team AND id = :id AND board <> :board;

-- name: set_report
-- Fence: a report that was settled stays, and the run that says it is the one that was begun last.
UPDATE workers SET report = :report WHERE team = :team AND id = :id AND run = :run AND report NOT IN ('done', 'failed');

-- name: settle_report
-- Fence: the last word about a task, once.
UPDATE workers SET report = :report, outcome = :outcome, summary = :summary, reported_at = :now
WHERE team = :team AND id = :id AND run = :run AND report NOT IN ('done', 'failed');

-- name: reopen_report
-- Its work came back, and it goes on with it.
UPDATE workers SET report = '', outcome = '', summary = '', reported_at = NULL, nudged = 0, seen_at = 0
WHERE team = :team AND id = :id AND report IN ('done', 'failed');

-- name: open_plan_gate
-- Its plan was agreed to.
UPDATE workers SET plan_ok = 1 WHERE team = :team AND id = :id;

-- name: nudged
-- It was told that it ended its turn without a word.
UPDATE workers SET nudged = 1 WHERE team = :team AND id = :id AND nudged = 0;

-- name: new_question
-- What a worker asks.
INSERT INTO questions (team, id, worker, kind, question, risk, options, advice, asked_of, item, created_at, at)
VALUES (:team, :id, :worker, :kind, :question, :risk, :options, :advice, :asked_of, :item, :now, :at);

-- name: question
-- One question, with who asked, who is asked, and who answered.
SELECT q.*, a.name AS asker, a.id AS asker_id, o.name AS decider, b.name AS answerer, w.run, w.report, w.asked_by, w.parent,
       w.task, w.state AS worker_state
FROM questions q LEFT JOIN workers w ON w.team = q.team AND w.id = q.worker
LEFT JOIN agents a ON a.team = w.team AND a.id = w.agent
LEFT JOIN agents o ON o.team = q.team AND o.id = q.asked_of
LEFT JOIN agents b ON b.team = q.team AND b.id = q.answered_by
WHERE q.team = :team AND q.id = :id;

-- name: open_questions_of
-- What a worker waits for, the oldest first.
SELECT id, kind, question, item FROM questions
WHERE team = :team AND worker = :worker AND state = 'open' ORDER BY created_at;

-- name: questions_open
-- What waits for an answer, the oldest first.
SELECT q.*, a.name AS asker, o.name AS decider, b.name AS answerer, w.task
FROM questions q LEFT JOIN workers w ON w.team = q.team AND w.id = q.worker
LEFT JOIN agents a ON a.team = w.team AND a.id = w.agent
LEFT JOIN agents o ON o.team = q.team AND o.id = q.asked_of
LEFT JOIN agents b ON b.team = q.team AND b.id = q.answered_by
WHERE q.team = :team AND q.state = 'open' ORDER BY q.created_at LIMIT :limit;

-- name: questions_of_worker
-- Everything a worker asked, the newest first.
SELECT q.*, a.name AS asker, o.name AS decider, b.name AS answerer, w.task
FROM questions q LEFT JOIN workers w ON w.team = q.team AND w.id = q.worker
LEFT JOIN agents a ON a.team = w.team AND a.id = w.agent
LEFT JOIN agents o ON o.team = q.team AND o.id = q.asked_of
LEFT JOIN agents b ON b.team = q.team AND b.id = q.answered_by
WHERE q.team = :team AND q.worker = :worker ORDER BY q.created_at DESC LIMIT :limit;

-- name: answer_question
-- Fence: a question is answered once, while it is open.
UPDATE questions SET state = 'answered', answer = :answer, choice = :choice, approved = :approved, answered_by = :by,
  answered_at = :now
WHERE team = :team AND id = :id AND state = 'open';

-- name: withdraw_question
-- Nobody waits for it any more.
UPDATE questions SET state = 'withdrawn', answer = :why, answered_at = :now
WHERE team = :team AND id = :id AND state = 'open';

-- name: working_child
-- A worker of this one that has not reported yet.
SELECT id FROM workers WHERE team = :team AND parent = :parent AND parent <> '' AND state <> 'ended'
  AND report NOT IN ('done', 'failed') LIMIT 1;
