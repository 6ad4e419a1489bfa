"""Everything that outlives a process, in SQL written once for two databases (see `stepwell.sql`).

```
persistence      opens and closes everything together  sqlite/       one file, for one process: the engine, its tables, backups
database         runs submitted work                   postgres/     for many servers and workers: the engine, its tables, notifications
access           a caller as an SQL condition          records/      assistants, threads, runs, interrupts, usage, effects
rows             rows <-> records                      queue/        which run is driven when: admission, leases, heartbeats, ending
fence            refuses writes under a lost lease     events/       run events: appended, read, followed
forms            schema versions and their SQL files   documents/    JSON stored as its changes
effect_journal   effects that run at most once         checkpoints/  LangGraph's checkpoint saver
file_journal     file changes that can be taken back   store/        LangGraph's store
sent_messages    messages for a run that works         upkeep/       compaction, expiry and trimming
tables           what products store                   moving/       a whole installation, to the other database
keys_and_sessions, webhooks, crons, shared_spending: what their names say
```

Only `sqlite/` and `postgres/` know which database is used.
"""
