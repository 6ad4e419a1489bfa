"""All seams of `stepwell.runs` in a Postgres database, for many servers and workers at once.

```
connection   SQL as it is written for both databases -> psycopg      group_commit   a group of work in one transaction, tried again
database     `SqlDatabase`: one writer, a few readers                news           what other processes have done: LISTEN and NOTIFY
migrate      brings a database to the newest form, under a lock      clock          the database's time
```

What the tables mean is in the folder above: the same code runs on both.
"""
