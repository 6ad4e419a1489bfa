"""The graphs that are served: where langgraph.json says they come from, how an export becomes a graph, what binds it to a run's
saver and store, and how it is described to clients.
"""
