"""A person at a terminal and a thread of a graph, for `chat` and `research` alike; it knows neither.

```
session       the thread: send, answer, follow, stop    (graph_session, engine_session, remote_session)
loop          show a run, put its interrupts to the person, go on
events        a run's stream as what happened in it      interleaving   messages written side by side, one at a time
terminal      the screen and the keyboard                answers        an interrupt and a typed line -> its answer
server_errors trouble with a server, as sentences
```
Importing this package imports nothing.
"""
