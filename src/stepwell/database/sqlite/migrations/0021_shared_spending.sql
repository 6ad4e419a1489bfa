-- What several runs spend from one budget at the same time: an agent ('' as its run), its background tasks, its side questions.
CREATE TABLE shared_spending (
  thread_id TEXT NOT NULL,                     -- the agent's thread
  turn      TEXT NOT NULL,                     -- the turn that the budget is for, or 'thread'
  run_id    TEXT NOT NULL,
  tokens    INTEGER NOT NULL,
  usd       REAL NOT NULL,
  calls     INTEGER NOT NULL,
  PRIMARY KEY (thread_id, turn, run_id)
) WITHOUT ROWID;
