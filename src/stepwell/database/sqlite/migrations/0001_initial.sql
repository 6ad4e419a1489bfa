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
  expires_at       REAL                        -- to be erased from then on
);
-- JSON, as the last run left it. Separate from the thread's row, which is written with every event, because it may be large.
CREATE TABLE thread_values (
  thread_id TEXT PRIMARY KEY,
  "values"  BLOB NOT NULL
);
CREATE VIEW whole_threads AS SELECT t.*, v."values" FROM threads AS t LEFT JOIN thread_values AS v ON v.thread_id = t.thread_id;
CREATE INDEX threads_by_owner ON threads (owner, updated_at);
CREATE INDEX threads_expiring ON threads (expires_at) WHERE expires_at IS NOT NULL;

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
  finished_at        REAL
);
CREATE INDEX runs_of_thread ON runs (thread_id, number);
CREATE INDEX runs_open ON runs (status, due_at, number) WHERE status IN ('pending', 'running');
CREATE INDEX runs_of_owner ON runs (owner, status);

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
  PRIMARY KEY (thread_id, interrupt_id)
) WITHOUT ROWID;

CREATE TABLE events (
  thread_id  TEXT NOT NULL,
  seq        INTEGER NOT NULL,
  run_id     TEXT NOT NULL,
  event      TEXT NOT NULL,
  data       BLOB NOT NULL,
  created_at REAL NOT NULL,
  PRIMARY KEY (thread_id, seq)
);
CREATE INDEX events_of_run ON events (run_id, seq);

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

CREATE TABLE effects (
  thread_id  TEXT NOT NULL,
  key        TEXT NOT NULL,
  run_id     TEXT NOT NULL,
  state      TEXT NOT NULL,                   -- begun | done
  result     BLOB,
  created_at REAL NOT NULL,
  PRIMARY KEY (thread_id, key)
) WITHOUT ROWID;

-- What a research thread fetched, and what it did: see stepwell.research.audit.
CREATE TABLE evidence (
  thread_id TEXT NOT NULL,
  sha256    TEXT NOT NULL,
  content   BLOB NOT NULL,
  PRIMARY KEY (thread_id, sha256)
);
CREATE TABLE trail (
  thread_id TEXT NOT NULL,
  seq       INTEGER NOT NULL,
  key       TEXT NOT NULL,
  line      BLOB NOT NULL,                    -- the entry, as it was sealed
  PRIMARY KEY (thread_id, seq),
  UNIQUE (thread_id, key)
);

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
  revoked_at   REAL
) WITHOUT ROWID;
-- A signed-in browser. Only the hash of its cookie's value.
CREATE TABLE sessions (
  hash        TEXT PRIMARY KEY,
  owner       TEXT NOT NULL,
  is_operator INTEGER NOT NULL,
  key_id      TEXT,                           -- the key it was opened with; it ends with that
  expires_at  REAL NOT NULL
) WITHOUT ROWID;
-- A user on the way to an identity provider and back.
CREATE TABLE sign_ins (
  hash       TEXT PRIMARY KEY,
  state      TEXT NOT NULL,
  nonce      TEXT NOT NULL,
  verifier   TEXT NOT NULL,
  go_to      TEXT NOT NULL,
  expires_at REAL NOT NULL
) WITHOUT ROWID;
