"""Assistants, threads and runs: durable, one run per thread at a time, without any HTTP.

A run is admitted, claimed, driven and finished. These modules stand here and not in rooms, because together they are that story:

```
starting     from a request to a run that can be admitted       assistants   what a caller can do with assistants
engine       claim, drive, record, finish                       run_config   whose run it is, and what clients may see
attempt      one attempt at a run, from its graph to its end    interrupts   why a graph has stopped without having ended
driving      what an attempt gives to LangGraph                 failures     how the failure of a run is told
stopping     cancelling it, and what is kept of it              usage        what a run uses of its models
steps        what ran when: models, tools, subagents, nodes
```

The rooms:

```
graphs/      where served graphs come from, and how they are bound and described
streaming/   what LangGraph streams -> the events of a run, and how these are batched on their way to the disk
threads/     what a caller can do with threads: records, state, history, export
upkeep/      keeping a database small: the loop, and an operator's rules
webhooks/    telling a caller's own server that a run has ended
telemetry/   traces of runs, for an operator's collector
```

What outlives the process is in `stepwell.database`, and nothing here knows which database that is.
"""
