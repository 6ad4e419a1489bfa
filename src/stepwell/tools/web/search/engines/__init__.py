"""How to query each search engine and read its response. One module per engine; `asking` is what they share."""
