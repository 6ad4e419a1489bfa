"""A2A 1.0 (Agent2Agent), as JSON-RPC over HTTP: other agents talk to the assistants of this server.

```
context   a thread
task      a run, with the runs that answer its questions; "<thread>.<first run>" is its id
```
So a task is found again by any server, and after a crash: nothing is kept between two requests.

| module | what it does |
|---|---|
| `calls` | a request of JSON-RPC -> its method; errors with the codes of A2A |
| `methods` | one function for each method, over `bridges.turns` |
| `tasks` | runs -> tasks: their state, answer and history |
| `streaming` | what a run does -> events |
| `messages` | parts <-> content of messages |
| `card` | what an assistant says about itself |
"""
