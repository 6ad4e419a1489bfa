"""Which run is driven when: admitting it, claiming it under a lease, ending it.

`queue` is the seam's implementation and says who is told after a commit; the others are its transactions.
"""
