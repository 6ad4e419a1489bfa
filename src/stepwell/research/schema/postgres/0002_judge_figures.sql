CREATE TABLE judge_figures (
  model TEXT COLLATE "C" NOT NULL,
  checks BIGINT NOT NULL,
  prompt_sha256 TEXT COLLATE "C" NOT NULL,
  day TEXT COLLATE "C" NOT NULL,
  figures TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (model, checks, prompt_sha256)
);
