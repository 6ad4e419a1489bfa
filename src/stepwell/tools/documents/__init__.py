"""Reads documents from unknown sources, each in a separate process with limits.

```
reader_pool   the processes that read; they run `reader_child`
content       type and encoding
page          text, title and parts of a document
parts         where something stands in a document: page, slide, cells, message
plain_html    the words of any HTML
result_page   a page of search results
robots_rules  a robots.txt
visible       text without hidden characters
```

Parsers run only in `reader_child`. Keep this file free of imports, since that process would pay for them.
"""
