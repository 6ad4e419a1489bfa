"""The SQLite file: opened by one process (`persistence`), written by one thread that commits in groups, read by a few, kept from filling
the disk (`disk_space`), brought to the newest form (`migrate`), copied and put back (`backup`), and reported on (`condition`).
"""
