-- What was changed in files outside of the thread, so that turns can be taken back (ADR 0047). Copied with the thread, deleted with it.
CREATE TABLE file_journal (
  thread_id TEXT COLLATE "C" NOT NULL,
  number BIGINT NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  checkpoint_id TEXT COLLATE "C" NOT NULL DEFAULT '',
  before_hash TEXT COLLATE "C" NOT NULL DEFAULT '',
  after_hash TEXT COLLATE "C" NOT NULL DEFAULT '',
  detail TEXT COLLATE "C" NOT NULL DEFAULT '',
  run_id TEXT COLLATE "C" NOT NULL,
  created_at DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (thread_id, number)
);

CREATE TABLE file_images (
  thread_id TEXT COLLATE "C" NOT NULL,
  hash TEXT COLLATE "C" NOT NULL,
  content BYTEA NOT NULL,
  PRIMARY KEY (thread_id, hash)
);
