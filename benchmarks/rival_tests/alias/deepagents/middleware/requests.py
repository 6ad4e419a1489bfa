"""Their middleware changes a request in `modify_request`; ours does it around the call."""

from langchain.agents.middleware.types import ModelResponse
from langchain_core.messages import AIMessage


def modify(middleware, request):
    seen = []

    def answer(given):
        seen.append(given)
        return ModelResponse([AIMessage("")])

    middleware.wrap_model_call(request, answer)
    return seen[0]
