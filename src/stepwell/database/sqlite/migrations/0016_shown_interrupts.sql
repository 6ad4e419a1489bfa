-- Since when a question has been shown to somebody who may answer it; NULL: to nobody yet, as far as is known.
ALTER TABLE interrupts ADD COLUMN shown_at REAL;
