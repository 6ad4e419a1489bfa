"""The SQLite file itself: opened by one process, written by one thread that commits in groups, read by a few, and kept from filling the
disk.

Nothing here knows what the tables mean.
"""
