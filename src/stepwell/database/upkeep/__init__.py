"""Keeping a database in shape: compacting the history of threads at rest, and trimming what is old.

A second process may do it while a server runs.
"""
