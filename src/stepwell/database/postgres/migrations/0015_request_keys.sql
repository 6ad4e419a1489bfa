-- What a caller's own key for a request (`Idempotency-Key`) has started, so that a repeat returns the same and starts nothing.
CREATE TABLE request_keys (
  owner TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  fingerprint TEXT COLLATE "C" NOT NULL, -- of the request that came first
  made TEXT COLLATE "C" NOT NULL, -- JSON: ids of the runs or of the thread
  created_at DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (owner, key)
);
CREATE INDEX request_keys_age ON request_keys (created_at);
