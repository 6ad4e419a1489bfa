"""What a langgraph.json says besides its graphs: one module per key, each with a frozen dataclass and the function that reads it."""
