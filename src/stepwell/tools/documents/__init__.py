"""Reads documents from unknown sources, each in a separate process with limits.

```
reader_pool   the processes that read; they run `reader_child`
kinds         the formats: names, extensions, media types
content       type and encoding
page          text, title and parts of a document
formats       one reader for each kind of document
archive       the members of a zip, checked before anything is unpacked, and their XML
pieces        puts the text together, and limits it
parts         where something stands in a document: page, slide, cells, message
plain_html    the words of any HTML
result_page   a page of search results
robots_rules  a robots.txt
visible       text without hidden characters
```

Parsers run only in `reader_child`. Keep this file free of imports, since that process would pay for them.
"""
