-- Messages that were sent to a run while it works. The columns are explained in the SQLite schema.
CREATE TABLE steering (
  thread_id TEXT COLLATE "C" NOT NULL,
  message_id TEXT COLLATE "C" NOT NULL,
  run_id TEXT COLLATE "C" NOT NULL,
  number BIGINT NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  content TEXT COLLATE "C",
  digest TEXT COLLATE "C" NOT NULL,
  created_at DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (thread_id, message_id)
);
ALTER TABLE runs ADD COLUMN steered BIGINT NOT NULL DEFAULT 0;
ALTER TABLE threads ADD COLUMN held_messages BIGINT NOT NULL DEFAULT 0;

CREATE FUNCTION run_is_steered() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('stepwell', 'steer ' || NEW.run_id);
  RETURN NULL;
END $$;
CREATE TRIGGER run_is_steered AFTER UPDATE OF steered ON runs FOR EACH ROW
WHEN (NEW.steered > OLD.steered AND NEW.status = 'running') EXECUTE FUNCTION run_is_steered();
