"""LangGraph's checkpoints: `saver` is the checkpoint saver, fenced by a run's lease; the other modules hold its SQL statements, its
addresses, and ways to read a thread's history.
"""
