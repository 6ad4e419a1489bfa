"""The web for agents: searching, and fetching pages. What comes from it is untrusted text, whoever wrote it.

```
tools        web_search, fetch_page          for the harness
search/      several engines in their order, each asked politely; how each is asked and read
fetch        a page: robots, redirects, type, text
documents/   what foreign bytes say: pages, PDFs, pages of results
reader_pool  the processes that read pages, PDFs and robots.txt; `reader_child` is what runs in them
transport    `Web.send`: the one way out; `public_web` is the real one
addresses    where a request may go
```

Everything above `transport` runs unchanged on `stepwell.testing.web`. Rules to keep: no other module opens a connection; no
secret stands in an URL, because URLs are recorded.
"""
