-- What several runs spend from one budget at the same time: an agent ('' as its run), its background tasks, its side questions.
CREATE TABLE shared_spending (
  thread_id TEXT COLLATE "C" NOT NULL, -- the agent's thread
  turn TEXT COLLATE "C" NOT NULL, -- the turn that the budget is for, or 'thread'
  run_id TEXT COLLATE "C" NOT NULL,
  tokens BIGINT NOT NULL,
  usd DOUBLE PRECISION NOT NULL,
  calls BIGINT NOT NULL,
  PRIMARY KEY (thread_id, turn, run_id)
);
