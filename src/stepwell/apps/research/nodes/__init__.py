"""The nodes, one module each. A node takes the state and the run's config, and gives what changes.

A node that fails does not take the graph down: `failing` in `graph.py` turns what it raises into a failed state with a sentence.
"""
