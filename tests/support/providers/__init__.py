"""Model providers on loopback, at the level of the wire: what they send when things go well, and their faults.

```python
with FakeProvider(ANTHROPIC) as provider:
    provider.plan(Fault("rate limited"), Reply("Hello", thinking="Hm.", calls=[Call("ls", {"path": "/"})]))
    provider.variables     # the environment by which a server finds it
    provider.requests      # what it was sent
```
Each protocol is a module with a `Wire`: how requests are read, and how replies and faults look there. The real SDKs talk to it.
"""

from tests.support.providers.server import FakeProvider
from tests.support.providers.wire import Call, Fault, Reply, Wire

__all__ = ["Call", "FakeProvider", "Fault", "Reply", "Wire"]
