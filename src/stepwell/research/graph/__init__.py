"""Research: a verifiable answer, from a plan you approved. `graph.py` builds it, `state.py` defines what it stores."""
