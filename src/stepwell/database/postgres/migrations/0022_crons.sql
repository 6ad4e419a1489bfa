-- Runs on a schedule. A cron's slots are the moments at which it starts a run.
CREATE TABLE crons (
  cron_id TEXT COLLATE "C" PRIMARY KEY,
  owner TEXT COLLATE "C" NOT NULL,
  assistant_id TEXT COLLATE "C" NOT NULL,
  thread_id TEXT COLLATE "C", -- its runs' thread; NULL: each run has a new one
  schedule TEXT COLLATE "C" NOT NULL,
  timezone TEXT COLLATE "C", -- NULL: UTC
  end_time DOUBLE PRECISION,
  enabled BIGINT NOT NULL,
  run_order TEXT COLLATE "C" NOT NULL, -- JSON: what its runs are asked to do
  metadata TEXT COLLATE "C" NOT NULL,
  access TEXT COLLATE "C" NOT NULL, -- JSON: how its owner had signed in, which decides what its runs may use
  since DOUBLE PRECISION NOT NULL, -- slots up to this moment are settled
  next_run DOUBLE PRECISION, -- the next slot; NULL: there is none
  ended_because TEXT COLLATE "C", -- a sentence, if it was ended for its owner
  revision BIGINT NOT NULL DEFAULT 0, -- raised by every change
  created_at DOUBLE PRECISION NOT NULL,
  updated_at DOUBLE PRECISION NOT NULL
);
CREATE INDEX crons_due ON crons (next_run) WHERE next_run IS NOT NULL;
CREATE INDEX crons_by_owner ON crons (owner, created_at);
CREATE INDEX crons_of_thread ON crons (thread_id) WHERE thread_id IS NOT NULL;

-- What became of a slot. It is stored in the transaction that admits the slot's run, so a slot cannot start two.
CREATE TABLE cron_slots (
  cron_id TEXT COLLATE "C" NOT NULL,
  slot DOUBLE PRECISION NOT NULL,
  state TEXT COLLATE "C" NOT NULL, -- fired, missed or refused
  last_slot DOUBLE PRECISION, -- if the row stands for all slots from `slot` to this one
  run_id TEXT COLLATE "C",
  thread_id TEXT COLLATE "C",
  note TEXT COLLATE "C",
  noted_at DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (cron_id, slot)
);
CREATE INDEX cron_slots_of_thread ON cron_slots (thread_id) WHERE thread_id IS NOT NULL;

CREATE FUNCTION thread_takes_its_crons() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM crons WHERE thread_id = OLD.thread_id;
  UPDATE cron_slots SET run_id = NULL, thread_id = NULL WHERE thread_id = OLD.thread_id;
  RETURN NULL;
END $$;
CREATE TRIGGER thread_takes_its_crons AFTER DELETE ON threads FOR EACH ROW EXECUTE FUNCTION thread_takes_its_crons();
CREATE FUNCTION cron_takes_its_slots() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM cron_slots WHERE cron_id = OLD.cron_id;
  RETURN NULL;
END $$;
CREATE TRIGGER cron_takes_its_slots AFTER DELETE ON crons FOR EACH ROW EXECUTE FUNCTION cron_takes_its_slots();

-- The process that starts scheduled runs sleeps until the next slot. A change by another process wakes it.
CREATE FUNCTION cron_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('stepwell', 'crons');
  RETURN NULL;
END $$;
CREATE TRIGGER cron_changes AFTER INSERT OR UPDATE OF next_run ON crons FOR EACH ROW WHEN (NEW.next_run IS NOT NULL)
EXECUTE FUNCTION cron_changes();
