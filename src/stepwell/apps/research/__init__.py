"""Research: an answer you can check, from a plan you approved. `graph.py` draws it, `state.py` says what it remembers."""
