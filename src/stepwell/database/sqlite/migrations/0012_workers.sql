-- Leases last as long as their holder sends heartbeats: each worker, and each server that holds threads, sends one now and then.
CREATE TABLE workers (
  worker      TEXT PRIMARY KEY,
  alive_until REAL NOT NULL                    -- from then on its leases may be taken over
) WITHOUT ROWID;
-- Holders that have a thread now.
CREATE INDEX threads_leased ON threads (lease_holder) WHERE lease_run IS NOT NULL;
