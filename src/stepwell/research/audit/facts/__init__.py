"""The facts in a sentence that a machine can look up: read from the claim and searched for in its quotes.

```
read     figures.py (number_words.py, units.py)   dates.py   names.py (peoples.py)   negations.py   directions.py (opposites, more and
         less)   qualifiers.py (may be, because, will be, the most)   roots.py (families)   synonyms.py   frames.py (what stands
         beside a word)    all together: statement.py
match    figure_match.py   date_match.py   word_match.py (names, turned and reversed wording)   opposites.py (by form)   agents.py (who did
         it)   ranks.py (which in an order)   references.py (about whom)   additions.py (words put in, or not said at all)
```

Every reader here is deterministic and errs on one side: a fact that it cannot read with certainty counts as not found in the quotes, so
the claim's verdict can only become lower. Word lists are English first, with the most common words of German, French and Spanish.
"""
