-- The docket: what needs a person, versions of results, decisions, debt and rules.

-- name: new_review_item
-- Something needs a person or an owner.
INSERT INTO review_items (team, id, kind, ref, title, detail, asked_by, asked_of, subject, worker, rank, risk, otherwise,
  created_at, at)
VALUES (:team, :id, :kind, :ref, :title, :detail, :asked_by, :asked_of, :subject, :worker, :rank, :risk, :otherwise, :now, :at);

-- name: close_review_items
-- What was asked about something is settled.
UPDATE review_items SET state = 'resolved', closed_at = :now WHERE team = :team AND ref = :ref AND state = 'open';

-- name: close_review_item
-- It was settled.
UPDATE review_items SET state = 'resolved', closed_at = :now WHERE team = :team AND id = :item AND state = 'open';

-- name: close_subject
-- What was asked about exactly this is settled.
UPDATE review_items SET state = 'resolved', closed_at = :now
WHERE team = :team AND subject = :subject AND subject <> '' AND state = 'open';

-- name: close_failures_of
-- A worker goes on, or is gone: that it failed asks nothing any more.
UPDATE review_items SET state = 'resolved', closed_at = :now
WHERE team = :team AND worker = :worker AND worker <> '' AND rank IN (20, 30) AND state = 'open';

-- name: item_of_subject
-- What is or was asked about exactly this; the newest.
SELECT i.*, a.name AS asker, o.name AS decider FROM review_items i
LEFT JOIN agents a ON a.team = i.team AND a.id = i.asked_by LEFT JOIN agents o ON o.team = i.team AND o.id = i.asked_of
WHERE i.team = :team AND i.subject = :subject AND i.subject <> '' ORDER BY i.state = 'open' DESC, i.created_at DESC LIMIT 1;

-- name: item
-- One of them.
SELECT i.*, a.name AS asker, o.name AS decider FROM review_items i
LEFT JOIN agents a ON a.team = i.team AND a.id = i.asked_by LEFT JOIN agents o ON o.team = i.team AND o.id = i.asked_of
WHERE i.team = :team AND i.id = :id;

-- name: items_of_worker
-- What is asked about a worker now, what comes first first.
SELECT i.*, a.name AS asker, o.name AS decider FROM review_items i
LEFT JOIN agents a ON a.team = i.team AND a.id = i.asked_by LEFT JOIN agents o ON o.team = i.team AND o.id = i.asked_of
WHERE i.team = :team AND i.worker = :worker AND i.worker <> '' AND i.state = 'open'
ORDER BY i.pinned DESC, i.rank, i.risk DESC, i.created_at, i.id LIMIT :limit;

-- name: docket_open
-- The queue: of one who is asked, or of all.
SELECT i.*, a.name AS asker, o.name AS decider FROM review_items i
LEFT JOIN agents a ON a.team = i.team AND a.id = i.asked_by LEFT JOIN agents o ON o.team = i.team AND o.id = i.asked_of
WHERE i.team = :team AND i.state = 'open' AND (:of = 0 OR i.asked_of = :of)
ORDER BY i.pinned DESC, i.rank, i.risk DESC, i.created_at, i.id LIMIT :limit;

-- name: docket_counted
-- How many wait, by what they are.
SELECT rank, count(*) AS times, sum(asked_of = :of) AS mine FROM review_items
WHERE team = :team AND state = 'open' GROUP BY rank;

-- name: pin_item
-- Before all others, or no longer.
UPDATE review_items SET pinned = :pinned WHERE team = :team AND id = :id AND state = 'open' AND pinned <> :pinned;

-- name: questions_counted
-- How many questions a worker has asked.
SELECT count(*) AS times FROM questions WHERE team = :team AND worker = :worker;

-- name: question_of_item
-- The question that an item is about.
SELECT q.id FROM questions q WHERE q.team = :team AND q.worker = :worker AND q.item = :item LIMIT 1;

-- name: new_deliverable
-- The next version of a worker's result; the number is taken by the statement that writes it.
INSERT INTO deliverables (team, worker, version, task, epoch, run, agent, outcome, summary, change, head, evidence, checks,
  provenance, digest, state, file, created_at, at)
VALUES (:team, :worker, :version, :task, :epoch, :run, :agent, :outcome, :summary, :change, :head, :evidence, :checks,
  :provenance, :digest, 'open', :file, :now, :at);

-- name: last_version
-- The newest version of a worker's result.
SELECT version FROM deliverables WHERE team = :team AND worker = :worker ORDER BY version DESC LIMIT 1;

-- name: deliverable
-- One version, with whose it is.
SELECT d.*, a.name AS author FROM deliverables d LEFT JOIN agents a ON a.team = d.team AND a.id = d.agent
WHERE d.team = :team AND d.worker = :worker AND d.version = :version;

-- name: deliverables_of_worker
-- The newest first.
SELECT d.*, a.name AS author FROM deliverables d LEFT JOIN agents a ON a.team = d.team AND a.id = d.agent
WHERE d.team = :team AND d.worker = :worker ORDER BY d.version DESC LIMIT :limit;

-- name: deliverables_of_task
-- Of every worker that had it, the newest first.
SELECT d.*, a.name AS author FROM deliverables d LEFT JOIN agents a ON a.team = d.team AND a.id = d.agent
WHERE d.team = :team AND d.task = :task AND d.task <> '' ORDER BY d.created_at DESC LIMIT :limit;

-- name: deliverables
-- Of all, the newest first.
SELECT d.*, a.name AS author FROM deliverables d LEFT JOIN agents a ON a.team = d.team AND a.id = d.agent
WHERE d.team = :team ORDER BY d.created_at DESC LIMIT :limit;

-- name: settle_deliverable
-- Fence: what a version came to is said once.
UPDATE deliverables SET state = :state, decided_at = :now
WHERE team = :team AND worker = :worker AND version = :version AND state = 'open';

-- name: open_deliverable_of_change
-- The version that a change set is of, while nobody has decided about it.
SELECT worker, version FROM deliverables
WHERE team = :team AND change = :change AND change <> '' AND state = 'open' ORDER BY version DESC LIMIT 1;

-- name: open_deliverables_of_task
-- Versions for a task that nobody has decided about.
SELECT d.*, a.name AS author FROM deliverables d LEFT JOIN agents a ON a.team = d.team AND a.id = d.agent
WHERE d.team = :team AND d.task = :task AND d.task <> '' AND d.state = 'open';

-- name: test_runs_of
-- The test runs that were recorded of a run of a worker, the newest first.
SELECT n, id, ref, title, data, failed FROM evidence
WHERE team = :team AND worker = :worker AND worker <> '' AND kind = 'test' AND told = 0 AND run = :run
ORDER BY n DESC LIMIT :limit;

-- name: edited_after
-- Something that was changed by a worker, and when it last was.
SELECT max(n) AS n FROM evidence
WHERE team = :team AND worker = :worker AND worker <> '' AND kind = 'edit' AND run = :run;

-- name: evidence_lines_of
-- What happened last in a run of a worker: what failed first.
SELECT id, kind, title, failed, at FROM evidence
WHERE team = :team AND worker = :worker AND worker <> '' AND run = :run ORDER BY failed DESC, n DESC LIMIT :limit;

-- name: judged_worker
-- Somebody decided about it.
UPDATE workers SET seen_at = :now WHERE team = :team AND id = :id AND seen_at = 0;

-- name: used_by_worker
-- What all its runs took.
SELECT count(*) AS runs, coalesce(sum(input), 0) AS input, coalesce(sum(output), 0) AS output, min(created_at) AS since,
       max(coalesce(ended_at, :now)) AS until
FROM runs WHERE team = :team AND worker = :worker;

-- name: landed_since
-- How often its branch has moved by landings since a change set was made.
SELECT count(*) AS times FROM landings
WHERE team = :team AND root = :root AND branch = :branch AND state = 'landed' AND landed_at >= :since AND change <> :change;

-- name: last_landing_of_change
-- How a change set landed, or did not; the newest.
SELECT id, state, reason, branch, log FROM landings WHERE team = :team AND change = :change ORDER BY n DESC LIMIT 1;

-- name: new_decision
-- What was decided.
INSERT INTO decisions (team, n, id, verb, actor, rule, subject, item, worker, task, head, choice, said, risk, evidence,
  effect, waited_ms, created_at, at)
VALUES (:team, :n, :id, :verb, :actor, :rule, :subject, :item, :worker, :task, :head, :choice, :said, :risk, :evidence,
  :effect, :waited_ms, :now, :at);

-- name: last_decision_of
-- The last word about exactly this.
SELECT d.*, a.name AS by FROM decisions d LEFT JOIN agents a ON a.team = d.team AND a.id = d.actor
WHERE d.team = :team AND d.subject = :subject ORDER BY d.n DESC LIMIT 1;

-- name: decisions
-- The newest first.
SELECT d.*, a.name AS by FROM decisions d LEFT JOIN agents a ON a.team = d.team AND a.id = d.actor
WHERE d.team = :team AND d.created_at >= :since AND d.n > :after ORDER BY d.n DESC LIMIT :limit;

-- name: decisions_in_order
-- The oldest first, from a number on: for an export.
SELECT d.*, a.name AS by FROM decisions d LEFT JOIN agents a ON a.team = d.team AND a.id = d.actor
WHERE d.team = :team AND d.n > :after AND d.created_at >= :since ORDER BY d.n LIMIT :limit;

-- name: decisions_of_worker
-- About one worker, the newest first.
SELECT d.*, a.name AS by FROM decisions d LEFT JOIN agents a ON a.team = d.team AND a.id = d.actor
WHERE d.team = :team AND d.worker = :worker AND d.worker <> '' ORDER BY d.n DESC LIMIT :limit;

-- name: decisions_counted
-- By what was decided, by whom and by which rule.
SELECT d.verb, a.name AS by, d.rule, d.risk, count(*) AS times, sum(d.waited_ms) AS waited, max(d.waited_ms) AS longest
FROM decisions d LEFT JOIN agents a ON a.team = d.team AND a.id = d.actor
WHERE d.team = :team AND d.created_at >= :since GROUP BY d.verb, a.name, d.rule, d.risk;

-- name: waits_before_decisions
-- How long each was waited for.
SELECT waited_ms FROM decisions WHERE team = :team AND created_at >= :since ORDER BY waited_ms LIMIT :limit;

-- name: owe
-- A result that nobody judged while its worker was there.
INSERT INTO debt (team, worker, version, task, summary, created_at, at)
VALUES (:team, :worker, :version, :task, :summary, :now, :at) ON CONFLICT DO NOTHING;

-- name: paid
-- Somebody looked after all.
DELETE FROM debt WHERE team = :team AND worker = :worker;

-- name: debts
-- The oldest first.
SELECT worker, version, task, summary, created_at, at FROM debt WHERE team = :team ORDER BY created_at LIMIT :limit;

-- name: debt_counted
-- How much is owed.
SELECT count(*) AS times, min(created_at) AS oldest FROM debt WHERE team = :team;

-- name: put_rule
-- A policy, or what it says from now on.
INSERT INTO rules (team, name, position, matches, verdict, active, set_by, at)
VALUES (:team, :name, (SELECT coalesce(max(position), 0) + 1 FROM rules WHERE team = :team), :matches, :verdict, 1, :by, :at)
ON CONFLICT (team, name) DO UPDATE SET matches = :matches, verdict = :verdict, active = 1, set_by = :by, at = :at;

-- name: rules
-- In the order in which they are asked.
SELECT r.*, a.name AS by FROM rules r LEFT JOIN agents a ON a.team = r.team AND a.id = r.set_by
WHERE r.team = :team ORDER BY r.position;

-- name: drop_rule
-- It decides no more.
DELETE FROM rules WHERE team = :team AND name = :name;

-- name: discarded_last
-- Whether what a worker delivered last was thrown away.
SELECT d.version FROM deliverables d WHERE d.team = :team AND d.worker = :worker AND d.state = 'discarded'
  AND d.version = (SELECT max(e.version) FROM deliverables e WHERE e.team = :team AND e.worker = :worker);

-- name: unasked_results
-- What waits for a review of a plan and is before nobody; with how many were asked to review it.
SELECT d.*, a.name AS author,
       (SELECT count(*) FROM workers v WHERE v.team = k.team AND v.task = k.id AND v.task <> '' AND v.role = 'review'
          AND v.judges = k.epoch) AS reviews
FROM tasks k JOIN deliverables d ON d.team = k.team AND d.task = k.id AND d.task <> '' AND d.state = 'open'
LEFT JOIN agents a ON a.team = d.team AND a.id = d.agent
WHERE k.team = :team AND k.plan = :plan AND k.review = 'pending' AND k.status = 'completed'
  AND NOT EXISTS (SELECT 1 FROM review_items i WHERE i.team = d.team AND i.subject = d.worker || '/' || d.version
    AND i.subject <> '' AND i.state = 'open');
