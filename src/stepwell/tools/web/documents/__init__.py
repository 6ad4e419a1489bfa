"""Parsers for foreign documents: type and encoding (`content`), a page's text and title (`page`), the words of any HTML (`plain_html`),
a page of search results (`result_page`), and text without hidden characters (`visible`).

Parsers run only in `reader_child`. Keep this file free of imports, since that process would pay for them.
"""
