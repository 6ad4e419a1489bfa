-- How well models judge, as measured here: see stepwell.research.judges.
CREATE TABLE judge_figures (
  model         TEXT NOT NULL,                -- provider:name
  checks        INTEGER NOT NULL,
  prompt_sha256 TEXT NOT NULL,
  day           TEXT NOT NULL,
  figures       TEXT NOT NULL,                -- JSON
  PRIMARY KEY (model, checks, prompt_sha256)
);
