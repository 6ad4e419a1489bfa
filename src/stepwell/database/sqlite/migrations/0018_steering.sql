-- Messages that were sent to a run while it works.
CREATE TABLE steering (
  thread_id  TEXT NOT NULL,
  message_id TEXT NOT NULL,
  run_id     TEXT NOT NULL,              -- the run that gets the message; the next one if its run has ended
  number     INTEGER NOT NULL,           -- the order in which a thread's messages came
  state      TEXT NOT NULL,              -- waiting | given: to a model call that is not stored | taken: in the thread | enqueued: input of a run
  content    TEXT,                       -- JSON; null once the thread or the run has it
  digest     TEXT NOT NULL,              -- of the content, by which a repeated message is recognised
  created_at REAL NOT NULL,
  PRIMARY KEY (thread_id, message_id)
) WITHOUT ROWID;
-- How many messages were ever sent to a run, so that a run without any needs no look at the table.
ALTER TABLE runs ADD COLUMN steered INTEGER NOT NULL DEFAULT 0;
-- How many messages wait on a thread whose run paused before it took them: the next run takes them.
ALTER TABLE threads ADD COLUMN held_messages INTEGER NOT NULL DEFAULT 0;
