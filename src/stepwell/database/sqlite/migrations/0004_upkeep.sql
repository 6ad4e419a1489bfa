-- Whatever happens per run, per step or per event finds its rows by an index, however much is stored.

-- Statistics gathered by earlier versions when they closed a file. Plans follow from the schema alone now; statistics of a nearly empty
-- file would lead to reading whole tables.
DROP TABLE IF EXISTS sqlite_stat1;
DROP TABLE IF EXISTS sqlite_stat4;

-- Not due yet. Reset by the first claim after its time has come, so that claims need not compare times with all waiting runs.
ALTER TABLE runs ADD COLUMN later INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET later = 1 WHERE status = 'pending' AND due_at > 0;
-- The thread's oldest run that is waiting and due, by its number. A claim reads these and not all waiting runs: ten thousand of them
-- behind one busy thread are one row.
ALTER TABLE threads ADD COLUMN next_run INTEGER;

DROP INDEX runs_open;
-- SQLite uses a partial index only if the query repeats the index's own condition, word for word.
CREATE INDEX runs_open ON runs (thread_id, status, later, number) WHERE status IN ('pending', 'running');
CREATE INDEX runs_under_way ON runs (number) WHERE status = 'running';
CREATE INDEX runs_later ON runs (due_at) WHERE status = 'pending' AND later = 1;
CREATE INDEX runs_suspect ON runs (status) WHERE crashes > 1;
UPDATE threads SET next_run = (
  SELECT MIN(number) FROM runs WHERE runs.thread_id = threads.thread_id AND status IN ('pending', 'running')
    AND status = 'pending' AND later = 0);
CREATE INDEX threads_waiting ON threads (next_run) WHERE next_run IS NOT NULL AND lease_run IS NULL;
CREATE INDEX usage_of_thread ON usage (thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX sessions_expiring ON sessions (expires_at);
CREATE INDEX sign_ins_expiring ON sign_ins (expires_at);

-- `next_run` is maintained here and not in the code, so that code that changes a run's status cannot forget it.
CREATE TRIGGER run_comes_in AFTER INSERT ON runs WHEN NEW.status = 'pending' AND NEW.later = 0
BEGIN
  UPDATE threads SET next_run = MIN(COALESCE(next_run, NEW.number), NEW.number) WHERE thread_id = NEW.thread_id;
END;
CREATE TRIGGER run_changes AFTER UPDATE OF status, later ON runs
WHEN (OLD.status = 'pending' OR NEW.status = 'pending') AND (OLD.status <> NEW.status OR OLD.later <> NEW.later)
BEGIN
  UPDATE threads SET next_run = (
    SELECT MIN(number) FROM runs WHERE thread_id = NEW.thread_id AND status IN ('pending', 'running')
      AND status = 'pending' AND later = 0)
  WHERE thread_id = NEW.thread_id;
END;
CREATE TRIGGER run_goes AFTER DELETE ON runs WHEN OLD.status = 'pending'
BEGIN
  UPDATE threads SET next_run = (
    SELECT MIN(number) FROM runs WHERE thread_id = OLD.thread_id AND status IN ('pending', 'running')
      AND status = 'pending' AND later = 0)
  WHERE thread_id = OLD.thread_id;
END;

-- Deleted threads whose rows are still being removed, a few at a time.
CREATE TABLE erasing (
  thread_id TEXT PRIMARY KEY,
  temporary INTEGER NOT NULL                   -- the thread of a stateless run: what is to be told of it is still told
) WITHOUT ROWID;
-- Runs whose row could not be read: the original row, for inspection. The run itself has ended with an error.
CREATE TABLE unreadable_runs (
  run_id    TEXT PRIMARY KEY,
  thread_id TEXT NOT NULL,
  reason    TEXT NOT NULL,
  request,
  metadata,
  found_at  REAL NOT NULL
);
CREATE INDEX unreadable_runs_of_thread ON unreadable_runs (thread_id);
