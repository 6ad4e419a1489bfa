"""The arguments with which a connected model's chat model is built.

Rules to keep:
- Whatever a connection does not say is said here, because providers' SDKs read the environment. Without a key of its own, a user's
  connection would send the operator's key to the user's address; without an address, the user's key to the operator's. The same goes for
  the headers that the environment adds, such as OPENAI_ORG_ID and OPENAI_CUSTOM_HEADERS.
- At an address that somebody has given, redirects are not followed: the key would go with them.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from stepwell.errors import ModelUnavailableError
from stepwell.models.access import access_arguments
from stepwell.models.connected import ConnectedModel
from stepwell.models.provider_guide import guide_of
from stepwell.models.providers import OLLAMA, SPEAK_OPENAI
from stepwell.settings import Secret

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_NO_KEY = Secret("none")


def connected_arguments(model: ConnectedModel) -> dict[str, Any]:
    """The arguments for the constructor of the model's class."""
    address = model.base_url or guide_of(model.provider).address
    if address is None:
        raise ModelUnavailableError(f"The connection '{model.label}' has no address. Enter one under Settings > Models.")
    given = access_arguments(model.provider, model.key or _NO_KEY, address)
    if not model.base_url:
        return given
    if model.provider == OLLAMA:
        given["client_kwargs"] |= {"follow_redirects": False}
        if model.network:
            import httpx

            given |= {
                "async_client_kwargs": {"transport": model.network(httpx)},
                "sync_client_kwargs": {"transport": _refusing(httpx)},
            }
        return given
    if model.provider == "google_genai":
        given |= {"client_args": {"follow_redirects": False}}
    if model.provider == "openai":
        given |= {"use_responses_api": False, "stream_usage": True}  # what OpenAI-compatible servers understand
    if model.provider == "openai" or model.provider in SPEAK_OPENAI:
        given |= _clients(model)
    return given


def finish(built: BaseChatModel, model: ConnectedModel) -> None:
    """What a chat model takes no argument for: no redirects, and none of the headers that the environment has for the operator's access."""
    sdk: Any = built
    if model.base_url and model.provider == "anthropic":
        for client in (sdk._client, sdk._async_client):
            client._client.follow_redirects = False
    if model.from_environment:
        return
    if model.provider == "anthropic":
        clients = [sdk._client, sdk._async_client]
    elif model.provider == "openai" or model.provider in SPEAK_OPENAI:
        clients = [sdk.root_client, sdk.root_async_client]
    else:
        return
    for client in clients:
        client.organization = client.project = None
        client._custom_headers = dict(sdk.default_headers or {})


def _clients(model: ConnectedModel) -> dict[str, Any]:
    """Clients for OpenAI's SDK. Only the asynchronous one can check its connections, so the other one makes none if they need a check."""
    from openai import DefaultAsyncHttpxClient, DefaultHttpxClient

    plain: dict[str, Any] = {"follow_redirects": False}
    if model.network is None:
        return {"http_client": DefaultHttpxClient(**plain), "http_async_client": DefaultAsyncHttpxClient(**plain)}
    # The library's name differs between versions of the SDK.
    library = import_module(DefaultAsyncHttpxClient.__mro__[1].__module__.partition(".")[0])
    checked = DefaultAsyncHttpxClient(**plain, transport=model.network(library))
    return {"http_client": DefaultHttpxClient(**plain, transport=_refusing(library)), "http_async_client": checked}


def _refusing(library: ModuleType) -> Any:
    def refuse(request: Any) -> Any:
        raise library.ConnectError("This connection can only be used asynchronously.", request=request)

    return library.MockTransport(refuse)
