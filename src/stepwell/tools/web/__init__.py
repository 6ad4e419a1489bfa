"""The web for agents: searching, and fetching pages. Everything that comes from the web is untrusted text.

```
wording      a page or a search outcome as text for a model
search/      several engines in order, within their rate limits; how to query each and read its results
fetch        a page: robots, redirects, type, text
transport    `Web.send`: the only way out; `public_web` is the real one
addresses    where a request may go
```

Everything above `transport` runs unchanged on `stepwell.demo.web`. Rules to keep: no other module opens a connection; no URL
contains a secret, because URLs are recorded.
"""
