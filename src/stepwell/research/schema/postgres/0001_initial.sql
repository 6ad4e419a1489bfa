CREATE TABLE evidence (
  thread_id TEXT COLLATE "C" NOT NULL,
  sha256 TEXT COLLATE "C" NOT NULL,
  content BYTEA NOT NULL,
  PRIMARY KEY (thread_id, sha256)
);

CREATE TABLE trail (
  thread_id TEXT COLLATE "C" NOT NULL,
  seq BIGINT NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  line BYTEA NOT NULL,
  PRIMARY KEY (thread_id, seq),
  UNIQUE (thread_id, key)
);
