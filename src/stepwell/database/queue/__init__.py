"""Which run is driven when: admitting it, claiming it under a lease, ending it.

The rest of the program uses `run_queue`, which also notifies followers and workers after a commit; the other modules contain its
transactions.
"""
