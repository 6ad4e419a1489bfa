"""How each search engine is asked, and how its response is read. One module for each; `asking` is what they share."""
