"""The SQLite file: opened by one process (`persistence`), written by one thread that commits in groups, read by a few threads, kept from
filling the disk (`disk_space`), upgraded to the newest schema (`migrate`), backed up and restored (`backup`), and reported on
(`condition`).
"""
