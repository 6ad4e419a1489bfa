CREATE TABLE connections (
  id         TEXT PRIMARY KEY,
  owner      TEXT NOT NULL,
  provider   TEXT NOT NULL,
  label      TEXT NOT NULL,
  base_url   TEXT,
  sealed_key BLOB,
  key_hint   TEXT,
  models     TEXT NOT NULL,
  limits     TEXT NOT NULL,
  shared     INTEGER NOT NULL,
  public     INTEGER NOT NULL,
  revision   INTEGER NOT NULL,
  created_at REAL NOT NULL,
  deleted_at REAL
);
CREATE INDEX connections_of_owner ON connections (owner, created_at);

CREATE TABLE model_choices (
  owner         TEXT NOT NULL,
  task          TEXT NOT NULL,
  connection_id TEXT NOT NULL,
  model         TEXT NOT NULL,
  PRIMARY KEY (owner, task)
);

CREATE TABLE model_rules (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
);

CREATE TABLE model_spend (
  user_id       TEXT NOT NULL,
  connection_id TEXT NOT NULL,
  day           TEXT NOT NULL,
  label         TEXT NOT NULL,
  calls         INTEGER NOT NULL,
  input_tokens  INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  microusd      INTEGER NOT NULL,
  unpriced      INTEGER NOT NULL,
  PRIMARY KEY (user_id, connection_id, day)
);
CREATE INDEX model_spend_of_connection ON model_spend (connection_id, day);
