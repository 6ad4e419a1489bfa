-- Leases last as long as their holder is heard of: each worker, and each server that holds threads, says now and then that it lives.
CREATE TABLE workers (
  worker      TEXT PRIMARY KEY,
  alive_until REAL NOT NULL                    -- from then on its leases may be taken over
) WITHOUT ROWID;
-- Those who have a thread now.
CREATE INDEX threads_leased ON threads (lease_holder) WHERE lease_run IS NOT NULL;
