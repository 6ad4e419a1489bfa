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
