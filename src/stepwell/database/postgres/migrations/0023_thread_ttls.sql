-- How long a thread lives without being used, if its owner has said so.
CREATE TABLE thread_ttls (
  thread_id TEXT COLLATE "C" PRIMARY KEY,
  strategy TEXT COLLATE "C" NOT NULL, -- delete, or keep_latest: only its history goes
  minutes DOUBLE PRECISION NOT NULL,
  set_at DOUBLE PRECISION NOT NULL,
  look_at DOUBLE PRECISION NOT NULL -- it does not expire before; a use of the thread does not change this
);
CREATE INDEX thread_ttls_by_time ON thread_ttls (look_at);
CREATE FUNCTION thread_takes_its_ttl() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM thread_ttls WHERE thread_id = OLD.thread_id;
  RETURN NULL;
END $$;
CREATE TRIGGER thread_takes_its_ttl AFTER DELETE ON threads FOR EACH ROW EXECUTE FUNCTION thread_takes_its_ttl();

-- Since when a rule of the server holds: it does not concern older threads.
CREATE TABLE retention_rules (
  name TEXT COLLATE "C" PRIMARY KEY,
  since DOUBLE PRECISION NOT NULL
);
