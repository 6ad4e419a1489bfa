"""The documentation site: `make docs` builds it from docs/ and a few pages beside it."""
