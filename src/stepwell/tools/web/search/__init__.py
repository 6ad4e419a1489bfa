"""Searching the web: the possible outcomes of a search (`outcomes`), several engines in order (`chain`), one engine within its rate
limits (`guard`, `limits`), results cached for a day (`cache`), the engines that the settings name (`choice`), and the engines
themselves.
"""
