"""What a caller can do with threads: find, make, copy, prune and delete them (`operations`), read and write their state and
history, and export everything a user has.
"""
