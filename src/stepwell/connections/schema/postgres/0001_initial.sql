CREATE TABLE connections (
  id         TEXT COLLATE "C" PRIMARY KEY,
  owner      TEXT COLLATE "C" NOT NULL,
  provider   TEXT COLLATE "C" NOT NULL,
  label      TEXT COLLATE "C" NOT NULL,
  base_url   TEXT COLLATE "C",
  sealed_key BYTEA,
  key_hint   TEXT COLLATE "C",
  models     TEXT COLLATE "C" NOT NULL,
  limits     TEXT COLLATE "C" NOT NULL,
  shared     BIGINT NOT NULL,
  public     BIGINT NOT NULL,
  revision   BIGINT NOT NULL,
  created_at DOUBLE PRECISION NOT NULL,
  deleted_at DOUBLE PRECISION
);
CREATE INDEX connections_of_owner ON connections (owner, created_at);

CREATE TABLE model_choices (
  owner         TEXT COLLATE "C" NOT NULL,
  task          TEXT COLLATE "C" NOT NULL,
  connection_id TEXT COLLATE "C" NOT NULL,
  model         TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (owner, task)
);

CREATE TABLE model_rules (
  name  TEXT COLLATE "C" PRIMARY KEY,
  value TEXT COLLATE "C" NOT NULL
);

CREATE TABLE model_spend (
  user_id       TEXT COLLATE "C" NOT NULL,
  connection_id TEXT COLLATE "C" NOT NULL,
  day           TEXT COLLATE "C" NOT NULL,
  label         TEXT COLLATE "C" NOT NULL,
  calls         BIGINT NOT NULL,
  input_tokens  BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  microusd      BIGINT NOT NULL,
  unpriced      BIGINT NOT NULL,
  PRIMARY KEY (user_id, connection_id, day)
);
CREATE INDEX model_spend_of_connection ON model_spend (connection_id, day);
