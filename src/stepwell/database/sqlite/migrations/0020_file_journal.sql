-- What was changed in files outside of the thread, so that turns can be taken back (ADR 0047). Copied with the thread, deleted with it.
CREATE TABLE file_journal (
  thread_id     TEXT NOT NULL,
  number        INTEGER NOT NULL,             -- in the order in which it happened, on whatever branch
  kind          TEXT NOT NULL,                -- turn | change | note
  name          TEXT NOT NULL,                -- a turn's id, a path, a tool
  checkpoint_id TEXT NOT NULL DEFAULT '',     -- in which a turn began; of a rewind: the newest one before it
  before_hash   TEXT NOT NULL DEFAULT '',     -- '': there was no file
  after_hash    TEXT NOT NULL DEFAULT '',
  detail        TEXT NOT NULL DEFAULT '',
  run_id        TEXT NOT NULL,
  created_at    REAL NOT NULL,
  PRIMARY KEY (thread_id, number)
) WITHOUT ROWID;

CREATE TABLE file_images (
  thread_id TEXT NOT NULL,
  hash      TEXT NOT NULL,                    -- SHA-256 of the content
  content   BLOB NOT NULL,
  PRIMARY KEY (thread_id, hash)
);
