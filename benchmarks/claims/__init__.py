"""How the checks do on pairs of claim and evidence that somebody brings, such as a public data set. None of them is in this repository."""
