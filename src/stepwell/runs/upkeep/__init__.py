"""Keeping a database small and tidy while it is used: the loop that does it, and an operator's rules for what to delete
when.
"""
