-- Runs on a schedule. A cron's slots are the moments at which it starts a run.
CREATE TABLE crons (
  cron_id       TEXT PRIMARY KEY,
  owner         TEXT NOT NULL,
  assistant_id  TEXT NOT NULL,
  thread_id     TEXT,                          -- its runs' thread; NULL: each run has a new one
  schedule      TEXT NOT NULL,
  timezone      TEXT,                          -- NULL: UTC
  end_time      REAL,
  enabled       INTEGER NOT NULL,
  run_order     TEXT NOT NULL,                 -- JSON: what its runs are asked to do
  metadata      TEXT NOT NULL,
  access        TEXT NOT NULL,                 -- JSON: how its owner had signed in, which decides what its runs may use
  since         REAL NOT NULL,                 -- slots up to this moment are settled
  next_run      REAL,                          -- the next slot; NULL: there is none
  ended_because TEXT,                          -- a sentence, if it was ended for its owner
  revision      INTEGER NOT NULL DEFAULT 0,    -- raised by every change
  created_at    REAL NOT NULL,
  updated_at    REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX crons_due ON crons (next_run) WHERE next_run IS NOT NULL;
CREATE INDEX crons_by_owner ON crons (owner, created_at);
CREATE INDEX crons_of_thread ON crons (thread_id) WHERE thread_id IS NOT NULL;

-- What became of a slot. It is stored in the transaction that admits the slot's run, so a slot cannot start two.
CREATE TABLE cron_slots (
  cron_id   TEXT NOT NULL,
  slot      REAL NOT NULL,
  state     TEXT NOT NULL,                     -- fired, missed or refused
  last_slot REAL,                              -- if the row stands for all slots from `slot` to this one
  run_id    TEXT,
  thread_id TEXT,
  note      TEXT,
  noted_at  REAL NOT NULL,
  PRIMARY KEY (cron_id, slot)
) WITHOUT ROWID;
CREATE INDEX cron_slots_of_thread ON cron_slots (thread_id) WHERE thread_id IS NOT NULL;

CREATE TRIGGER thread_takes_its_crons AFTER DELETE ON threads
BEGIN
  DELETE FROM crons WHERE thread_id = OLD.thread_id;
  UPDATE cron_slots SET run_id = NULL, thread_id = NULL WHERE thread_id = OLD.thread_id;
END;
CREATE TRIGGER cron_takes_its_slots AFTER DELETE ON crons
BEGIN
  DELETE FROM cron_slots WHERE cron_id = OLD.cron_id;
END;
