-- What ran when, kept as long as the thread, whatever happens to its events; and what waits, over all threads of a user.

CREATE TABLE steps (
  thread_id     TEXT NOT NULL,
  number        INTEGER NOT NULL,             -- in the order in which they ended
  run_id        TEXT NOT NULL,
  kind          TEXT NOT NULL,                -- node | model | tool | agent
  name          TEXT NOT NULL,
  node          TEXT,                         -- of the graph, in which it ran
  agent         TEXT,                         -- the subagent in which it ran; null: the agent itself
  namespace     TEXT NOT NULL,
  call_id       TEXT,                         -- of a tool's or subagent's call
  started_at    REAL NOT NULL,
  seconds       REAL NOT NULL,
  status        TEXT NOT NULL,                -- success | error | interrupted
  error         TEXT,
  input_tokens  INTEGER,
  output_tokens INTEGER,
  cost_usd      REAL,
  PRIMARY KEY (thread_id, number)
);
CREATE INDEX steps_of_run ON steps (run_id, number);

ALTER TABLE interrupts ADD COLUMN owner TEXT;
ALTER TABLE interrupts ADD COLUMN asker TEXT;      -- the subagent that asks; null: the agent itself
ALTER TABLE interrupts ADD COLUMN created_at REAL; -- null: asked before this was kept
UPDATE interrupts SET owner = (SELECT owner FROM threads WHERE threads.thread_id = interrupts.thread_id);
CREATE INDEX interrupts_waiting ON interrupts (owner, created_at, thread_id, ordinal) WHERE state = 'pending';

-- Which runs continued after an answer.
CREATE INDEX runs_resuming ON runs (resumes) WHERE resumes IS NOT NULL;
