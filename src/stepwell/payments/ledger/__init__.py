"""The books: who has paid, what is reserved, charged and given back."""
