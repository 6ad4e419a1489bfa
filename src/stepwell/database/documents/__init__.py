"""JSON that a thread writes again and again, stored as its changes: `book` computes the changes, `rows` stores them."""
