"""Payments: a user pays an agent with ecash, call by call, and gets the rest back, even after a crash.

```
wallet       every operation on money: validate, fund, reserve, settle, release, refund, claim, sweep, recover
pricing      what a call costs                       swapping     swaps that are stored before we send them to the mint
ledger       stores all of it, durably               mint         talks to a mint, and trusts only what it can check
cashu/       tokens, keysets, blinding, locks, requests: the protocol as pure functions
```
`wallet`, `ledger` and `cashu` import no LangGraph, which `import-linter` checks.

Sats are `int`. A token is bearer money: anyone who reads it can spend it. We store it in the ledger and nowhere else; no message, log line
or exception contains one.
"""
