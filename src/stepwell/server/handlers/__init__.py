"""A project's own authentication and authorisation: `auth` in langgraph.json, written with `langgraph_sdk.Auth`.

```
request ─> users.py: authenticate(...) ─> Principal ─> decisions.py: the handler for (resource, action) ─> Caller ─> SQL
```
`users` finds out who calls, in the place of our own keys and sessions. `decisions` asks the project's handlers what the caller may do; the
filter they return is part of the caller from then on (`database/callers.py`), and enters every query.
"""
