-- How long a thread lives without being used, if its owner has said so.
CREATE TABLE thread_ttls (
  thread_id TEXT PRIMARY KEY,
  strategy  TEXT NOT NULL,                     -- delete, or keep_latest: only its history goes
  minutes   REAL NOT NULL,
  set_at    REAL NOT NULL,
  look_at   REAL NOT NULL                      -- it does not expire before; a use of the thread does not change this
) WITHOUT ROWID;
CREATE INDEX thread_ttls_by_time ON thread_ttls (look_at);
CREATE TRIGGER thread_takes_its_ttl AFTER DELETE ON threads
BEGIN
  DELETE FROM thread_ttls WHERE thread_id = OLD.thread_id;
END;

-- Since when a rule of the server holds: it does not concern older threads.
CREATE TABLE retention_rules (
  name  TEXT PRIMARY KEY,
  since REAL NOT NULL
) WITHOUT ROWID;
