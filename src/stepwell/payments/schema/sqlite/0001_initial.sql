-- Money. Nothing here belongs to a thread: rollback, deletion, trimming and retention leave it alone. Amounts are whole sats.

CREATE TABLE payment_sessions (
  session_id TEXT PRIMARY KEY,
  owner      TEXT NOT NULL,
  state      TEXT NOT NULL,
  mint       TEXT NOT NULL,
  ceiling    INTEGER,                            -- the most that may be spent
  refund_key TEXT,                               -- the payer's public key, to which a refund is locked
  credits    INTEGER NOT NULL DEFAULT 0,
  spent      INTEGER NOT NULL DEFAULT 0,
  refunded   INTEGER NOT NULL DEFAULT 0,
  fees       INTEGER NOT NULL DEFAULT 0,
  reserved   INTEGER NOT NULL DEFAULT 0,
  lost       INTEGER NOT NULL DEFAULT 0,         -- answers that were lost in a crash, and not charged
  ending     INTEGER NOT NULL DEFAULT 0,         -- its last thread is gone
  reason     TEXT,
  created_at REAL NOT NULL,
  touched_at REAL NOT NULL,
  -- Whatever the code does: nobody is overdrawn.
  CHECK (spent >= 0 AND refunded >= 0 AND fees >= 0 AND reserved >= 0 AND credits - spent - refunded - fees >= reserved)
);
CREATE INDEX payment_sessions_of_owner ON payment_sessions (owner, created_at);
CREATE INDEX payment_sessions_by_state ON payment_sessions (state);

CREATE TABLE payment_fundings (
  fingerprint TEXT PRIMARY KEY,                  -- of the money, whatever its spelling
  session_id  TEXT NOT NULL,
  owner       TEXT NOT NULL,
  state       TEXT NOT NULL,
  amount      INTEGER NOT NULL CHECK (amount > 0),
  fee         INTEGER NOT NULL CHECK (fee >= 0),
  token       TEXT NOT NULL,                     -- bearer money; empty once it was redeemed
  reason      TEXT,
  created_at  REAL NOT NULL
);
CREATE INDEX payment_fundings_of_session ON payment_fundings (session_id, created_at);

-- Each piece of money that was ever handed in, so that none counts twice.
CREATE TABLE payment_inputs (
  point       TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE payment_reservations (
  key        TEXT NOT NULL,                      -- of the effect: the call
  attempt    INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  owner      TEXT NOT NULL,
  state      TEXT NOT NULL,
  held       INTEGER NOT NULL CHECK (held >= 0),
  charged    INTEGER NOT NULL DEFAULT 0 CHECK (charged >= 0),
  created_at REAL NOT NULL,
  PRIMARY KEY (key, attempt)
) WITHOUT ROWID;
CREATE UNIQUE INDEX payment_reservations_open ON payment_reservations (key) WHERE state = 'held';
CREATE INDEX payment_reservations_unconfirmed ON payment_reservations (session_id) WHERE state = 'settled';

CREATE TABLE payment_operations (
  operation_id TEXT PRIMARY KEY,
  kind         TEXT NOT NULL,
  session_id   TEXT NOT NULL,
  owner        TEXT NOT NULL,
  mint         TEXT NOT NULL,
  fingerprint  TEXT,
  amount       INTEGER NOT NULL,
  fee          INTEGER NOT NULL,
  inputs       TEXT NOT NULL,                    -- JSON; bearer money
  outputs      TEXT NOT NULL,                    -- JSON; with them the mint's answer can be had again
  state        TEXT NOT NULL,
  reason       TEXT,
  created_at   REAL NOT NULL
);
CREATE UNIQUE INDEX payment_operations_under_way ON payment_operations (session_id) WHERE state IN ('pending', 'unknown');
CREATE INDEX payment_operations_by_state ON payment_operations (state, created_at);

CREATE TABLE payment_proofs (
  point        TEXT PRIMARY KEY,
  session_id   TEXT NOT NULL,                    -- where it came from
  owner        TEXT NOT NULL,
  mint         TEXT NOT NULL,
  holder       TEXT NOT NULL,                    -- session, earnings, out (handed out) or spent
  amount       INTEGER NOT NULL,
  proof        TEXT NOT NULL                     -- JSON; bearer money
);
CREATE INDEX payment_proofs_of_session ON payment_proofs (session_id) WHERE holder = 'session';
CREATE INDEX payment_proofs_earned ON payment_proofs (mint) WHERE holder = 'earnings';

CREATE TABLE payment_tokens (
  token_id   TEXT PRIMARY KEY,
  kind       TEXT NOT NULL,                      -- refund or payout
  session_id TEXT,
  owner      TEXT NOT NULL,
  mint       TEXT NOT NULL,
  amount     INTEGER NOT NULL,
  token      TEXT NOT NULL,                      -- bearer money, until the mint says that it is spent
  claimed    INTEGER NOT NULL DEFAULT 0,
  created_at REAL NOT NULL
);
CREATE UNIQUE INDEX payment_refunds ON payment_tokens (session_id) WHERE kind = 'refund';
CREATE INDEX payment_tokens_unclaimed ON payment_tokens (created_at) WHERE claimed = 0;

CREATE TABLE payment_entries (
  seq        INTEGER PRIMARY KEY,                -- grows: no line is ever deleted
  session_id TEXT NOT NULL,
  owner      TEXT NOT NULL,
  kind       TEXT NOT NULL,
  amount     INTEGER NOT NULL CHECK (amount > 0),
  key        TEXT NOT NULL,
  at         REAL NOT NULL,
  UNIQUE (kind, key)
);
CREATE INDEX payment_entries_of_session ON payment_entries (session_id, seq);
CREATE TRIGGER payment_entries_stay BEFORE DELETE ON payment_entries
BEGIN
  SELECT RAISE(ABORT, 'entries of the ledger are never deleted');
END;
CREATE TRIGGER payment_entries_stand BEFORE UPDATE ON payment_entries
BEGIN
  SELECT RAISE(ABORT, 'entries of the ledger are never changed');
END;

CREATE TABLE payment_threads (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  thread_id  TEXT NOT NULL,
  session_id TEXT NOT NULL,
  UNIQUE (thread_id, session_id)
);
CREATE INDEX payment_threads_of_session ON payment_threads (session_id);

CREATE TABLE payment_counters (
  keyset_id TEXT PRIMARY KEY,
  next      INTEGER NOT NULL
) WITHOUT ROWID;
