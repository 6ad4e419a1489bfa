"""A Postgres database, for many servers and workers at once.

```
connection   SQL as it is written for both databases -> psycopg      group_commit   a group of work in one transaction, tried again
database     `SqlDatabase`: one writer, a few readers                news           what other processes have done: LISTEN and NOTIFY
migrate      brings a database to the newest form, under a lock      clock          the database's time
in_use       who uses it: together, or one process alone             refusals       why it cannot be used, as a sentence
condition    what is in it
```

What the tables mean is in the folder above: the same code runs on both.
"""

from stepwell.errors import needs_extra

with needs_extra("A Postgres database", "postgres"):
    import psycopg as psycopg  # before any module here wants it
