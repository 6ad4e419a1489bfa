"""What a caller can do with threads: find, create, copy, prune and delete them (`operations`), read and write their state and history, and
export all data of a user.
"""
