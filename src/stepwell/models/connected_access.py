"""The arguments with which a connected model's chat model is built.

Rules to keep:
- Whatever a connection does not say is said here, because providers' SDKs read the environment. Without a key of its own, a user's
  connection would send the operator's key to the user's address; without an address, the user's key to the operator's.
- At an address that somebody has given, redirects are not followed: the key would go with them.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

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


def refuse_redirects(built: BaseChatModel, model: ConnectedModel) -> None:
    """For chat models that take no client of ours."""
    if model.base_url and model.provider == "anthropic":
        for client in (built._client, built._async_client):  # type: ignore[attr-defined]
            client._client.follow_redirects = False


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
