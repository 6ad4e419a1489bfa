"""A Postgres database, for many servers and workers at once.

```
connection   SQL written for both databases -> psycopg               group_commit   a group of work in one transaction, with retries
database     `SqlDatabase`: one writer, a few readers                news           what other processes do: LISTEN and NOTIFY
migrate      upgrades a database to the newest schema, under a lock  clock          the database's time
in_use       who uses it: shared, or one process exclusively         refusals       why it cannot be used, as a sentence
condition    what is in it
```

The meaning of the tables is defined in the folder above: the same code runs on both databases.
"""

from stepwell.errors import needs_extra

with needs_extra("A Postgres database", "postgres"):
    import psycopg as psycopg  # before any module here needs it
