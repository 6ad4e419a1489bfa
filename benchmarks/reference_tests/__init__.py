"""Runs LangGraph's own tests against this project.

```
python -m benchmarks.reference_tests PATH/TO/langgraph [sdk] [store] [-v]
```
PATH is a checkout of their repository. Nothing of it is part of this project: the tests are copied to a temporary folder and run there.

- `sdk`: the integration tests of the Python SDK. They need a server with four graphs, which are in the checkout too: `stepwell serve`
  serves them. One graph imports deepagents; it gets our agent under that name (`benchmarks/rival_tests/alias`).
- `store`: the tests of the SQLite and the Postgres store, with `alias/langgraph/store` in the place of theirs. The Postgres tests need
  `STEPWELL_TEST_POSTGRES_URL`; without it our SQLite store stands in.
"""
