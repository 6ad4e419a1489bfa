"""Connections: how a person connects a model without a restart or an environment variable, and which models a run may use.

```
encryption   keys at rest: AES-256-GCM with the installation's key
tables       connections, choices, what is allowed
addresses    which addresses a user may give, and connections to nothing but those
offers       every connection that a caller may use: the environment's, stored ones, local servers, embedded models
choosing     which models a run uses: asked for > the thread's > the assistant's > the caller's default > everyone's default
gate         pins that choice (ids only) into the run, and opens it when an attempt begins
service      all of it on an open server          http/  its routes
```
A key is decrypted only for a run of somebody who may use it, or for a test by its owner. It is never sent back.
"""
