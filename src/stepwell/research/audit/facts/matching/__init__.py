"""Looks up what a claim says in the sentences that it cites."""
