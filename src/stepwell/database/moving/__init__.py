"""A whole installation from one database to another: `move` says how, `sqlite_side` and `postgres_side` are what it is moved between."""
