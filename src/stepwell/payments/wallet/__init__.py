"""Tokens in and out: the wallet, and its exchanges with mints."""
