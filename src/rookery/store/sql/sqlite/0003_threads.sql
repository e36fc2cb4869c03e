-- Discussions with a name, participants and the tasks they are about. What is said in them is mail.

CREATE TABLE threads (
  team       INTEGER NOT NULL,
  n          INTEGER NOT NULL,
  id         TEXT    NOT NULL,                -- thread-0001
  title      TEXT    NOT NULL,
  created_by INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (team, n),
  UNIQUE (team, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE thread_members (
  team   INTEGER NOT NULL,
  thread TEXT    NOT NULL,
  agent  INTEGER NOT NULL,
  PRIMARY KEY (team, thread, agent)
) STRICT, WITHOUT ROWID;

CREATE TABLE thread_tasks (
  team   INTEGER NOT NULL,
  thread TEXT    NOT NULL,
  task   TEXT    NOT NULL,
  PRIMARY KEY (team, thread, task)
) STRICT, WITHOUT ROWID;
CREATE INDEX thread_tasks_task ON thread_tasks (team, task);
