"""A dialogue between a person at a terminal and a thread of a graph. `chat` and `research` use it; it knows neither.

```
session       the thread: send, answer, follow, stop    (graph_session, engine_session, remote_session)
loop          show a run, ask the person about its interrupts, resume
events        a run's stream as events                   interleaving   shows parallel messages one at a time
terminal      the screen and the keyboard                answers        an interrupt and a typed line -> its answer
server_errors errors of a server, as sentences
```
Importing this package imports nothing.
"""
