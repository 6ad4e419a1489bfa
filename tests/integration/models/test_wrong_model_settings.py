"""Wrong settings of models, each with its own sentence: what is wrong and what to do. Against servers that behave like that on loopback.

No sentence contains the key, or the password of an address.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.integration.models import answers
from tests.support.loopback import Asked, Reply, free_port, self_signed_certificate, serving, speaking

from stepwell.connections.addresses import public_network
from stepwell.models.connected import ConnectedModel
from stepwell.models.probe import ProbeLimits, ProbeTarget, Problem, probe
from stepwell.settings import Secret, Settings

KEY = "sk-ant-api03-very-secret-key-0123456789"
PASSWORD = "hunter2hunter2"
PATIENT = ProbeLimits(total_s=60, list_s=60)
PAGE = Reply(200, "<!doctype html><html><body>Open WebUI</body></html>", {"Content-Type": "text/html; charset=utf-8"})
ECHO = f"Incorrect API key provided: {KEY}."
"""Some providers repeat the key in their message."""


@dataclass(frozen=True)
class Case:
    """A wrong setting, and what the sentence about it must say."""

    name: str
    kind: str
    says: str
    """A pattern: the fact, and the way out."""
    provider: str = "openai-compatible"
    model: str = "m"
    key: str | None = KEY
    behave: Callable[[Asked], Reply] | None = None
    address: str = "{root}{path}"
    """`root` has a password; `path` is the one that the provider wants."""
    limits: ProbeLimits = PATIENT
    extra: dict[str, Any] = field(default_factory=dict)


def fault(status: int, message: str, /, **more: Any) -> Reply:
    return Reply(status, {"error": {"message": message, **more}})


def lists(*names: str, **more: Any) -> Callable[[Asked], Reply]:
    return answers.at(models=answers.listed(*names), **more)


HANGS = Reply(never=True)

CASES = [
    Case("empty key", "key_missing", r"needs a key.*https://console\.anthropic\.com", "anthropic", key="", address=""),
    Case("only spaces as key", "key_missing", r"needs a key", "openai", key="  \n", address=""),
    Case("line break in the key", "key_malformed", r"line breaks.*Copy it again", "anthropic", key=KEY + "\n", address=""),
    Case("quotes around the key", "key_malformed", r"quotation marks.*without", "anthropic", key=f'"{KEY}"', address=""),
    Case(
        "a line of .env as key",
        "key_malformed",
        r"after the equals sign",
        "anthropic",
        key=f"ANTHROPIC_API_KEY={KEY}",
        address="",
    ),
    Case("Bearer in front of the key", "key_malformed", r"'Bearer'", "anthropic", key=f"Bearer {KEY}", address=""),
    Case("shortened key", "key_malformed", r"shortened form.*whole key", "anthropic", key="sk-ant-…wXyZ", address=""),
    Case(
        "key of Anthropic at OpenAI",
        "key_of_another_provider",
        r"key of Anthropic, not of OpenAI\. Choose Anthropic",
        "openai",
        address="",
    ),
    Case(
        "key of OpenAI at Anthropic",
        "key_of_another_provider",
        r"key of OpenAI.*starts with sk-ant-",
        "anthropic",
        key="sk-proj-abc0123456789abc",
        address="",
    ),
    Case(
        "key of Google at Mistral",
        "key_of_another_provider",
        r"key of Google Gemini, not of Mistral",
        "mistralai",
        key="AIzaSyA0123456789",
        address="",
    ),
    Case(
        "wrong key at OpenAI",
        "key_refused",
        r"refuses the key.*api-keys",
        "openai",
        behave=answers.at(models=fault(401, ECHO, code="invalid_api_key")),
    ),
    Case(
        "wrong key at Anthropic",
        "key_refused",
        r"refuses the key.*settings/keys",
        "anthropic",
        behave=answers.at(
            models=Reply(401, {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}})
        ),
    ),
    Case(
        "wrong key at Google",
        "key_refused",
        r"refuses the key.*apikey",
        "google_genai",
        behave=answers.at(
            models=fault(400, "API key not valid. Please pass a valid API key.", code=400, status="INVALID_ARGUMENT")
        ),
    ),
    Case(
        "a server that wants a key",
        "key_missing",
        r"wants a key",
        key=None,
        behave=answers.at(models=fault(401, "Unauthorized")),
    ),
    Case(
        "a key that may not use the model",
        "forbidden",
        r"refuses this key for the model 'm'. Ask its operator to allow it",
        behave=lists("m", chat=fault(403, "Project does not have access")),
    ),
    Case(
        "no credit at OpenAI",
        "no_credit",
        r"no credit.*Top it up",
        "openai",
        behave=lists("m", chat=fault(429, "You exceeded your current quota", code="insufficient_quota")),
    ),
    Case(
        "no credit at Anthropic",
        "no_credit",
        r"no credit.*Top it up",
        "anthropic",
        behave=lists(
            "m", chat=fault(400, "Your credit balance is too low to access the Anthropic API.", type="invalid_request_error")
        ),
    ),
    Case(
        "rate limit",
        "rate_limited",
        r"limits the requests.*in 20 s",
        behave=lists("m", chat=Reply(429, {"error": {"message": "Rate limit reached"}}, {"Retry-After": "20"})),
    ),
    Case(
        "region",
        "region",
        r"country or region.*another provider",
        "google_genai",
        behave=answers.at(models=fault(400, "User location is not supported for the API use.", status="FAILED_PRECONDITION")),
    ),
    Case(
        "organisation disabled",
        "organisation_disabled",
        r"disabled. Ask Anthropic why",
        "anthropic",
        behave=lists("m", chat=fault(400, "This organization has been disabled.", type="invalid_request_error")),
    ),
    Case(
        "misspelt model",
        "model_unknown",
        r"no model 'gpt-55'.*Did you mean 'gpt-5\.5'",
        "openai",
        model="gpt-55",
        behave=lists("gpt-5.5", "o9-large", chat=fault(404, "The model `gpt-55` does not exist", code="model_not_found")),
    ),
    Case(
        "model of Google that is gone",
        "model_unknown",
        r"no model 'gemini-pr'.*Did you mean 'gemini-pro'",
        "google_genai",
        model="gemini-pr",
        behave=answers.at(
            models=Reply(200, {"models": [{"name": "models/gemini-pro"}]}),
            google=fault(404, "models/gemini-pr is not found for API version v1beta", code=404, status="NOT_FOUND"),
        ),
    ),
    Case(
        "embedding model",
        "not_a_chat_model",
        r"'text-embedding-3-small' is not a chat model.*Choose",
        "openai",
        model="text-embedding-3-small",
        behave=lists("gpt-5.5"),
    ),
    Case(
        "model that only embeds",
        "not_a_chat_model",
        r"not a chat model",
        "ollama",
        model="arctic:22m",
        behave=answers.at(tags=answers.tags("arctic:22m"), chat=Reply(400, {"error": '"arctic:22m" does not support chat'})),
    ),
    Case(
        "context too small",
        "context_too_small",
        r"context of 'm' is too small.*-c 16384",
        "llamacpp",
        behave=lists(
            "m",
            chat=fault(
                400, "the request exceeds the available context size, try increasing it", type="exceed_context_size_error"
            ),
        ),
    ),
    Case("no address", "address_missing", r"No address.*/v1", address=""),
    Case(
        "half an address",
        "address_malformed",
        r"not the address of a server.*https?://",
        address="models.example.com/{password}",
    ),
    Case(
        "address without /v1", "address_path", r"Write http://127\.0\.0\.1:\d+/v1 instead", behave=lists("m"), address="{root}"
    ),
    Case(
        "/v1 at Ollama",
        "address_path",
        r"Write http://127\.0\.0\.1:\d+ instead",
        "ollama",
        address="{root}/v1",
        behave=answers.at(tags=answers.tags("m")),
    ),
    Case("address of a web page", "web_page", r"web page, not a model server.*ends in /v1", behave=lambda asked: PAGE),
    Case(
        "nothing listens",
        "not_running",
        r"Nothing listens at http://127\.0\.0\.1:\d+/v1\. Check the port",
        address="http://user:{password}@127.0.0.1:{free}/v1",
    ),
    Case(
        "Ollama not started",
        "not_running",
        r"Ollama does not run at.*ollama serve",
        "ollama",
        address="http://user:{password}@127.0.0.1:{free}",
    ),
    Case(
        "unknown host",
        "unknown_host",
        r"no host named 'models\.invalid'.*Check",
        address="https://user:{password}@models.invalid/v1",
    ),
    Case(
        "not an HTTP server", "not_http", r"not with HTTP. Check the port", address="http://user:{password}@127.0.0.1:{ssh}/v1"
    ),
    Case(
        "self-signed certificate",
        "tls",
        r"certificate of 127\.0\.0\.1 is self-signed.*SSL_CERT_FILE",
        behave=lists("m"),
        address="https://user:{password}@127.0.0.1:{port}/v1",
        extra={"tls": True},
    ),
    Case(
        "https to a server of http",
        "needs_http",
        r"does not speak https.*write http://",
        behave=lists("m"),
        address="https://user:{password}@127.0.0.1:{port}/v1",
    ),
    Case(
        "http to a server of https",
        "needs_https",
        r"wants https. Write https://127\.0\.0\.1:\d+/v1",
        behave=lists("m"),
        extra={"tls": True},
    ),
    Case(
        "http that redirects to https",
        "needs_https",
        r"wants https",
        behave=lambda asked: Reply(301, "", {"Location": "https://127.0.0.1/v1/models"}),
    ),
    Case(
        "redirect to another host",
        "redirect",
        r"redirects to login\.example\.com.*final address",
        behave=lambda asked: Reply(302, "", {"Location": f"https://login.example.com/?k={KEY}"}),
    ),
    Case(
        "time-out", "timeout", r"did not answer in time", behave=lambda asked: HANGS, limits=ProbeLimits(total_s=0.5, list_s=60)
    ),
    Case(
        "slow local server",
        "timeout",
        r"LM Studio.*did not answer in time.*loading",
        "lm-studio",
        behave=lists("m", chat=HANGS),
        limits=ProbeLimits(total_s=2, list_s=60),
    ),
    Case("internal error", "server_error", r"internal error \(HTTP 500\)", behave=lists("m", chat=fault(500, "boom"))),
    Case(
        "overloaded at Anthropic",
        "overloaded",
        r"overloaded.*\(HTTP 529\)",
        "anthropic",
        behave=lists("m", chat=Reply(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})),
    ),
    Case("not JSON", "not_json", r"not with JSON", behave=lambda asked: Reply(200, "It works!")),
    Case(
        "another program", "another_server", r"not with a list of models", behave=lambda asked: Reply(200, {"status": "fine"})
    ),
    Case(
        "proxy wants a password",
        "proxy",
        r"proxy.*user name and a password.*HTTPS_PROXY",
        behave=lambda asked: Reply(407, ""),
        address="http://user:{password}@models.example.com/v1",
        extra={"proxy": True},
    ),
    Case(
        "proxy wants a password for https",
        "proxy",
        r"proxy.*user name and a password",
        behave=lambda asked: Reply(407, ""),
        address="https://user:{password}@models.example.com/v1",
        extra={"proxy": True},
    ),
    Case(
        "model not pulled",
        "model_not_pulled",
        r"does not have the model 'qwen3:4b'. Did you mean 'qwen3:8b'\? Or get it with: ollama pull qwen3:4b",
        "ollama",
        model="qwen3:4b",
        behave=answers.at(tags=answers.tags("qwen3:8b")),
    ),
    Case(
        "Ollama without any model",
        "model_not_pulled",
        r"no chat model yet.*ollama pull",
        "ollama",
        model="",
        behave=answers.at(tags=answers.tags()),
    ),
    Case(
        "LM Studio without a loaded model",
        "model_not_loaded",
        r"no model loaded. Load one",
        "lm-studio",
        behave=lists(
            "m", chat=fault(400, "No models loaded. Please load a model in the developer page or use the `lms load` command.")
        ),
    ),
    Case(
        "LM Studio without any model", "model_not_loaded", r"no model loaded. Load one", "lm-studio", model="", behave=lists()
    ),
    Case(
        "llama.cpp still loads",
        "model_loading",
        r"still loading",
        "llamacpp",
        behave=lambda asked: fault(503, "Loading model", type="unavailable_error"),
    ),
    Case("no model named", "model_missing", r"lists no model.*Enter", model="", behave=lists()),
    Case(
        "answer with nothing",
        "empty_answer",
        r"answers with nothing",
        behave=lists(
            "m",
            chat=lambda asked: answers.sse(
                [
                    {
                        "id": "c",
                        "object": "chat.completion.chunk",
                        "created": 1,
                        "model": "m",
                        "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}],
                    }
                ],
                done=True,
            ),
        ),
    ),
    Case(
        "answer that is not an answer",
        "not_json",
        r"not with JSON",
        "ollama",
        behave=answers.at(tags=answers.tags("m"), chat=Reply(200, "It works!")),
    ),
]


@pytest.fixture
def places(tmp_path: Path) -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
async def test_a_wrong_setting_has_its_own_sentence(
    case: Case, places: ExitStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    certificate = self_signed_certificate(tmp_path) if case.extra.get("tls") else None
    server = places.enter_context(serving(case.behave, certificate)) if case.behave else None
    ports: dict[str, Any] = {"free": free_port(), "port": server.port if server else 0, "password": PASSWORD}
    ports |= {"root": "http://user:{password}@127.0.0.1:{port}".format(**ports)}
    ports |= {"path": "" if case.provider in ("anthropic", "google_genai", "ollama") else "/v1"}
    if "{ssh}" in case.address:
        ports["ssh"] = places.enter_context(speaking(b"SSH-2.0-OpenSSH_9.6\r\n"))
    if case.extra.get("proxy"):
        assert server is not None
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, server.address)

    key = Secret(case.key) if case.key is not None else None
    target = ProbeTarget(case.provider, case.model, key, case.address.format(**ports) or None)
    found = await probe(target, limits=case.limits)

    assert found.problem is not None
    assert found.problem.kind == case.kind, found.problem.sentence
    assert re.search(case.says, found.problem.sentence), found.problem.sentence
    assert found.ok is False
    _holds_no_secret(found.problem, case, repr(target))


def _holds_no_secret(problem: Problem, case: Case, target: str) -> None:
    for text in (problem.sentence, target):
        assert KEY not in text
        assert PASSWORD not in text
        assert not case.key or len(case.key.strip()) == 0 or case.key.strip() not in text


@pytest.mark.parametrize(
    ("model", "kind", "says"),
    [
        (
            "qwen3-4b",
            "model_not_pulled",
            r"not on this machine yet \(2,497 MB\)\. Download it with: stepwell models pull qwen3-4b",
        ),
        ("qwen3-4", "model_unknown", r"Did you mean 'qwen3-4b'\?"),
        ("/no/such/file.gguf", "model_unknown", r"no file 'file\.gguf'"),
    ],
)
async def test_an_embedded_model_that_is_not_here_says_how_to_get_it(tmp_path: Path, model: str, kind: str, says: str):
    found = await probe(ProbeTarget("local", model), settings=Settings.load({"STEPWELL_DATA_DIR": str(tmp_path)}))
    assert found.problem is not None
    assert (found.ok, found.problem.kind) == (False, kind)
    assert re.search(says, found.problem.sentence), found.problem.sentence


async def test_an_address_that_a_connection_may_not_reach_is_not_asked_by_a_test():
    """A user's address is checked again for every connection, so a test is no way into a private network."""
    with serving(lists("m", chat=answers.openai)) as server:
        model = ConnectedModel(
            "c1", 0, "openai-compatible", "m", "Mine", None, f"{server.address}/v1", network=public_network()
        )
        found = await probe(model, limits=PATIENT)
    assert found.problem is not None
    assert found.problem.kind == "unreachable"
    assert server.asked == []


async def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "langchain_mistralai", None)
    found = await probe(ProbeTarget("mistralai", "m", Secret("k" * 32)))
    assert found.problem == Problem(
        "package_missing",
        "The model provider 'mistralai' needs an extra that is not installed. Install it with: pip install 'stepwell[mistral]'",
    )


def test_the_table_has_at_least_thirty_different_settings():
    assert len({case.name for case in CASES}) == len(CASES) >= 30
