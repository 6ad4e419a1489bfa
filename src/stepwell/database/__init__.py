"""Everything that outlives a process, in SQL written once for two databases (see `stepwell.sql`).

```
persistence      opens and closes everything together  sqlite/       one file, for one process: the engine, its tables, backups
database         runs submitted work                   postgres/     for many servers and workers: the engine, its tables, notifications
rows             rows <-> records                      records/      assistants, threads, runs, interrupts, usage, effects
fence            refuses writes under a lost lease     queue/        which run is driven when: admission, leases, heartbeats, ending
documents        JSON stored as its changes            events/       run events: appended, read, followed
effect_journal   effects that run at most once         checkpoints/  LangGraph's checkpoint saver
access, vault, webhooks, ledger: their tables          store/        LangGraph's store
                                                       upkeep/       compaction and trimming
```

Only `sqlite/` and `postgres/` know which database is used.
"""
