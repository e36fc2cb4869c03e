-- The stored definition of a team, and what its agents used.

-- name: team_terms
-- What the team has used, and what its stored definition says.
SELECT t.tokens, t.cost, t.unpriced, t.told, d.leader, d.strict, d.max_tokens, d.max_cost, d.agent_max_tokens, d.agent_max_cost,
       d.task_max_tokens, d.task_max_cost, d.hard_limit, d.warn_percent, a.name AS leader_name
FROM teams t LEFT JOIN definitions d ON d.team = t.id LEFT JOIN agents a ON a.team = t.id AND a.id = d.leader
WHERE t.id = :team;

-- name: keep_definition
-- The definition as a whole: what was not said before or now stays null.
INSERT INTO definitions (team, leader, strict, max_tokens, max_cost, agent_max_tokens, agent_max_cost, task_max_tokens,
                         task_max_cost, hard_limit, warn_percent)
VALUES (:team, :leader, :strict, :max_tokens, :max_cost, :agent_max_tokens, :agent_max_cost, :task_max_tokens,
        :task_max_cost, :hard_limit, :warn_percent)
ON CONFLICT (team) DO UPDATE SET leader = excluded.leader, strict = excluded.strict, max_tokens = excluded.max_tokens,
  max_cost = excluded.max_cost, agent_max_tokens = excluded.agent_max_tokens, agent_max_cost = excluded.agent_max_cost,
  task_max_tokens = excluded.task_max_tokens, task_max_cost = excluded.task_max_cost, hard_limit = excluded.hard_limit,
  warn_percent = excluded.warn_percent;

-- name: raise_flags
-- From now on there is something to look up.
UPDATE teams SET flags = flags | :flags WHERE id = :team;

-- name: agent_terms
-- What is said about an agent, and what it has used.
SELECT id, name, role, defined, model, max_tokens, max_cost, tokens, cost, told FROM agents WHERE team = :team AND id = :id;

-- name: define_agent
-- What the definition says about an agent.
UPDATE agents SET defined = :defined, role = :role, model = :model, max_tokens = :max_tokens, max_cost = :max_cost
WHERE team = :team AND id = :id;

-- name: team_agents
-- Everyone of the team with what was said about them and what they used.
SELECT a.id, a.name, a.role, a.defined, a.max_tokens, a.max_cost, a.tokens, a.cost,
       CASE WHEN a.model = '' THEN coalesce(s.model, '') ELSE a.model END AS model
FROM agents a LEFT JOIN sessions s ON s.team = a.team AND s.id = a.session WHERE a.team = :team ORDER BY a.id;

-- name: agents_that_used
-- Whoever used something or has a limit, the most first.
SELECT id, name, max_tokens, max_cost, tokens, cost FROM agents
WHERE team = :team AND (tokens > 0 OR max_tokens IS NOT NULL OR max_cost IS NOT NULL)
ORDER BY tokens DESC, name LIMIT :limit;

-- name: tasks_that_used
-- Tasks by what was used for them, the most first.
SELECT id, title, status, max_tokens, max_cost, tokens, cost FROM tasks
WHERE team = :team AND tokens > 0 ORDER BY tokens DESC, id LIMIT :limit;

-- name: task_terms
-- What a task may use and has used.
SELECT id, title, status, max_tokens, max_cost, tokens, cost, told FROM tasks WHERE team = :team AND id = :id;

-- name: tasks_held_by
-- What an agent works on, with what was used for it.
SELECT id, tokens, cost, max_tokens, max_cost FROM tasks
WHERE team = :team AND holder = :agent AND status = 'in_progress' AND lease_until > :now ORDER BY id LIMIT 100;

-- name: limit_task
-- How much a task may use.
UPDATE tasks SET max_tokens = :max_tokens, max_cost = :max_cost WHERE team = :team AND id = :id;

-- name: drop_group
-- A group is replaced as a whole.
DELETE FROM group_members WHERE team = :team AND key = :key;

-- name: add_group_member
-- Who belongs to a group by definition.
INSERT INTO group_members (team, key, agent, name) VALUES (:team, :key, :agent, :name);

-- name: stored_group
-- The members of one group.
SELECT a.name FROM group_members g JOIN agents a ON a.team = g.team AND a.id = g.agent
WHERE g.team = :team AND g.key = :key ORDER BY a.key;

-- name: stored_groups
-- Every group with its members.
SELECT g.name, a.name AS member FROM group_members g JOIN agents a ON a.team = g.team AND a.id = g.agent
WHERE g.team = :team ORDER BY g.key, a.key;

-- name: add_usage
-- What was reported, summed by who used it for what.
INSERT INTO usage (team, agent, task, model, input, output, cost, reports)
VALUES (:team, :agent, :task, :model, :input, :output, :cost, 1)
ON CONFLICT (team, agent, task, model) DO UPDATE SET input = usage.input + excluded.input,
  output = usage.output + excluded.output, cost = usage.cost + excluded.cost, reports = usage.reports + 1;

-- name: count_team_usage
-- The team's total.
UPDATE teams SET tokens = tokens + :tokens, cost = cost + :cost, unpriced = unpriced + :unpriced WHERE id = :team;

-- name: count_agent_usage
-- An agent's total.
UPDATE agents SET tokens = tokens + :tokens, cost = cost + :cost WHERE team = :team AND id = :id;

-- name: count_task_usage
-- A task's total.
UPDATE tasks SET tokens = tokens + :tokens, cost = cost + :cost WHERE team = :team AND id = :id;

-- name: tell_team
-- How far the leader was warned about the team's limit.
UPDATE teams SET told = :told WHERE id = :team;

-- name: tell_agent
-- How far the leader was warned about an agent's limit.
UPDATE agents SET told = :told WHERE team = :team AND id = :id;

-- name: tell_task
-- How far the leader was warned about a task's limit.
UPDATE tasks SET told = :told WHERE team = :team AND id = :id;

-- name: meter
-- What a meter showed last.
SELECT input, output FROM usage_meters WHERE team = :team AND agent = :agent AND meter = :meter;

-- name: read_meter
-- A reading; a meter never falls.
INSERT INTO usage_meters (team, agent, meter, input, output) VALUES (:team, :agent, :meter, :input, :output)
ON CONFLICT (team, agent, meter) DO UPDATE SET input = max(usage_meters.input, excluded.input),
  output = max(usage_meters.output, excluded.output);

-- name: usage_of_agent
-- What an agent used, by task and model.
SELECT a.name AS agent, u.task, u.model, u.input, u.output, u.cost, u.reports FROM usage u
JOIN agents a ON a.team = u.team AND a.id = u.agent
WHERE u.team = :team AND u.agent = :agent AND (:task = '' OR u.task = :task) ORDER BY u.input + u.output DESC LIMIT :limit;

-- name: usage_of_task
-- What was used for a task, by agent and model.
SELECT a.name AS agent, u.task, u.model, u.input, u.output, u.cost, u.reports FROM usage u
JOIN agents a ON a.team = u.team AND a.id = u.agent
WHERE u.team = :team AND u.task = :task ORDER BY u.input + u.output DESC LIMIT :limit;
