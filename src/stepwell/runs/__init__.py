"""Assistants, threads and runs: durable, one run per thread at a time, without any HTTP.

```
records      what an assistant, a thread, a run is           registry     name -> graph (langgraph.json)
repository   finding and keeping records    (seam)           assistants, threads, runs: what a caller can ask for
queue        admitting, claiming, finishing (seam)           engine       claim, drive, record, finish
event_log    what a run said, in order      (seam)           events       LangGraph's chunks -> what is sent
persistence  checkpoints and the store      (seam)           embedded/    all seams in one SQLite file
```

Nothing outside `embedded/` may know which database is used.
"""
