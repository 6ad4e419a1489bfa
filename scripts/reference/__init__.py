"""Pages of docs/reference that come from the code: `make reference` writes them, a test compares them."""
