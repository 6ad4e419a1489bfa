"""From what LangGraph streams to the events of a run.

`graph` drives a graph, `chunks` reads each chunk of its stream, one module per kind of payload shapes it (`messages`, `message_blocks`,
`steps`, `lifecycle`, `protocol`), and `journal` hands the events to the log. `modes` says which stream mode becomes which event.

On their way to the disk events are gathered three times, each time with others of a wider circle. A slow stream waits at none of them;
a fast one, or hundreds of slow ones, cost one commit instead of one each:

```
           one run                           one event loop                          the whole process
  graph ──> journal ──append(events)──> events/appending ──one piece of work──> file/group_commit ──> disk
            while a write is under way,      while a piece of its work is          whatever waits when the
            and 10 ms after it               with the writer                       writer is free again

  why:      a token is not worth an          a round trip to the writer's          a commit costs the same for
            append of its own                thread costs more than a row          one piece of work or for 256
```

The last two are the database's own (`database`). An event is handed to whoever follows the run only after its commit.
"""
