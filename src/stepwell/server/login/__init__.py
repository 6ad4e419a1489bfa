"""Who is asking: API keys, tokens of an identity provider and sessions of the browser become a `Principal`.

`authentication` is the one place that reads credentials, `sign_in` has the routes of signing in and out. What a principal may do is
decided in `server.policy`. Importing this package imports nothing; tokens and OIDC bring cryptography and are loaded only where they
are set up.
"""
