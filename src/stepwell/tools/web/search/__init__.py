"""Searching the web: what a search can come to (`outcomes`), several engines in their order (`chain`), one engine asked no more
often than it bears (`guard`, `limits`), results kept for a day (`cache`), which engines the settings name (`choice`), and the
engines themselves.
"""
