"""Database maintenance: compacting the history of threads at rest, and trimming old data.

A second process may do it while a server runs.
"""
