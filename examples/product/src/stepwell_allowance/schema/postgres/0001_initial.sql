CREATE TABLE allowances (
  owner       TEXT COLLATE "C" PRIMARY KEY,
  daily_limit BIGINT NOT NULL,
  day         TEXT COLLATE "C" NOT NULL,     -- the day that `started` counts, such as 2026-01-31 (UTC)
  started     BIGINT NOT NULL
);
