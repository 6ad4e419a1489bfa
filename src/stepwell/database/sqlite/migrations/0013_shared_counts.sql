-- What the servers of one installation share besides threads and runs. Here one process has the file to itself and counts in memory,
-- so all but `installation` stay empty.
CREATE TABLE processes (
  process     TEXT PRIMARY KEY,
  capacity    INTEGER NOT NULL,                -- how many runs it drives at once; 0: it takes none
  hears       TEXT NOT NULL,                   -- by what it hears of events: 'postgres' or 'redis'
  alive_until REAL NOT NULL                    -- from then on it counts for nothing
) WITHOUT ROWID;
CREATE TABLE open_streams (
  owner   TEXT NOT NULL,
  process TEXT NOT NULL,
  streams INTEGER NOT NULL,
  PRIMARY KEY (owner, process)
) WITHOUT ROWID;
-- What is limited per time window: wrong keys from an address, requests about a tenant's files.
CREATE TABLE occurrences (
  name   TEXT PRIMARY KEY,
  ends   REAL NOT NULL,                        -- when it is counted anew
  number INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX occurrences_ends ON occurrences (ends);
-- Facts about the installation as a whole.
CREATE TABLE installation (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;
