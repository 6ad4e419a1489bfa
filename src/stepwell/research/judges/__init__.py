"""Measures how well a model judges, on pairs of claim and evidence that a user brings, such as a public data set.

```
pairs (a folder of .jsonl) ─> draw ─> asking (the product's prompt and parser, answers kept) ─> scoring ─> figures (stored per model)
```
A report that the model judged later carries these figures (`audit/judged.py`).
"""
