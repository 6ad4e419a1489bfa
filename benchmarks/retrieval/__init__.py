"""Whether research finds what there is to find, without a model, on public questions whose evidence is known.

`python -m benchmarks.retrieval FOLDER` reads what it finds in the folder:

| file | set | within | measured |
|---|---|---|---|
| `hotpot*.jsonl` | HotpotQA | 5 quotes from at most 4 paragraphs | every supporting paragraph is quoted; the answer is in the quotes |
| `musique*.jsonl` | MuSiQue | 8 quotes from at most 6 paragraphs | the same |
| `drbench/*/` | DRBench | 40 passages, 24,000 characters a task | all figures of a fact stand in one chosen passage of its file |

BM25 runs beside it on the same text: on paragraphs and their sentences, and on our own passages as well as on passages of 600 characters.
The data is not part of the project.
"""
