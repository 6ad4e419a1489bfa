-- Begun effects are remembered when a run is rolled back, when a thread is copied, and when it is deleted.

-- Prefix of a thread's effect keys: generated when the thread is first driven, and shared with its copies. It identifies nobody, so a key
-- may be sent to an external service, and may outlive the thread.
ALTER TABLE threads ADD COLUMN origin TEXT;
UPDATE threads SET origin = lower(hex(randomblob(16)));
CREATE INDEX threads_of_origin ON threads (origin);

ALTER TABLE effects RENAME COLUMN thread_id TO origin;
ALTER TABLE effects ADD COLUMN thread_id TEXT;                        -- on which it began; NULL once that is deleted
ALTER TABLE effects ADD COLUMN tool TEXT NOT NULL DEFAULT '';
ALTER TABLE effects ADD COLUMN arguments TEXT NOT NULL DEFAULT '';    -- a fingerprint
ALTER TABLE effects ADD COLUMN taken_back INTEGER NOT NULL DEFAULT 0; -- its run was rolled back, and no thread tells of it
ALTER TABLE effects ADD COLUMN note TEXT;                             -- of the person who settled it
ALTER TABLE effects ADD COLUMN settled_at REAL;
ALTER TABLE effects ADD COLUMN settled_by TEXT;
-- `state` is begun, done or, from here on, not_done. The keys so far began with the thread.
UPDATE effects SET thread_id = origin;
UPDATE effects SET (origin, key) = (
  SELECT threads.origin, threads.origin || substr(effects.key, length(effects.thread_id) + 1) FROM threads
  WHERE threads.thread_id = effects.thread_id)
WHERE EXISTS (SELECT 1 FROM threads WHERE threads.thread_id = effects.thread_id);
CREATE INDEX effects_of_thread ON effects (thread_id);
CREATE INDEX effects_open ON effects (created_at) WHERE state = 'begun' OR taken_back;
