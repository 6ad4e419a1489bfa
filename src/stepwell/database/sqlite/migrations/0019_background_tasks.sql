-- Background tasks: a subagent that works on a thread of its own. `threads.temporary` of such a thread is 2, so it is not listed.
CREATE TABLE background_tasks (
  task_id          TEXT PRIMARY KEY,           -- also the id of its thread
  parent_thread_id TEXT NOT NULL,
  owner            TEXT NOT NULL,
  agent_name       TEXT NOT NULL,
  description      TEXT NOT NULL,
  run_id           TEXT NOT NULL,              -- its newest run
  task             TEXT NOT NULL,              -- JSON: what each of its runs has to know (`RunRequest.background`)
  created_at       REAL NOT NULL,
  updated_at       REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX background_tasks_of_parent ON background_tasks (parent_thread_id, created_at);

-- A run of a task that has ended, and the run on the parent's thread that tells so: there is one, or none.
CREATE TABLE background_wakes (
  run_id           TEXT PRIMARY KEY,
  wake_run         TEXT NOT NULL UNIQUE,
  task_id          TEXT NOT NULL,
  parent_thread_id TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX background_wakes_of_parent ON background_wakes (parent_thread_id);
CREATE INDEX background_wakes_of_task ON background_wakes (task_id);

-- A run that tells a parent about a task must not take the thread past a question that waits for a person. It becomes due when the last
-- question is answered or dropped, whatever the way. The first condition on the status is the one of the index `runs_open`, which SQLite
-- uses only if it is repeated; without it, all runs that the thread has ever had are searched.
CREATE TRIGGER questions_are_settled AFTER UPDATE OF interrupts ON threads WHEN OLD.interrupts <> '[]' AND NEW.interrupts = '[]'
BEGIN
  UPDATE runs SET due_at = 0, later = 0
  WHERE thread_id = NEW.thread_id AND status IN ('pending', 'running') AND status = 'pending' AND later = 1
    AND run_id IN (SELECT wake_run FROM background_wakes WHERE parent_thread_id = NEW.thread_id);
END;
