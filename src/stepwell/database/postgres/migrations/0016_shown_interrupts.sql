-- Since when a question has been shown to a user who may answer it; NULL: not shown yet, as far as known.
ALTER TABLE interrupts ADD COLUMN shown_at DOUBLE PRECISION;
