-- A task's question, answer and error are replaced when it asks, receives or fails again. Until the run that did so has ended, the
-- previous rows are kept here, so that rolling the run back restores them.
CREATE TABLE replaced_writes (
  thread_id     TEXT NOT NULL,
  checkpoint_ns TEXT NOT NULL,
  checkpoint_id TEXT NOT NULL,
  task_id       TEXT NOT NULL,
  idx           INTEGER NOT NULL,
  task_path     TEXT NOT NULL,
  channel       TEXT NOT NULL,
  run_id        TEXT NOT NULL,
  type          TEXT NOT NULL,
  value         BLOB NOT NULL,
  replaced_by   TEXT NOT NULL,                -- the run that is under way
  PRIMARY KEY (thread_id, replaced_by, checkpoint_ns, checkpoint_id, task_id, idx)
);
