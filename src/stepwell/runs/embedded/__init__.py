"""All seams of `stepwell.runs` in one SQLite file, for one server process.

```
persistence      the seams put together                file/         the file: one writer, a few readers, group commits, disk space
rows             rows <-> records                      records/      assistants, threads, runs, interrupts, usage, effects
fence            refuses writes under a lost lease     scheduling/   which run is driven when: admission, leases, ending
migrate          brings a file to the newest form      events/       what runs said: appended, read, followed
documents        JSON kept as what changes             checkpoints/  LangGraph's checkpoint saver
effect_journal   effects that run at most once         store/        LangGraph's store
access, vault, webhooks: the tables of these           upkeep/       compaction, trimming, backups, a report on the file
```
"""
