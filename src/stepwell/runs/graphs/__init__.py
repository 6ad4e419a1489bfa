"""The graphs that are served: where langgraph.json finds them, how an export becomes a graph, how it is bound to a run's saver and
store, and how it is described to clients.
"""
