"""Which run is driven when: admitting it, claiming it under a lease, ending it.

`run_queue` is what the rest of the program uses, and says who is told after a commit; the others are its transactions.
"""
