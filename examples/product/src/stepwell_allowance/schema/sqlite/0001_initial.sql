CREATE TABLE allowances (
  owner       TEXT PRIMARY KEY,
  daily_limit INTEGER NOT NULL,
  day         TEXT NOT NULL,     -- the day that `started` counts, such as 2026-01-31 (UTC)
  started     INTEGER NOT NULL
);
