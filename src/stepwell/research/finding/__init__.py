"""Finding what a question needs: which search results to read first, and what to search for next."""
