"""The facts in a sentence that a machine can look up: read from the claim and searched for in its quotes.

```
words/      what words mean: families, synonyms, opposites of direction, kinds, units, numbers, peoples, frames
reading/    figures, dates, names and denials of a text; all together in statement.py
matching/   looks each of them up in the quotes: figures.py, dates.py, words.py (names, turned and reversed wording), agents.py (who did
            it), ranks.py, opposites.py (by form), references.py and subjects.py (about whom), nearness.py (which sentences count),
            quoted_words.py (word for word), additions.py (words put in, or not said at all)
left_out/   what a claim leaves out of the sentence it rests on
```

Every reader here is deterministic and errs on one side: a fact that it cannot read with certainty counts as not found in the quotes, so
the claim's verdict can only become lower. Word lists are English first, with the most common words of German, French and Spanish.
"""
