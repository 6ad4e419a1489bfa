"""What foreign bytes say: their kind and letters (`content`), a page's text and title (`page`), the words of any HTML (`plain_html`), a
page of search results (`result_page`), and text without anything hidden in it (`visible`).

Parsers run in `reader_child` and nowhere else; keep this file empty of imports, since that process pays for them.
"""
