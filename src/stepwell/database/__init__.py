"""Everything that outlives a process, in SQL that is written once for two databases (`stepwell.sql` says how).

```
persistence      all of it, opened and closed together sqlite/       one file, for one process: the engine, its tables, backups
database         work is handed in, and comes back     postgres/     for many servers and workers: the engine, its tables, notifications
rows             rows <-> records                      records/      assistants, threads, runs, interrupts, usage, effects
fence            refuses writes under a lost lease     queue/        which run is driven when: admission, leases, heartbeats, ending
documents        JSON kept as what changes             events/       what runs said: appended, read, followed
effect_journal   effects that run at most once         checkpoints/  LangGraph's checkpoint saver
access, vault, webhooks, ledger: the tables of these   store/        LangGraph's store
                                                       upkeep/       compaction and trimming
```

Only `sqlite/` and `postgres/` know which database it is.
"""
