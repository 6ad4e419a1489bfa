"""Runs LangGraph's own tests against this project.

```
python -m benchmarks.reference_tests PATH/TO/langgraph [sdk] [sqlite_store] [postgres_store] [-v]
```
PATH is a checkout of their repository. Nothing of it is part of this project: the tests are copied to a temporary folder and run there.

- `sdk`: the integration tests of the Python SDK. They need a server with four graphs, which are in the checkout too: `stepwell serve`
  serves them. One graph imports deepagents; it gets our agent under that name (`benchmarks/rival_tests/alias`).
- `sqlite_store`, `postgres_store`: the tests of LangGraph's stores with vectors and expiry, with ours in their place (`alias`). The
  Postgres is one of our own, started for it, and needs no pgvector.
"""
