"""JSON that a thread writes again and again, stored as what changes: `book` computes the changes, `rows` stores them."""
