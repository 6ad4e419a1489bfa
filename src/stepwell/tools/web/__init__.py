"""The web for agents: searching, and fetching pages. What comes from it is untrusted text, whoever wrote it.

```
tools        web_search, fetch_page          for the harness
chain        several engines, the first that finds something
guard        one engine with its rate, its breaker and its cache
engines/     how each engine is asked and read
fetch        a page: robots, redirects, type, text
reader_pool  the processes that read pages, PDFs and robots.txt; `reader_child` is what runs in them
transport    `Web.send`: the one way out; `public_web` is the real one
addresses    where a request may go
```

Everything above `transport` runs unchanged on `stepwell.testing.web`. Rules to keep: no other module opens a connection; no
secret stands in an URL, because URLs are recorded.
"""
