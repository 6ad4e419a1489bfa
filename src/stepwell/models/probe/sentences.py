"""Evidence of a failure -> a `Problem`: what happened and what to do, in one or two short sentences.

No sentence contains a key, an address with a password, or a word of the provider's own message (some providers repeat the key in it).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from stepwell.models.probe.evidence import Evidence
from stepwell.models.probe.result import Problem, ProblemKind
from stepwell.models.provider_guide import ProviderGuide
from stepwell.models.providers import LLAMACPP, LM_STUDIO, OLLAMA, OPENAI_COMPATIBLE

_CERTIFICATES = {
    9: "is not valid yet",
    10: "has expired",
    18: "is self-signed",
    19: "is self-signed",
    20: "was issued by an authority that this computer does not know",
    21: "was issued by an authority that this computer does not know",
    62: "is for another host name",
    64: "is for another address",
}
_TOO_LONG = re.compile(r"context (?:length|window|size)|n_ctx|maximum context|exceeds? the available|prompt is too long")
_NO_TOOLS = re.compile(
    r"(?:tools?|function calling|functions?)\b[^.]{0,60}(?:not support|unsupported|requires? --|not enabled|not available)"
    r"|not support[^.]{0,40}(?:tool|function)"
)
_NO_STREAM = re.compile(
    r"stream[^.]{0,60}(?:not support|unsupported|not allowed|verified)|(?:not support|verified)[^.]{0,40}stream"
)
_NOT_CHAT = re.compile(
    r"does not support (?:chat|generate|completion)|not a chat model|is an? embedding model|embeddings? only"
)
_NO_CREDIT = re.compile(
    r"insufficient[_ ]quota|credit balance|billing|insufficient (?:balance|credit|funds)|exceeded your current quota|payment required"
)
_REGION = re.compile(
    r"unsupported_country|country, region|region, or territory|location is not supported|not available in your (?:country|region)"
)
_DISABLED = re.compile(r"(?:organi[sz]ation|account|project|consumer)[^.]{0,60}(?:disabled|deactivated|suspended|terminated)")
_BAD_KEY = re.compile(
    r"api[_ ]key[_ ](?:not valid|invalid)|invalid[_ ](?:x-)?api[_ -]key|incorrect api key|invalid authentication|unauthorized"
)
_NONE_LOADED = re.compile(r"no models? (?:is |are )?(?:currently )?loaded|model[^.]{0,40}not loaded")
_LOADING = re.compile(r"loading model|model is (?:still |currently )?loading")
_NO_MODEL = re.compile(
    r"model[^.]{0,200}(?:not found|does not exist|not exist|unknown|invalid)|(?:unknown|invalid|no such) model|models/\S+ is not found"
)


@dataclass(frozen=True)
class About:
    """What a sentence is about."""

    guide: ProviderGuide
    model: str
    address: str
    """In the form that the chat model takes, perhaps with a password."""
    has_key: bool
    names: Sequence[str] = ()

    @property
    def shown(self) -> str:
        """The address without user, password and parameters."""
        return shown_address(self.address)

    @property
    def company(self) -> str:
        """Who keeps the account behind a key."""
        return self.guide.title if self.guide.needs_key else "its operator"

    @property
    def who(self) -> str:
        """The provider, with its address if that is not the usual one."""
        if self.guide.id == OPENAI_COMPATIBLE:
            return f"The server at {self.shown}"
        return self.guide.title if self.address == self.guide.address else f"{self.guide.title} at {self.shown}"


def shown_address(address: str) -> str:
    try:
        parts = urlsplit(address)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "this address"
    return f"{parts.scheme}://{host}{port}{parts.path}"


def problem_of(seen: Evidence, about: About) -> Problem:
    """What a failure means for the person who connects this model."""
    if seen.connection:
        return _of_connection(seen, about)
    found = _of_text(seen, about)
    return Problem(*found) if found else _of_status(seen, about)


def _of_connection(seen: Evidence, about: About) -> Problem:
    guide, shown = about.guide, about.shown
    host = urlsplit(about.address).hostname or shown
    match seen.connection:
        case "refused" if guide.on_this_computer:
            return Problem("not_running", f"{guide.title} does not run at {shown}. Start it: {guide.start}. Then test again.")
        case "refused":
            return Problem("not_running", f"Nothing listens at {shown}. Check the port, and whether the server is started.")
        case "unknown host":
            return Problem(
                "unknown_host",
                f"There is no host named '{host}', or this computer is offline. Check the address and the network.",
            )
        case "certificate":
            fault = _CERTIFICATES.get(seen.certificate or 0, "cannot be verified")
            return Problem(
                "tls",
                f"The certificate of {host} {fault}. Ask its operator for a valid one, or add the authority that issued it to this "
                "computer's certificates (SSL_CERT_FILE).",
            )
        case "not tls":
            return Problem(
                "needs_http",
                f"The server at {shown} does not speak https, or not one that is still safe. If it is on your own network, write http:// "
                "instead.",
            )
        case "proxy":
            return proxy_problem(seen.status or (407 if "407" in seen.text else None))
        case "timeout":
            return timeout_problem(about)
        case "not http":
            return Problem(
                "not_http",
                f"Something answers at {shown}, but not with HTTP. Check the port; for https, write https:// in front.",
            )
        case "not json":
            return Problem("not_json", f"{about.who} answers, but not with JSON. Check the address and its path.")
        case _:
            return Problem("unreachable", f"{about.who} cannot be reached. Check the address and the network.")


def _of_text(seen: Evidence, about: About) -> tuple[ProblemKind, str] | None:
    """The faults that providers name in words, under different statuses."""
    text, title, model = seen.text, about.guide.title, about.model
    if (seen.status or 0) < 400:
        return None
    if "plain http request was sent to https port" in text or "client sent an http request to an https server" in text:
        return "needs_https", https_sentence(about)
    if _LOADING.search(text):
        return "model_loading", f"{about.who} is still loading the model. Wait a moment and test again."
    if _NONE_LOADED.search(text):
        return "model_not_loaded", not_loaded(about)
    if _REGION.search(text):
        return "region", f"{title} does not serve the country or region that this request comes from. Choose another provider."
    if _DISABLED.search(text):
        return (
            "organisation_disabled",
            f"The account or organisation behind this key is disabled. Ask {about.company} why, or use a key of another account.",
        )
    if _NO_CREDIT.search(text) or seen.status == 402:
        return (
            "no_credit",
            f"The account of this key has no credit or quota left. Top it up with {about.company}, or use another key.",
        )
    if _NOT_CHAT.search(text):
        return "not_a_chat_model", not_chat(model)
    if _NO_TOOLS.search(text):
        return "no_tools", no_tools(about)
    if _NO_STREAM.search(text):
        return "no_streaming", no_streaming(about)
    if _TOO_LONG.search(text):
        return (
            "context_too_small",
            f"The context of '{model}' is too small even for a short test. {_larger_context(about)}",
        )
    if _BAD_KEY.search(text) and seen.status in (400, 401, 403):
        return _refused_key(about)
    return None


def _of_status(seen: Evidence, about: About) -> Problem:
    status, who = seen.status or 0, about.who
    if 300 <= status < 400:
        return _redirect(seen, about)
    match status:
        case 401:
            return Problem(*_refused_key(about))
        case 407:
            return proxy_problem(407)
        case 403:
            return Problem(
                "forbidden",
                f"{who} refuses this key for the model '{about.model}'. Ask {about.company} to allow it, or choose another model.",
            )
        case 404 | 400 | 422 if not seen.is_web_page and _NO_MODEL.search(seen.text):
            return unknown_model(about)
        case 404 | 405:
            return Problem(
                "address_path", f"{who} answers, but has nothing at this path (HTTP {status}). Check the end of the address."
            )
        case 408:
            return timeout_problem(about)
        case 429:
            return Problem("rate_limited", f"{who} limits the requests of this key at the moment. {_wait(seen)}")
        case 503 | 529:
            return Problem("overloaded", f"{who} is overloaded at the moment (HTTP {status}). {_wait(seen)}")
    if status >= 500:
        return Problem("server_error", f"{who} has an internal error (HTTP {status}). Test again later, or look into its log.")
    if seen.is_web_page:
        return web_page(about)
    if status >= 400:
        return Problem("other", f"{who} refuses the test (HTTP {status}). Check the model's name and what the server supports.")
    error = f" ({seen.error})" if seen.error else ""
    return Problem(
        "other",
        f"The test of '{about.model}' failed with an unexpected error{error}. Check the model's name, or update its package.",
    )


def _refused_key(about: About) -> tuple[ProblemKind, str]:
    if not about.has_key:
        return "key_missing", f"{about.who} wants a key. Enter the one that you got for it."
    page = f", or make a new one at {about.guide.key_page}" if about.guide.key_page else "."
    return "key_refused", f"{about.who} refuses the key. Check that it is complete and was not revoked{page}"


def _redirect(seen: Evidence, about: About) -> Problem:
    target = seen.headers.get("location", "")
    try:
        elsewhere = urlsplit(target).hostname
    except ValueError:
        elsewhere = None
    if about.address.startswith("http://") and target.startswith("https://") and elsewhere == urlsplit(about.address).hostname:
        return Problem("needs_https", https_sentence(about))
    to = f" to {elsewhere}" if elsewhere else ""
    return Problem(
        "redirect",
        f"{about.who} redirects{to}, which is not followed, so that your key goes nowhere else. Enter the final address, or sign in to "
        "the network first.",
    )


def https_sentence(about: About) -> str:
    return f"The server at {about.shown} wants https. Write {about.shown.replace('http://', 'https://', 1)} instead."


def proxy_problem(status: int | None) -> Problem:
    if status == 407:
        return Problem(
            "proxy",
            "The proxy of this network wants a user name and a password. Put both into HTTPS_PROXY, in front of the host.",
        )
    return Problem(
        "proxy", "The proxy of this network does not answer. Check HTTPS_PROXY and HTTP_PROXY, or add the host to NO_PROXY."
    )


def timeout_problem(about: About) -> Problem:
    if about.guide.on_this_computer:
        return Problem(
            "timeout", f"{about.who} did not answer in time. A large model may still be loading: wait a minute and test again."
        )
    return Problem("timeout", f"{about.who} did not answer in time. Check the address and the network, or test again later.")


def web_page(about: About) -> Problem:
    return Problem(
        "web_page",
        f"At {about.shown} there is a web page, not a model server. Enter the address of its API, which usually ends in /v1.",
    )


def another_server(about: About) -> Problem:
    what = "a list of models" if about.guide.id == OPENAI_COMPATIBLE else f"the way {about.guide.title} does"
    return Problem(
        "another_server",
        f"Something answers at {about.shown}, but not with {what}. Check the address and the port.".replace(
            "with the way", "the way"
        ),
    )


def other_path(better: str) -> Problem:
    return Problem("address_path", f"The address needs another ending. Write {shown_address(better)} instead.")


def unknown_model(about: About) -> Problem:
    if about.guide.id == OLLAMA:
        return Problem(
            "model_not_pulled",
            f"Ollama does not have the model '{about.model}'.{_close(about)} Or get it with: ollama pull {about.model}",
        )
    hint = _close(about) or (f" Choose one of the {len(about.names)} that it lists." if about.names else " Check the name.")
    return Problem("model_unknown", f"{about.who} has no model '{about.model}' for you.{hint}")


def no_model(about: About) -> Problem:
    if about.guide.id == LM_STUDIO:
        return Problem("model_not_loaded", not_loaded(about))
    if about.guide.id == OLLAMA:
        return Problem("model_not_pulled", "Ollama has no chat model yet. Get one, for example with: ollama pull qwen3")
    return Problem("model_missing", f"{about.who} lists no model, and none was named. Enter the name of one.")


def not_loaded(about: About) -> str:
    if about.guide.id == LM_STUDIO:
        return "LM Studio has no model loaded. Load one in LM Studio, or run 'lms load', then test again."
    return f"{about.who} has no model loaded. Load one there, then test again."


def not_chat(model: str) -> str:
    return f"'{model}' is not a chat model; it makes embeddings or something else. Choose a model that answers in text."


def no_tools(about: About) -> str:
    if about.guide.id == LLAMACPP:
        return f"'{about.model}' answers, but calls no tools. Start the server with --jinja, or choose a model that is made for tools."
    return (
        f"'{about.model}' answers, but calls no tools, which agents need for files and searches. Choose another model for them."
    )


def no_streaming(about: About) -> str:
    return f"'{about.model}' answers only in one piece: nothing appears until it is complete. Choose another model if that is too slow."


def _larger_context(about: About) -> str:
    how: Mapping[str, str] = {
        OLLAMA: "Set OLLAMA_CONTEXT_LENGTH to at least 16384 and restart Ollama.",
        LM_STUDIO: "Load the model again with a longer context.",
        LLAMACPP: "Start the server with a larger -c, for example -c 16384.",
    }
    return how.get(about.guide.id, "Choose a model with a longer context.")


def _close(about: About) -> str:
    near = difflib.get_close_matches(about.model, about.names, n=2, cutoff=0.5)
    return f" Did you mean {' or '.join(repr(name) for name in near)}?" if near else ""


def _wait(seen: Evidence) -> str:
    after = seen.headers.get("retry-after", "")
    return f"Test again in {after} s." if after.isdigit() and 0 < int(after) < 3600 else "Wait a minute and test again."
