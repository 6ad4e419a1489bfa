"""The nodes, one module each. A node takes the open inquiry and the state, and gives what changes and a line about it.

What they have in common is in `graph.py`: it opens the inquiry, and turns what a node raises into a failed state with a sentence.
"""
