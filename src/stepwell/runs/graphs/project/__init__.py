"""The keys of langgraph.json that have a meaning of their own: one module each, with a frozen value and a function that reads it."""
