"""Database maintenance: compacting the history of idle threads, and trimming old data.

A second process may do this while a server runs.
"""
