"""Assistants, threads, runs, interrupts, usage and effects as rows.

`repository` puts the parts together; `thread_state`, `interrupts`, `copying` and `erasing` are functions of a connection, for use inside
the caller's transaction.
"""
