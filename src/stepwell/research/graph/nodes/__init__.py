"""The nodes, one module each. A node takes the open inquiry and the state, and returns its changes and a line about them.

What they share is in `graph.py`: it opens the inquiry, and turns exceptions of a node into a failed state with a message.
"""
