"""What a sentence states that a machine can look up: figures, dates, names, negations, directions.

Every reader here is deterministic and errs on one side: a fact it cannot read surely is not found in the quotes, so the claim's
verdict is lower, never higher. Word lists are English first, with the commonest words of German, French and Spanish.
"""
