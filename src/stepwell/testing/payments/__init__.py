"""Money in tests: what every ledger must do, and a mint in memory."""
