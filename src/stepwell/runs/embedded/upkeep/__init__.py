"""Keeping the file in shape: compacting the history of threads at rest, trimming what is old, backups, and a report on the file's
condition.

A second process may do it while a server runs.
"""
