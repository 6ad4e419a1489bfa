"""The two sides of the research claim: `claims` writes reports that are partly false and knows which part, `ours` and `peer` carry
out a research with that writer, `scoring` reads what came out. `claims` and `peer` must work where Stepwell is not installed."""
