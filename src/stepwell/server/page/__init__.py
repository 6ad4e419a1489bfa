"""The web page: built by `make page` from `web/` into `static/` here, which the wheel brings along."""
