"""Assistants, threads and runs: durable, one run per thread at a time, without any HTTP.

A run is admitted, claimed, driven and finished. These modules stand here and not in rooms, because together they are that story:

```
records       what an assistant, a thread, a run is            starting     from a request to a run that can be admitted
repository    finding and keeping records           (seam)     engine       claim, drive, record, finish
queue         admitting, claiming, finishing        (seam)     attempt      one attempt at a run, from its graph to its outcome
event_log     what a run said, in order             (seam)     driving      what an attempt gives to LangGraph
access        API keys and sessions as records      (seam)     stopping     cancelling it, and what is kept of it
persistence   all seams, opened and closed together (seam)     interrupts   why a graph has stopped without having ended
assistants    what a caller can do with assistants             failures     how the failure of a run is told
run_config    whose run it is, and what clients may see        usage        what a run uses of its models
checkpoints   what every checkpoint saver has to keep to       wire         LangGraph's values as JSON
documents     JSON that is written again and again             supervision  loops that have to go on as long as the process lives
steps         what ran when: models, tools, subagents, nodes
```

The rooms:

```
graphs/      where served graphs come from, and how they are bound and described
streaming/   what LangGraph streams -> the events of a run, and how these are batched on their way to the disk
threads/     what a caller can do with threads: records, state, history, export
upkeep/      keeping a database small: the seam, the loop, an operator's rules
webhooks/    telling a caller's own server that a run has ended
telemetry/   traces of runs, for an operator's collector
sql/         all seams in SQL, over a SQLite file or Postgres
```

Nothing outside `sql/` may know which database is used.
"""
