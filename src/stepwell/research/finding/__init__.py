"""Finds what answers a question in a pile of texts, without a model. Nothing here sends a request.

```
blocks      texts -> blocks of a paragraph or some rows, with title and section
terms       words and figures of a text, which `word_scores` compares with those of a question (BM25)
names       names in a text, and which block leads to which
choosing    blocks -> the ones to read: words and meaning together, then what the first ones lead to
passages    documents -> the passages worth reading, within a budget
follow_ups  what to search for next, from names in what was found
results     search results in the order in which their pages should be fetched
copies      documents that are older copies of others
```
"""
