"""How each search engine is asked, and how its answer is read. One module for each; `asking` is what they share."""
