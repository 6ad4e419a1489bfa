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
