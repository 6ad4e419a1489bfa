"""Turns what LangGraph streams into the events of a run.

`graph` drives a graph, `chunks` reads each chunk of its stream, one module per kind of payload shapes it (`messages`, `message_blocks`,
`steps`, `lifecycle`, `protocol`), and `journal` passes the events to the log. `modes` defines which stream mode becomes which event.

On their way to disk, events are batched three times, each time with events from more sources. A slow stream waits at none of these stages.
The events of a fast stream, or of hundreds of slow ones, share one commit instead of needing one each:

```
           one run                           one event loop                          the whole process
  graph ──> journal ──append(events)──> events/appending ──one piece of work──> group_commit ───────> disk
            while a write is running,        while a piece of its work is          whatever waits when the
            and 10 ms after it               with the writer                       writer is free again

  why:      a token is not worth its         a round trip to the writer's          a commit costs the same for
            own append                       thread costs more than a row          one piece of work or for 256
```

The last two stages belong to the database (`database`). Followers of a run receive an event only after its commit.
"""
