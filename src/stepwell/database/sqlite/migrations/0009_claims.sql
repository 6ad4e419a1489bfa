-- Which device is about to carry out what an interrupt asks, so that never two do.

ALTER TABLE interrupts ADD COLUMN claim_id TEXT;          -- null: nobody's
ALTER TABLE interrupts ADD COLUMN claim_device TEXT;
ALTER TABLE interrupts ADD COLUMN claim_expires_at REAL;  -- from then on it binds nobody
