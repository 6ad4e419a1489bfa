"""Texts as vectors, by meaning or by words."""
