-- Times are seconds since 1970 (REAL). JSON is text, except where it is only passed through (BLOB).
-- `owner` is in every table that a user's request can reach, so that the filter is part of the query.

CREATE TABLE assistants (
  assistant_id TEXT PRIMARY KEY,
  owner        TEXT NOT NULL,
  graph_id     TEXT NOT NULL,
  name         TEXT NOT NULL,
  description  TEXT,
  config       TEXT NOT NULL,
  context      TEXT NOT NULL,
  metadata     TEXT NOT NULL,
  version      INTEGER NOT NULL,
  created_at   REAL NOT NULL,
  updated_at   REAL NOT NULL
);
CREATE TABLE assistant_versions (
  assistant_id TEXT NOT NULL,
  version      INTEGER NOT NULL,
  graph_id     TEXT NOT NULL,
  name         TEXT NOT NULL,
  description  TEXT,
  config       TEXT NOT NULL,
  context      TEXT NOT NULL,
  metadata     TEXT NOT NULL,
  created_at   REAL NOT NULL,
  PRIMARY KEY (assistant_id, version)
) WITHOUT ROWID;

CREATE TABLE threads (
  thread_id        TEXT PRIMARY KEY,
  owner            TEXT NOT NULL,
  status           TEXT NOT NULL,
  metadata         TEXT NOT NULL,
  config           TEXT NOT NULL,
  interrupts       TEXT NOT NULL DEFAULT '[]',
  error            TEXT,
  created_at       REAL NOT NULL,
  updated_at       REAL NOT NULL,
  state_updated_at REAL,
  last_seq         INTEGER NOT NULL DEFAULT 0, -- the number of the newest event
  fence            INTEGER NOT NULL DEFAULT 0, -- raised by every claim
  lease_holder     TEXT,                       -- worker that drives the thread now
  lease_run        TEXT,                       -- the run it drives, or what it holds the thread for
  temporary        INTEGER NOT NULL DEFAULT 0, -- the thread of a stateless run: not listed
  expires_at       REAL,                       -- to be erased from then on
  -- Prefix of the thread's effect keys: generated when the thread is first driven, and shared with its copies. It identifies nobody, so a
  -- key may be sent to an external service, and may outlive the thread.
  origin           TEXT,
  -- Its oldest run that is waiting and due, by its number. A claim reads these and not all waiting runs: ten thousand of them behind one
  -- busy thread are one row.
  next_run         INTEGER,
  tenant           TEXT NOT NULL DEFAULT ''    -- that of its newest run
);
-- JSON, as the last run left it. Separate from the thread's row, which is written with every event, because it may be large.
CREATE TABLE thread_values (
  thread_id TEXT PRIMARY KEY,
  "values"  BLOB NOT NULL,
  document  INTEGER                            -- if it names a document, the values are there
);
CREATE INDEX threads_by_owner ON threads (owner, updated_at);
CREATE INDEX threads_expiring ON threads (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX threads_of_origin ON threads (origin);
CREATE INDEX threads_waiting ON threads (next_run) WHERE next_run IS NOT NULL AND lease_run IS NULL;
CREATE INDEX threads_waiting_by_tenant ON threads (tenant, next_run) WHERE next_run IS NOT NULL AND lease_run IS NULL;
-- Holders that have a thread now.
CREATE INDEX threads_leased ON threads (lease_holder) WHERE lease_run IS NOT NULL;

CREATE TABLE runs (
  number             INTEGER PRIMARY KEY AUTOINCREMENT, -- order of admission
  run_id             TEXT NOT NULL UNIQUE,
  thread_id          TEXT NOT NULL,
  owner              TEXT NOT NULL,
  assistant_id       TEXT NOT NULL,
  status             TEXT NOT NULL,
  request            TEXT NOT NULL,
  metadata           TEXT NOT NULL,
  multitask_strategy TEXT NOT NULL,
  attempt            INTEGER NOT NULL DEFAULT 0,
  due_at             REAL NOT NULL,
  resumes            TEXT,
  cancel_action      TEXT,
  cancel_reason      TEXT,
  error              TEXT,
  result             BLOB,                       -- final values as JSON, for a run that journals no values
  crashes            INTEGER NOT NULL DEFAULT 0, -- in a row, without a new checkpoint in between
  crash_mark         TEXT,                       -- its newest checkpoint at the last crash
  created_at         REAL NOT NULL,
  updated_at         REAL NOT NULL,
  started_at         REAL,
  finished_at        REAL,
  later              INTEGER NOT NULL DEFAULT 0, -- not due yet; reset by the first claim after its time, so that claims compare no times
  result_document    INTEGER,                    -- if it names a document, the result is there
  tenant             TEXT NOT NULL DEFAULT '',   -- the first part of its root; without a root, its owner
  crash_log          TEXT,                       -- JSON: worker, time and circumstances of each crash at the current step
  suspect_group      TEXT,                       -- suspects that are driven together
  wait_s             REAL NOT NULL DEFAULT 0.0,  -- how long a worker lives before it takes this suspect
  lived_s            REAL NOT NULL DEFAULT 0.0   -- the longest that a worker lived with it at this step
);
CREATE INDEX runs_of_thread ON runs (thread_id, number);
CREATE INDEX runs_of_owner ON runs (owner, status);
-- SQLite uses a partial index only if the query repeats the index's own condition, word for word.
CREATE INDEX runs_open ON runs (thread_id, status, later, number) WHERE status IN ('pending', 'running');
CREATE INDEX runs_under_way ON runs (number) WHERE status = 'running';
CREATE INDEX runs_later ON runs (due_at) WHERE status = 'pending' AND later = 1;
CREATE INDEX runs_suspect ON runs (status) WHERE crashes > 1;
-- Which runs continued after an answer.
CREATE INDEX runs_resuming ON runs (resumes) WHERE resumes IS NOT NULL;
CREATE INDEX runs_of_tenant ON runs (tenant) WHERE status IN ('pending', 'running');

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

CREATE TABLE interrupts (
  thread_id       TEXT NOT NULL,
  interrupt_id    TEXT NOT NULL,
  ordinal         INTEGER NOT NULL,           -- the order in which a thread's questions were first seen
  state           TEXT NOT NULL,              -- pending | answered | dropped
  value           TEXT NOT NULL,
  namespace       TEXT NOT NULL,
  task_id         TEXT NOT NULL,
  response_schema TEXT,
  asked_by        TEXT NOT NULL,
  answer_hash     TEXT,
  answered_by     TEXT,                       -- the run that took the answer
  owner           TEXT,
  asker           TEXT,                       -- the subagent that asks; null: the agent itself
  created_at      REAL,
  -- The device that is about to carry out what the interrupt asks, so that never two do.
  claim_id        TEXT,                       -- null: nobody's
  claim_device    TEXT,
  claim_expires_at REAL,                      -- from then on it binds nobody
  shown_at        REAL,                       -- since when it has been shown to a user who may answer it; null: not yet, as far as known
  PRIMARY KEY (thread_id, interrupt_id)
) WITHOUT ROWID;
CREATE INDEX interrupts_waiting ON interrupts (owner, created_at, thread_id, ordinal) WHERE state = 'pending';

CREATE TABLE events (
  thread_id  TEXT NOT NULL,
  seq        INTEGER NOT NULL,
  run_id     TEXT NOT NULL,
  event      TEXT NOT NULL,
  data       BLOB NOT NULL,
  created_at REAL NOT NULL,
  -- If it names a document, `data` is empty, or says which part of the document is used and what replaces the rest.
  document   INTEGER,
  PRIMARY KEY (thread_id, seq)
);
CREATE INDEX events_of_run ON events (run_id, seq);
-- JSON that a thread writes again and again, stored as its changes: see stepwell.database.documents.book.
CREATE TABLE documents (
  thread_id TEXT NOT NULL,
  number    INTEGER NOT NULL,
  base      INTEGER,                          -- the document that it changes; null: it is whole
  changes   BLOB NOT NULL,
  PRIMARY KEY (thread_id, number)
);

CREATE TABLE checkpoints (
  thread_id            TEXT NOT NULL,
  checkpoint_ns        TEXT NOT NULL,
  checkpoint_id        TEXT NOT NULL,
  parent_checkpoint_id TEXT,
  run_id               TEXT NOT NULL,
  type                 TEXT NOT NULL,
  checkpoint           BLOB NOT NULL,
  metadata             BLOB NOT NULL,
  created_at           REAL NOT NULL,
  PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id)
);
CREATE INDEX checkpoints_of_run ON checkpoints (thread_id, run_id);
CREATE TABLE writes (
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
  PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);
CREATE INDEX writes_of_run ON writes (thread_id, run_id);
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

CREATE TABLE store_items (
  owner       TEXT NOT NULL,
  namespace   TEXT NOT NULL,                  -- labels joined by U+001F, with one at the end, so that a prefix is a range
  key         TEXT NOT NULL,
  value       TEXT NOT NULL,
  created_at  REAL NOT NULL,
  updated_at  REAL NOT NULL,
  ttl_minutes REAL,
  expires_at  REAL,
  PRIMARY KEY (owner, namespace, key)
) WITHOUT ROWID;
CREATE INDEX store_items_expiring ON store_items (expires_at) WHERE expires_at IS NOT NULL;

-- Begun effects are remembered when a run is rolled back, when a thread is copied, and when it is deleted.
CREATE TABLE effects (
  origin     TEXT NOT NULL,                   -- of the thread
  key        TEXT NOT NULL,
  run_id     TEXT NOT NULL,
  state      TEXT NOT NULL,                   -- begun | done | not_done
  result     BLOB,
  created_at REAL NOT NULL,
  thread_id  TEXT,                            -- on which it began; null once that is deleted
  tool       TEXT NOT NULL DEFAULT '',
  arguments  TEXT NOT NULL DEFAULT '',        -- a fingerprint
  taken_back INTEGER NOT NULL DEFAULT 0,      -- its run was rolled back, and no thread tells of it
  note       TEXT,                            -- of the person who settled it
  settled_at REAL,
  settled_by TEXT,
  PRIMARY KEY (origin, key)
) WITHOUT ROWID;
CREATE INDEX effects_of_thread ON effects (thread_id);
CREATE INDEX effects_open ON effects (created_at) WHERE state = 'begun' OR taken_back;

-- What ran when, kept as long as the thread, whatever happens to its events.
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

-- Without the thread in the key: the totals outlive the thread, its id does not.
CREATE TABLE usage (
  run_id        TEXT NOT NULL,
  thread_id     TEXT,
  owner         TEXT NOT NULL,
  model         TEXT NOT NULL,
  calls         INTEGER NOT NULL,
  input_tokens  INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost_usd      REAL,
  finished_at   REAL NOT NULL,
  PRIMARY KEY (run_id, model)
) WITHOUT ROWID;
CREATE INDEX usage_of_owner ON usage (owner, finished_at);
CREATE INDEX usage_of_thread ON usage (thread_id) WHERE thread_id IS NOT NULL;

CREATE TABLE webhooks (
  run_id     TEXT PRIMARY KEY,
  owner      TEXT NOT NULL,
  url        TEXT NOT NULL,
  body       BLOB NOT NULL,
  attempts   INTEGER NOT NULL DEFAULT 0,
  due_at     REAL NOT NULL,
  state      TEXT NOT NULL                    -- due | delivered | refused | given_up
) WITHOUT ROWID;
CREATE INDEX webhooks_due ON webhooks (due_at) WHERE state = 'due';

CREATE TABLE api_keys (
  key_id       TEXT PRIMARY KEY,
  owner        TEXT NOT NULL,
  name         TEXT NOT NULL,
  hash         TEXT NOT NULL UNIQUE,
  is_operator  INTEGER NOT NULL DEFAULT 0,
  created_at   REAL NOT NULL,
  expires_at   REAL,
  revoked_at   REAL,
  -- JSON arrays of roots, `/company/workspace/`, to which it gives access.
  roots        TEXT NOT NULL DEFAULT '[]',
  read_roots   TEXT NOT NULL DEFAULT '[]'
) WITHOUT ROWID;
-- A signed-in browser. Only the hash of its cookie's value.
CREATE TABLE sessions (
  hash        TEXT PRIMARY KEY,
  owner       TEXT NOT NULL,
  is_operator INTEGER NOT NULL,
  key_id      TEXT,                           -- the key it was opened with; it ends with that
  expires_at  REAL NOT NULL,
  roots       TEXT NOT NULL DEFAULT '[]',     -- as those of a key
  read_roots  TEXT NOT NULL DEFAULT '[]'
) WITHOUT ROWID;
CREATE INDEX sessions_expiring ON sessions (expires_at);
-- A user on the way to an identity provider and back.
CREATE TABLE sign_ins (
  hash       TEXT PRIMARY KEY,
  state      TEXT NOT NULL,
  nonce      TEXT NOT NULL,
  verifier   TEXT NOT NULL,
  go_to      TEXT NOT NULL,
  expires_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX sign_ins_expiring ON sign_ins (expires_at);

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

-- Leases last as long as their holder sends heartbeats: each worker, and each server that holds threads, sends one now and then.
CREATE TABLE workers (
  worker      TEXT PRIMARY KEY,
  alive_until REAL NOT NULL,                   -- from then on its leases may be taken over
  since       REAL NOT NULL DEFAULT 0.0        -- when it began to work
) WITHOUT ROWID;

-- What the servers of one installation share besides threads and runs. Here one process has the file to itself and counts in memory,
-- so all but `installation` stay empty.
CREATE TABLE processes (
  process     TEXT PRIMARY KEY,
  capacity    INTEGER NOT NULL,                -- how many runs it drives at once; 0: it takes none
  hears       TEXT NOT NULL,                   -- by what it hears of events: 'postgres' or 'redis'
  alive_until REAL NOT NULL                    -- from then on it counts for nothing
) WITHOUT ROWID;
CREATE TABLE open_streams (
  owner   TEXT NOT NULL,
  process TEXT NOT NULL,
  streams INTEGER NOT NULL,
  PRIMARY KEY (owner, process)
) WITHOUT ROWID;
-- What is limited per time window: wrong keys from an address, requests about a tenant's files.
CREATE TABLE occurrences (
  name   TEXT PRIMARY KEY,
  ends   REAL NOT NULL,                        -- when it is counted anew
  number INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX occurrences_ends ON occurrences (ends);
-- Facts about the installation as a whole.
CREATE TABLE installation (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

-- What a caller's own key for a request (`Idempotency-Key`) has started, so that a repeat returns the same and starts nothing.
CREATE TABLE request_keys (
  owner       TEXT NOT NULL,
  key         TEXT NOT NULL,
  fingerprint TEXT NOT NULL,                   -- of the request that came first
  made        TEXT NOT NULL,                   -- JSON: ids of the runs or of the thread
  created_at  REAL NOT NULL,
  PRIMARY KEY (owner, key)
);
CREATE INDEX request_keys_age ON request_keys (created_at);

-- The newest form of each product's tables: see stepwell.database.tables.
CREATE TABLE product_forms (
  product TEXT PRIMARY KEY,
  number  INTEGER NOT NULL
) WITHOUT ROWID;
