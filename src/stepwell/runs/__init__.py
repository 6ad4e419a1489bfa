"""Assistants, threads and runs: durable, one run per thread at a time, without any HTTP.

A run is admitted, claimed, driven and finished. The modules at the top level tell that story:

```
starting     from a request to a run that can be admitted       assistants   what a caller can do with assistants
engine       claim, drive, record, finish                       run_config   a run's owner, and what clients may see
attempt      one attempt at a run, from its graph to its end    interrupts   why a graph has stopped before its end
driving      an attempt's input for LangGraph                   failures     how a run's failure is reported
stopping     cancelling it, and what is kept of it              usage        a run's model usage
steps        what ran when: models, tools, subagents, nodes     gates        how a product takes part in runs
rewinding    taking back turns of a thread                      background   background tasks, each a run of its own

side_questions   one model call over a copy of a thread's messages
```

The packages:

```
graphs/      where served graphs come from, and how they are bound and described
streaming/   what LangGraph streams -> a run's events, and how they are batched on their way to disk
threads/     what a caller can do with threads: records, state, history, export
upkeep/      keeping a database small: the loop, and an operator's rules
crons/       runs on a schedule
webhooks/    notifying a caller's own server that a run has ended
telemetry/   traces of runs, for an operator's collector
```

Everything that outlives the process is in `stepwell.database`; nothing here knows which database that is.
"""
