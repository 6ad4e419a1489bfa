"""Moves a whole installation from one database to another: `move` is the procedure, `sqlite_side` and `postgres_side` the two ends."""
