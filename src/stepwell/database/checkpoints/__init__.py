"""LangGraph's checkpoints: `saver` is its checkpoint saver, fenced by a run's lease; the others are its SQL statements, its
addresses, and the ways to read a thread's history back.
"""
