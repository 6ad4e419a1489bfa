"""The routes of the wallet, and paying with a run's own request."""
