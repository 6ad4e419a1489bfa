"""Identifies the caller: API keys, tokens of an identity provider and browser sessions become a `Principal`.

`authentication` is the only module that reads credentials, `sign_in` has the routes for signing in and out. `server.policy` decides what
a principal may do. Importing this package imports nothing; tokens and OIDC import cryptography and are loaded only if they are configured.
"""
