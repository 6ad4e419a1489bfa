"""Deep research: an agent that plans by itself, within the same policy and on the same evidence as `research`.

`agent.py` builds it. `web_tools.py` has its two tools, `model_calls.py` records model calls; `report.py`, `claims.py` and
`checking.py` finish and check the report at the end.
"""
