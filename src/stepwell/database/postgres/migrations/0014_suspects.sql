-- Which run is to blame when workers die: the crashes of each run at its current step.
ALTER TABLE runs ADD COLUMN crash_log TEXT COLLATE "C"; -- JSON: worker, time and circumstances of each crash
ALTER TABLE runs ADD COLUMN suspect_group TEXT COLLATE "C"; -- suspects that are driven together
ALTER TABLE runs ADD COLUMN wait_s DOUBLE PRECISION NOT NULL DEFAULT 0.0; -- how long a worker lives before it takes this suspect
ALTER TABLE runs ADD COLUMN lived_s DOUBLE PRECISION NOT NULL DEFAULT 0.0; -- the longest that a worker lived with it at this step
ALTER TABLE workers ADD COLUMN since DOUBLE PRECISION NOT NULL DEFAULT 0.0; -- when it began to work
UPDATE runs SET crashes = 0, crash_mark = NULL WHERE crashes > 0;
