"""From `"provider:name"`, an instance or the environment to a chat model.

```
resolve_model = choose (which model, and why: pure, offline)  ->  build (the provider's chat model)  ->  model_settings
describe      = what is known of a model: provider, name, context window
```

Importing this package imports no SDK; a provider's package is imported when a model of that provider is built. Building opens
no connection: a server that is not there shows at the first call.
"""

from stepwell.models.choice import ModelChoice, choose_model, model_from_environment
from stepwell.models.facts import ModelFacts, describe
from stepwell.models.resolve import resolve_model

__all__ = ["ModelChoice", "ModelFacts", "choose_model", "describe", "model_from_environment", "resolve_model"]
