-- Background tasks: a subagent that works on a thread of its own. `threads.temporary` of such a thread is 2, so it is not listed.
CREATE TABLE background_tasks (
  task_id TEXT COLLATE "C" PRIMARY KEY, -- also the id of its thread
  parent_thread_id TEXT COLLATE "C" NOT NULL,
  owner TEXT COLLATE "C" NOT NULL,
  agent_name TEXT COLLATE "C" NOT NULL,
  description TEXT COLLATE "C" NOT NULL,
  run_id TEXT COLLATE "C" NOT NULL, -- its newest run
  task TEXT COLLATE "C" NOT NULL, -- JSON: what each of its runs has to know (`RunRequest.background`)
  created_at DOUBLE PRECISION NOT NULL,
  updated_at DOUBLE PRECISION NOT NULL
);
CREATE INDEX background_tasks_of_parent ON background_tasks (parent_thread_id, created_at);

-- A run of a task that has ended, and the run on the parent's thread that tells so: there is one, or none.
CREATE TABLE background_wakes (
  run_id TEXT COLLATE "C" PRIMARY KEY,
  wake_run TEXT COLLATE "C" NOT NULL UNIQUE,
  task_id TEXT COLLATE "C" NOT NULL,
  parent_thread_id TEXT COLLATE "C" NOT NULL
);
CREATE INDEX background_wakes_of_parent ON background_wakes (parent_thread_id);
CREATE INDEX background_wakes_of_task ON background_wakes (task_id);

-- A run that tells a parent about a task must not take the thread past a question that waits for a person. It becomes due when the last
-- question is answered or dropped, whatever the way.
CREATE FUNCTION questions_are_settled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE runs SET due_at = 0, later = 0
  WHERE thread_id = NEW.thread_id AND status = 'pending' AND later = 1
    AND run_id IN (SELECT wake_run FROM background_wakes WHERE parent_thread_id = NEW.thread_id);
  RETURN NULL;
END $$;
CREATE TRIGGER questions_are_settled AFTER UPDATE OF interrupts ON threads FOR EACH ROW
WHEN (OLD.interrupts <> '[]' AND NEW.interrupts = '[]') EXECUTE FUNCTION questions_are_settled();
