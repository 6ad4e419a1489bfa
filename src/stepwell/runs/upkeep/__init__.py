"""Keeping a database small and tidy while it is used: what a database must be able to do (a seam), the loop that asks for it, and
an operator's rules of what goes when.
"""
