"""LangGraph's thread streams (`client.threads.stream`): commands to a thread, and a filtered stream of its runs' events.

```
POST /threads/T/commands       commands   -> engine, threads
POST /threads/T/stream/events  following  -> journal -> translation -> subscription -> frames
```

The protocol's other transport, a websocket at the same address, carries both (`socket`).
"""
