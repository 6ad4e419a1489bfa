"""Money: a user pays an agent with ecash, call by call, and gets the rest back, whatever crashes. Knows no LangGraph.

```
wallet       what can be done with money: validate, fund, reserve, settle, release, refund, claim, sweep, recover
pricing      what a call costs                       operations   a swap that is written down before the mint is asked
ledger       remembers all of it, durably            mint         asks a mint, and believes only what it can check
cashu/       tokens, keysets, blinding, locks, requests: the protocol as pure functions
```
Sats are `int`. A token is bearer money: whoever reads it owns it. It lives in the ledger and nowhere else, and no message, log line
or exception holds one.
"""
