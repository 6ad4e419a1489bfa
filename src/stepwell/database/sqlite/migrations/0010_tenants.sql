-- Which workspaces a key gives access to, and whose turn it is when more runs wait than can be driven.

-- JSON arrays of roots, `/company/workspace/`.
ALTER TABLE api_keys ADD COLUMN roots TEXT NOT NULL DEFAULT '[]';
ALTER TABLE api_keys ADD COLUMN read_roots TEXT NOT NULL DEFAULT '[]';
ALTER TABLE sessions ADD COLUMN roots TEXT NOT NULL DEFAULT '[]';
ALTER TABLE sessions ADD COLUMN read_roots TEXT NOT NULL DEFAULT '[]';

-- The first part of a run's root; for a run without a root, its owner. A thread has that of its newest run.
ALTER TABLE runs ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
ALTER TABLE threads ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
UPDATE runs SET tenant = 'owner:' || owner WHERE status IN ('pending', 'running');
UPDATE threads SET tenant = 'owner:' || owner;
CREATE INDEX runs_of_tenant ON runs (tenant) WHERE status IN ('pending', 'running');
CREATE INDEX threads_waiting_by_tenant ON threads (tenant, next_run) WHERE next_run IS NOT NULL AND lease_run IS NULL;
