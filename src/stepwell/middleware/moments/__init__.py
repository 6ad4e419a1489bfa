"""The moments of `HooksMiddleware`: what a function gets and may return (`events`), how functions are called (`asking`), and the moments
themselves.
"""
