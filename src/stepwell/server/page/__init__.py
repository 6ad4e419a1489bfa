"""What a browser gets: the front page, the API's documentation, the sign-in forms, and the web page with its static files.

HTML made here has no script, and all inserted text is escaped. The routes that send it are in `server.routes.system` and
`server.login.sign_in`. The web page itself is built by `make page` from `web/` into `static/`, which the wheel includes;
`serving` sends it to browsers. Importing this package imports nothing.
"""
